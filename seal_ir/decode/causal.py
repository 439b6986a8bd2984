"""Decoder-only models: all rows of a prompt live in one sequence, as a tree.

Keys and values of the prompt are stored once, however many beams grow from it, and nothing is ever
copied when beams are reordered: a step appends its tokens to the cache, and a 4-D attention mask lets
each token see the prompt and its own ancestors only. The keys and values of the part of the prompt that
all queries share (instructions, examples) are computed once per model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from seal_ir.decode.model import Floats, Ints, Prompt, cache_keyword

_KEPT_PREFIXES = 8  # prompts differ by field only; a handful of entries covers every use
KeyValues = list[tuple[torch.Tensor, torch.Tensor]]


class CausalModel:
    """A transformers causal language model with explicit positions (rotary or learned) and full attention."""

    def __init__(self, network: Any, window: int | None = None) -> None:
        """Args: network: the model; window: how far its attention reaches back, if not to the start."""
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

    @torch.inference_mode()
    def forward(
        self, tokens: torch.Tensor, positions: torch.Tensor, visible: torch.Tensor, cache: Any, keep: int
    ) -> torch.Tensor:
        """Logits of `tokens` [batch, n], whose keys and values are appended to `cache`.

        Args:
            tokens: int64 [batch, n].
            positions: int64 [batch, n], each token's place in its own sequence.
            visible: bool [batch, n, cached + n], what each token attends to.
            cache: a DynamicCache, changed in place.
            keep: compute the logits of the last `keep` tokens only; 0 for all.
        """
        dtype = self._network.dtype
        mask = torch.zeros(visible.shape, dtype=dtype, device=tokens.device)
        mask.masked_fill_(~visible, torch.finfo(dtype).min)
        output = self._network(
            input_ids=tokens,
            position_ids=positions,
            attention_mask=mask[:, None],
            use_cache=True,
            logits_to_keep=keep,
            **{self._cache_keyword: cache},
        )
        return output.logits  # type: ignore[no-any-return]

    def prefix(self, tokens: tuple[int, ...]) -> KeyValues:
        """Keys and values [1, heads, n, size] per layer of a shared prefix, computed once."""
        known = self._prefixes.get(tokens)
        if known is None:
            known = self._compute_prefix(tokens)
            if len(self._prefixes) >= _KEPT_PREFIXES:
                self._prefixes.pop(next(iter(self._prefixes)), None)
            self._prefixes[tokens] = known
        return known

    def _compute_prefix(self, tokens: tuple[int, ...]) -> KeyValues:
        n = len(tokens)
        cache: Any = DynamicCache()
        device = self._network.device
        ids = torch.tensor([tokens], device=device)
        causal = torch.ones(1, n, n, dtype=torch.bool, device=device).tril()
        self.forward(ids, torch.arange(n, device=device)[None], causal, cache, keep=1)
        return [(layer.keys, layer.values) for layer in cache.layers]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._network.device  # type: ignore[no-any-return]


class CausalSession:
    """Rows of one batch; `_visible[r]` says which cached positions of its prompt row r may see."""

    def __init__(self, model: CausalModel, prompts: Sequence[Prompt]) -> None:
        self._model = model
        self._prompt = np.arange(len(prompts))  # row -> entry of the cache's batch
        self._next_position = np.array([len(prompt.tokens) for prompt in prompts])
        self._cache: Any
        self._cache, shared = _shared_cache(model, prompts)
        tokens, own = left_padded([prompt.tokens[prompt.n_shared :] for prompt in prompts])
        n = tokens.shape[1]
        positions = np.array([len(prompt.tokens) for prompt in prompts])[:, None] - n + np.arange(n)
        visible = np.zeros((len(prompts), n, shared.shape[1] + n), dtype=bool)
        visible[:, :, : shared.shape[1]] = shared[:, None]
        visible[:, :, shared.shape[1] :] = np.tril(np.ones((n, n), dtype=bool)) & own[:, None]
        # A padding token sees itself: a token that sees nothing has no defined attention.
        visible[:, np.arange(n), shared.shape[1] + np.arange(n)] = True
        self._visible = np.concatenate([shared, own], axis=1)
        logits = self._forward(tokens, np.maximum(positions, 0), visible, keep=1)
        self._logprobs = log_softmax(logits[:, -1])

    @property
    def logprobs(self) -> Floats:
        """Natural-log softmax of each row's next token, float32 [rows, vocab]."""
        return self._logprobs

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        self._next_position = self._next_position[rows] + 1
        prompt = self._retire(self._prompt[rows])
        slot = _rank_within(prompt)
        width, n_cached = int(slot.max()) + 1, self._visible.shape[1]
        n_prompts = int(prompt.max()) + 1
        shape = (n_prompts, width)
        batch_tokens = np.zeros(shape, dtype=np.int64)
        positions = np.zeros(shape, dtype=np.int64)
        visible = np.zeros((*shape, n_cached + width), dtype=bool)
        visible[:, np.arange(width), n_cached + np.arange(width)] = True
        batch_tokens[prompt, slot] = tokens
        positions[prompt, slot] = self._next_position - 1
        visible[prompt, slot, :n_cached] = self._visible[rows]
        logits = self._forward(batch_tokens, positions, visible, keep=0)
        self._prompt, self._visible = prompt, visible[prompt, slot]
        index = torch.from_numpy(prompt * width + slot).to(logits.device)
        self._logprobs = log_softmax(logits.flatten(0, 1)[index])

    def _retire(self, prompt: Ints) -> Ints:
        """Drop prompts that no row grows from, once they are half of the batch; the rows' new prompts."""
        alive, renumbered = np.unique(prompt, return_inverse=True)
        n_prompts = self._cache.layers[0].keys.shape[0]
        if 2 * len(alive) > n_prompts and alive[-1] == n_prompts - 1:
            return prompt
        self._cache.batch_select_indices(torch.from_numpy(alive).to(self._model.device))
        return renumbered.reshape(-1)

    def _forward(
        self, tokens: Ints, positions: Ints, visible: np.ndarray[Any, np.dtype[np.bool_]], keep: int
    ) -> torch.Tensor:
        device = self._model.device
        return self._model.forward(
            torch.from_numpy(tokens).to(device),
            torch.from_numpy(positions).to(device),
            torch.from_numpy(visible).to(device),
            self._cache,
            keep,
        )


def _shared_cache(
    model: CausalModel, prompts: Sequence[Prompt]
) -> tuple[DynamicCache, np.ndarray[Any, np.dtype[np.bool_]]]:
    """A cache holding every prompt's shared prefix, left-padded, and which positions are real."""
    prefixes = [prompt.tokens[: prompt.n_shared] for prompt in prompts]
    longest = max(map(len, prefixes))
    real = np.arange(longest) >= longest - np.array([len(prefix) for prefix in prefixes])[:, None]
    cache = DynamicCache()
    if longest == 0:
        return cache, real
    known = [model.prefix(prefix) if prefix else None for prefix in prefixes]
    n_layers = len(next(values for values in known if values is not None))
    template = next(values for values in known if values is not None)
    for layer in range(n_layers):
        keys, values = template[layer]
        shape = (len(prompts), keys.shape[1], longest)
        batch_keys = keys.new_zeros(*shape, keys.shape[3])
        batch_values = values.new_zeros(*shape, values.shape[3])
        for i, prefix in enumerate(known):
            if prefix is not None:
                n = prefix[layer][0].shape[2]
                batch_keys[i, :, longest - n :] = prefix[layer][0][0]
                batch_values[i, :, longest - n :] = prefix[layer][1][0]
        cache.update(batch_keys, batch_values, layer)
    return cache, real


def left_padded(sequences: Sequence[Sequence[int]]) -> tuple[Ints, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Tokens [n, longest] that end together, and which of them are real."""
    width = max(map(len, sequences))
    tokens = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[width - len(sequence) :] = sequence
    lengths = np.array([len(sequence) for sequence in sequences])
    return tokens, np.arange(width) >= width - lengths[:, None]


def _rank_within(groups: Ints) -> Ints:
    """For each entry, how many earlier entries have the same value."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered, side="left")
    rank = np.empty_like(groups)
    rank[order] = np.arange(len(groups)) - first
    return rank


def log_softmax(logits: torch.Tensor) -> Floats:
    """Natural-log softmax along the last axis, float32, as an array."""
    return torch.log_softmax(logits.float(), dim=-1).cpu().numpy()
