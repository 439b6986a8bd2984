"""Which way of decoding fits a causal network, found by its parts and confirmed by a few tokens."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import numpy as np
import torch

from seal_ir.decode.causal import CausalModel, log_softmax
from seal_ir.decode.model import Floats, LanguageModel, Prompt
from seal_ir.decode.rows import RowsModel
from seal_ir.errors import ModelError

logger = logging.getLogger(__name__)
_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # names that configs give it
_ENOUGH_WINDOW = 512  # tokens that hold any prompt; within its window, local attention is full attention
_TOLERANCE, _HALF_TOLERANCE = 0.001, 0.1  # total variation distance, in float32 and in half precision


def causal_model(network: Any) -> LanguageModel:
    """A causal network behind the decoder's interface: a tree where it can hold one, else rows.

    Raises:
        ModelError: its next-token probabilities in a batch are not those of a single sequence.
    """
    kind = type(network).__name__
    reason = "it does not decode in batches"
    window = _window(network.config)
    models: list[LanguageModel] = [RowsModel(network)]
    if _has_positions(network) and (window is None or window >= _ENOUGH_WINDOW):
        models.insert(0, CausalModel(network, window))
    for model in models:
        try:
            if _is_right(network, model):
                return model
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}".split("\n")[0]
        logger.debug("%s does not fit %s", kind, type(model).__name__)
    raise ModelError(f"{kind} cannot be used for constrained decoding ({reason}); use another model")


def _has_positions(network: Any) -> bool:
    """Whether a token's place is told to the model, not taken from where it lies in the cache."""
    stateful = getattr(network, "_is_stateful", False)
    alibi = getattr(network.config, "alibi", False)
    return "position_ids" in inspect.signature(network.forward).parameters and not (stateful or alibi)


def _window(config: Any) -> int | None:
    sizes = [getattr(config, name, None) for name in _WINDOWS]
    return min((size for size in sizes if isinstance(size, int)), default=None)


def _is_right(network: Any, model: LanguageModel) -> bool:
    """Whether two prompts of different length, one of them continued twice, get their own probabilities."""
    tokens = (np.arange(6) + 5) % int(network.get_output_embeddings().weight.shape[0])
    a, b, c, d, e, f = tokens.tolist()
    session = model.start([Prompt((a, b, c)), Prompt((d,))])
    session.advance(np.array([0, 0, 1]), np.array([e, f, a]))
    session.advance(np.array([1, 0, 2]), np.array([a, b, c]))
    tolerance = _TOLERANCE if network.dtype == torch.float32 else _HALF_TOLERANCE
    sequences = [(a, b, c, f, a), (a, b, c, e, b), (d, a, c)]
    return all(
        np.abs(np.exp(found) - np.exp(_alone(network, sequence))).sum() / 2 < tolerance
        for found, sequence in zip(session.logprobs, sequences, strict=True)
    )


@torch.inference_mode()
def _alone(network: Any, sequence: tuple[int, ...]) -> Floats:
    logits = network(input_ids=torch.tensor([sequence], device=network.device)).logits[0, -1]
    return log_softmax(logits)
