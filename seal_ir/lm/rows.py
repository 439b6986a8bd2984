"""Decoder-only models that cannot hold a tree in one sequence: each row is an entry of the batch.

For attention that depends on where a key lies in the cache (ALiBi, sliding windows) and for models with
a recurrent state. Prompts are padded on the left, and a row takes its own copy of the cache with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seal_ir.arrays import Ints
from seal_ir.lm.kv_cache import cache_keyword
from seal_ir.lm.next_tokens import next_tokens
from seal_ir.lm.protocols import NextTokens, Prompt


class RowsModel:
    """A transformers causal language model of any kind that generates from left-padded batches."""

    def __init__(self, network: Any) -> None:
        parameters = inspect.signature(network.forward).parameters
        self.network = network
        self.cache_keyword = cache_keyword(network)
        self.takes_positions = "position_ids" in parameters

    @property
    def max_tokens(self) -> int:
        """Longest prompt and continuation together, in tokens."""
        return int(getattr(self.network.config, "max_position_embeddings", None) or 1 << 20)

    def start(self, prompts: Sequence[Prompt]) -> RowsSession:
        """A session with one row per prompt."""
        return RowsSession(self, prompts)


class RowsSession:
    """Rows of one batch; each holds its own copy of its prompt's keys and values, or state."""

    def __init__(self, model: RowsModel, prompts: Sequence[Prompt]) -> None:
        self._model = model
        self._cache: Any
        self._cache = None
        tokens, own = _left_padded([prompt.tokens for prompt in prompts])
        self._mask = torch.from_numpy(own).to(model.network.device).long()
        self._following = self._forward(tokens, self._mask)
        # A purely recurrent model has seen the padding and takes no mask from here on.
        self._attends = any(hasattr(layer, "keys") for layer in self._cache.layers)

    @property
    def following(self) -> NextTokens:
        """The distribution of what follows each row."""
        return self._following

    @property
    def nested(self) -> bool:
        """See `Session`."""
        return False

    @torch.inference_mode()
    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        if not np.array_equal(rows, np.arange(len(self._mask))):
            index = torch.from_numpy(rows).to(self._mask.device)
            self._cache.reorder_cache(index)
            self._mask = self._mask[index]
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(rows), 1)], dim=1)
        self._following = self._forward(tokens[:, None], self._mask if self._attends else None)

    @torch.inference_mode()
    def _forward(self, tokens: Ints, mask: torch.Tensor | None) -> NextTokens:
        inputs: dict[str, Any] = {self._model.cache_keyword: self._cache}
        if self._model.takes_positions:
            positions = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
            inputs["position_ids"] = positions[:, -tokens.shape[1] :]
        output = self._model.network(
            input_ids=torch.from_numpy(tokens).to(self._mask.device),
            attention_mask=mask,
            use_cache=True,
            **inputs,
        )
        self._cache = getattr(output, self._model.cache_keyword)
        return next_tokens(output.logits[:, -1])


def _left_padded(sequences: Sequence[Sequence[int]]) -> tuple[Ints, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Tokens [n, longest] that end together, and which of them are real."""
    width = max(map(len, sequences))
    tokens = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[width - len(sequence) :] = sequence
    lengths = np.array([len(sequence) for sequence in sequences])
    return tokens, np.arange(width) >= width - lengths[:, None]
