"""Decoder-only models whose rows live in trees: prompts once, however many beams grow from them.

The keys and values of the part of the prompt that all queries share (instructions, examples) are computed
once per model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seal_ir.arrays import Ints
from seal_ir.lm.attention import use_tree_attention
from seal_ir.lm.kv_cache import KeyValues, Layout, TreeCache, cache_keyword, lineage
from seal_ir.lm.next_tokens import next_tokens
from seal_ir.lm.protocols import NextTokens, Prompt

_KEPT_PREFIXES = 8  # prompts differ by field only; a handful of entries covers every use


class CausalModel:
    """A transformers causal language model with explicit positions (rotary or learned) and full attention."""

    def __init__(self, network: Any, window: int | None = None) -> None:
        """A model for decoding.

        Args:
            network: the model; from here on its attention is computed by `attention.py`.
            window: how far its attention reaches back, if not to the start.

        Raises:
            TypeError: its attention cannot be exchanged.
        """
        use_tree_attention(network)
        self._network = network
        self._window = window or 1 << 20
        self._cache_keyword = cache_keyword(network)
        self._prefixes: dict[tuple[int, ...], KeyValues] = {}

    @property
    def max_tokens(self) -> int:
        """Longest prompt and continuation together, in tokens."""
        longest = getattr(self._network.config, "max_position_embeddings", None) or 1 << 20
        return min(int(longest), self._window)

    def start(self, prompts: Sequence[Prompt]) -> CausalSession:
        """A session with one row per prompt."""
        return CausalSession(self, prompts)

    def new_cache(self, n_prompts: int) -> TreeCache:
        """A cache of the network's kind and place."""
        return TreeCache(n_prompts, self._network.device, self._network.dtype)

    @torch.inference_mode()
    def forward(
        self, tokens: Ints, positions: Ints, layout: Layout, cache: TreeCache, read: Ints
    ) -> torch.Tensor:
        """Logits [len(read), vocabulary] of some of the rows; the keys of all are written to the cache.

        Args:
            tokens: int64 [rows].
            positions: int64 [rows], each token's place in its own sequence.
            layout: where the rows lie.
            cache: has laid these rows out.
            read: int64, the rows whose logits are wanted, ascending.
        """
        sent = torch.from_numpy(np.stack([tokens, positions])).to(self._network.device)
        everything = len(read) == len(tokens)
        output = self._network(
            input_ids=sent[:1],
            position_ids=sent[1:],
            attention_mask=layout.mask,
            use_cache=True,
            logits_to_keep=0 if everything else torch.from_numpy(read).to(sent.device),
            seal_layout=layout,
            **{self._cache_keyword: cache},
        )
        return output.logits[0]  # type: ignore[no-any-return]

    def prefix(self, tokens: tuple[int, ...]) -> KeyValues:
        """Keys and values [n, heads, size] per layer of a shared prefix, computed once."""
        known = self._prefixes.get(tokens)
        if known is None:
            n, cache = len(tokens), self.new_cache(1)
            layout = cache.read_prompts(np.zeros(n, dtype=np.int64))
            self.forward(np.array(tokens), np.arange(n), layout, cache, np.array([n - 1]))
            known = cache.prefix(n)
            if len(self._prefixes) >= _KEPT_PREFIXES:
                self._prefixes.pop(next(iter(self._prefixes)), None)
            self._prefixes[tokens] = known
        return known


class CausalSession:
    """Rows of one batch of prompts."""

    def __init__(self, model: CausalModel, prompts: Sequence[Prompt]) -> None:
        """Read the prompts."""
        self._model = model
        self._cache = model.new_cache(len(prompts))
        for i, prompt in enumerate(prompts):
            if prompt.n_shared:
                self._cache.take_prefix(i, model.prefix(prompt.tokens[: prompt.n_shared]))
        lengths = np.array([len(prompt.tokens) for prompt in prompts])
        shared = np.array([prompt.n_shared for prompt in prompts])
        owners = np.repeat(np.arange(len(prompts)), lengths - shared)
        tokens = np.concatenate([prompt.tokens[prompt.n_shared :] for prompt in prompts]).astype(np.int64)
        positions = np.concatenate([np.arange(*bounds) for bounds in zip(shared, lengths, strict=True)])
        last = np.cumsum(lengths - shared) - 1
        layout = self._cache.read_prompts(owners)
        self._following = next_tokens(model.forward(tokens, positions, layout, self._cache, last))
        self._next_position = lengths

    @property
    def following(self) -> NextTokens:
        """The distribution of what follows each row."""
        return self._following

    @property
    def nested(self) -> bool:
        """See `Session`."""
        return True

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended; see `Session`."""
        roots, depths = lineage(rows, len(self._next_position))
        self._cache.retire(roots)
        layout = self._cache.branch(rows)
        positions = self._next_position[roots] + depths
        logits = self._model.forward(tokens, positions, layout, self._cache, np.arange(len(rows)))
        self._following = next_tokens(logits)
        self._next_position = positions + 1
