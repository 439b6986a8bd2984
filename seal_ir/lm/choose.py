"""Which way of decoding fits a network, found by its parts and confirmed by a few tokens."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from seal_ir.arrays import Floats
from seal_ir.errors import ModelError
from seal_ir.lm.attention import exchangeable, restore_attention
from seal_ir.lm.causal import CausalModel
from seal_ir.lm.next_tokens import log_softmax
from seal_ir.lm.protocols import LanguageModel, Prompt, Tokens
from seal_ir.lm.rows import RowsModel
from seal_ir.lm.seq2seq import Seq2SeqModel, TreeSeq2SeqModel

logger = logging.getLogger(__name__)
_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # names that configs give it
_ENOUGH_WINDOW = 512  # tokens that hold any prompt
_TOLERANCE, _HALF_TOLERANCE = 0.001, 0.1  # total variation distance, in float32 and in half precision


def causal_model(network: Any) -> LanguageModel:
    """A causal network behind the decoder's interface: a tree where it can hold one, else rows.

    Raises:
        ModelError: its next-token probabilities are no numbers, or in a batch not those of one sequence.
    """
    kinds: list[Callable[[], LanguageModel]] = [lambda: RowsModel(network)]
    if can_hold_trees(network, _ENOUGH_WINDOW):
        kinds.insert(0, lambda: CausalModel(network, _window(network.config)))
    return _first_that_fits(network, kinds, lambda prompt, written: _alone(network, (*prompt, *written)))


def seq2seq_model(network: Any, start_tokens: Sequence[int]) -> LanguageModel:
    """An encoder-decoder network behind the decoder's interface: a tree where it can hold one, else rows.

    Raises:
        ModelError: its next-token probabilities are no numbers, or in a batch not those of one sequence.
    """
    kinds: list[Callable[[], LanguageModel]] = [
        lambda: TreeSeq2SeqModel(network, start_tokens),
        lambda: Seq2SeqModel(network, start_tokens),
    ]
    start = tuple(start_tokens)
    return _first_that_fits(
        network, kinds, lambda prompt, written: _alone(network, prompt, (*start, *written))
    )


def _first_that_fits(
    network: Any, kinds: Sequence[Callable[[], LanguageModel]], alone: Callable[[Tokens, Tokens], Floats]
) -> LanguageModel:
    """The first kind of model that gives what `alone` gives after a prompt and what is written so far."""
    name = type(network).__name__
    reason = "it does not decode in batches"
    implementation = getattr(network.config, "_attn_implementation", None)
    n_vocabulary = int(network.get_output_embeddings().weight.shape[0])
    a, b, c, d, e, f = ((np.arange(6) + 5) % n_vocabulary).tolist()
    expected = [alone((a, b, c), (f, a)), alone((a, b, c), (e, b)), alone((d,), (a, c))]
    _check_numbers(network, expected)
    tolerance = _TOLERANCE if network.dtype == torch.float32 else _HALF_TOLERANCE
    for kind in kinds:
        try:
            model = kind()
            session = model.start([Prompt((a, b, c)), Prompt((d,))])
            session.advance(np.array([0, 0, 1]), np.array([e, f, a]))
            session.advance(np.array([1, 0, 2]), np.array([a, b, c]))
            found = np.exp(session.following.whole(np.arange(3)))
            if (np.abs(found - np.exp(expected)).sum(axis=1) / 2 < tolerance).all():
                return model
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}".split("\n")[0]
        restore_attention(network, implementation)
        logger.debug("%s: a way of decoding does not fit (%s)", name, reason)
    raise ModelError(f"{name} cannot be used for constrained decoding ({reason}); use another model")


def _check_numbers(network: Any, expected: Sequence[Floats]) -> None:
    """Refuse a network whose sound weights give no probabilities, before its way of decoding is blamed."""
    if np.isnan(expected).any():
        dtype = str(network.dtype).removeprefix("torch.")
        raise ModelError(
            f"{type(network).__name__} gives probabilities that are no numbers in {dtype}: a layer's numbers"
            f" grow too large; {'load it in float32' if dtype != 'float32' else 'use another model'}"
        )


def can_hold_trees(network: Any, n_tokens: int) -> bool:
    """Whether branches of one beginning can lie side by side in one sequence of a causal network.

    Args:
        network: the network.
        n_tokens: of the longest branch, beginning included. Within its window local attention is full
            attention, if it goes by a mask: by places in the sequence it would miss the beginning.
    """
    window = _window(network.config)
    return _has_positions(network) and (window is None or (window >= n_tokens and exchangeable(network)))


def _has_positions(network: Any) -> bool:
    """Whether a token's place is told to the model, not taken from where it lies in the cache."""
    stateful = getattr(network, "_is_stateful", False)
    alibi = getattr(network.config, "alibi", False)
    return "position_ids" in inspect.signature(network.forward).parameters and not (stateful or alibi)


def _window(config: Any) -> int | None:
    sizes = [getattr(config, name, None) for name in _WINDOWS]
    return min((size for size in sizes if isinstance(size, int)), default=None)


@torch.inference_mode()
def _alone(network: Any, sequence: Tokens, target: Tokens | None = None) -> Floats:
    """Log-probabilities of the token after one sequence, or after the target of a source."""
    inputs = {} if target is None else {"decoder_input_ids": torch.tensor([target], device=network.device)}
    ids = torch.tensor([sequence], device=network.device)
    return log_softmax(network(input_ids=ids, **inputs).logits[0, -1]).cpu().numpy()
