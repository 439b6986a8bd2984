"""Keys and values of trees: rows that branch from a prompt share the prompt's, and their ancestors'.

A forward pass reads rows of any number of prompts as one packed sequence, without padding; only attention
knows whose they are (`attention.py`). Keys and values lie in one buffer per layer, prompt by prompt. They
are written once and never copied when beams are reordered: a mask says what each row may see.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.cache_utils import Cache

from seal_ir.arrays import Ints

KeyValues = list[tuple[torch.Tensor, torch.Tensor]]
_ROOM = 128  # places by which buffers are larger than needed when they grow
_ALIGNED = 8  # kernels on accelerators want the rows of a mask to start at multiples of 16 bytes
_MANY = 32  # free places that are worth moving keys and values


class Layout(NamedTuple):
    """Where the rows of one forward pass lie in the grid [prompt, row of the prompt] of attention."""

    n_prompts: int
    width: int  # the largest number of rows of a prompt
    cells: torch.Tensor  # int64 [rows], each row's cell of the grid
    rows: torch.Tensor  # int64 [n_prompts * width], each cell's row; any where there is none
    mask: torch.Tensor  # [n_prompts, 1, width, n_places], added to the scores of attention in the tree


class TreeCache(Cache):
    """Keys and values of a batch of prompts and of all that has been written after them.

    Each prompt has places in the buffers: its own tokens have the first ones, in order; what is written
    after it has the others, until no row has it behind it.

    Attributes:
        prompts: the prompt of each row, int64 [rows].
        length: tokens that every row has behind it, for models that number positions themselves.
    """

    def __init__(self, n_prompts: int, device: torch.device, dtype: torch.dtype) -> None:
        """Of `n_prompts` prompts that have no tokens yet."""
        super().__init__(layers=[])
        self.prompts: Ints = np.arange(n_prompts)
        self.length = 0
        self._written: Ints = np.empty((n_prompts, 0), dtype=np.int64)  # [rows, written], their places
        self._own: Ints = np.zeros(n_prompts, dtype=np.int64)  # places of each prompt's tokens
        self._used: Ints = np.zeros(n_prompts, dtype=np.int64)  # places of each prompt that are taken
        self._capacity = 0  # places of each prompt that there are
        self._buffers: KeyValues = []  # [n_prompts, capacity, heads, size] per layer
        self._places = torch.empty(0, dtype=torch.int64, device=device)  # where the next rows' keys go
        self._device, self._dtype = device, dtype

    @torch.inference_mode()
    def take_prefix(self, prompt: int, layers: KeyValues) -> None:
        """Begin a prompt with keys and values [n, heads, size] per layer that are known already."""
        n = layers[0][0].shape[0]
        self._reserve(n)
        for layer, known in enumerate(layers):
            for buffer, part in zip(self._buffer(layer, *known), known, strict=True):
                buffer[prompt, :n] = part
        self._used[prompt] = self._own[prompt] = n

    @torch.inference_mode()
    def prefix(self, n: int) -> KeyValues:
        """Keys and values [n, heads, size] per layer of the first n places of the first prompt."""
        return [(keys[0, :n].clone(), values[0, :n].clone()) for keys, values in self._buffers]

    @torch.inference_mode()
    def read_prompts(self, prompts: Ints) -> Layout:
        """The next rows are further tokens of prompts [rows], in order: each sees all before it, and itself.

        Afterwards, each prompt is one row.
        """
        places = self._used[prompts] + _slots(prompts)
        self._used = self._used + np.bincount(prompts, minlength=len(self._used))
        layout = self._laid_out(prompts, places, places + 1, np.empty((len(places), 0), dtype=np.int64))
        self._own = self._used
        return layout

    @torch.inference_mode()
    def branch(self, rows: Ints) -> Layout:
        """The next rows continue present ones [rows]: each sees what that one sees, and itself.

        Of n present rows, n + j stands for the next row j, which comes before those that continue it.
        """
        n = len(self.prompts)
        roots, depths = lineage(rows, n)
        self.prompts, self._written = self.prompts[roots], self._written[roots]
        self._free()
        places = self._used[self.prompts] + _slots(self.prompts)
        self._used = self._used + np.bincount(self.prompts, minlength=len(self._used))
        # Rows that others continue have fewer places behind them than these: their own fills up the rest.
        new = np.repeat(places[:, None], int(depths.max()) + 1, axis=1)
        for i in np.flatnonzero(depths).tolist():
            new[i, : depths[i]] = new[rows[i] - n, : depths[i]]
        self._written = np.concatenate([self._written, new], axis=1)
        return self._laid_out(self.prompts, places, self._own[self.prompts], self._written)

    @torch.inference_mode()
    def retire(self, rows: Ints) -> torch.Tensor | None:
        """Drop prompts that none of `rows` grows from, once they are half of the batch.

        Returns:
            The prompts that are left, for what is stored by prompt elsewhere; None where all are.
        """
        alive = np.unique(self.prompts[rows])
        if 2 * len(alive) > len(self._used):
            return None
        index = torch.from_numpy(alive).to(self._device)
        self._buffers = [(keys[index], values[index]) for keys, values in self._buffers]
        self._used, self._own = self._used[alive], self._own[alive]
        self.prompts = np.searchsorted(alive, self.prompts)  # those of dropped prompts are not used again
        return index

    # what transformers calls

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the rows' keys and values; returns all of the tree's, [n_prompts, heads, n_places, size]."""
        parts = [part.transpose(1, 2).flatten(0, 1) for part in (key_states, value_states)]
        buffers = self._buffer(layer_idx, *parts)
        for buffer, part in zip(buffers, parts, strict=True):
            buffer.flatten(0, 1).index_copy_(0, self._places, part)
        n = self._width
        return buffers[0][:, :n].transpose(1, 2), buffers[1][:, :n].transpose(1, 2)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Tokens that every row has behind it."""
        return self.length

    # places

    @property
    def _width(self) -> int:
        return -(-int(self._used.max()) // _ALIGNED) * _ALIGNED

    def _laid_out(self, prompts: Ints, places: Ints, n_first: Ints, others: Ints) -> Layout:
        """That of rows that go to `places`, and see the first `n_first` of their prompt and `others`."""
        self._reserve(self._width)
        n, n_prompts, slots = len(prompts), len(self._used), _slots(prompts)
        width = int(slots.max()) + 1
        cells = prompts * width + slots
        rows = np.zeros(n_prompts * width, dtype=np.int64)
        rows[cells] = np.arange(n)
        flat = prompts * self._capacity + places
        columns = [cells, flat, n_first, rows, others.reshape(-1)]
        sent = torch.from_numpy(np.concatenate(columns)).to(self._device)
        cells_, self._places, first, rows_, seen = torch.split(sent, [len(column) for column in columns])
        visible = torch.arange(self._width, device=self._device) < first[:, None]
        visible.scatter_(1, seen.view(others.shape), True)
        # A cell without a row sees nothing, that is, everything alike: never used, and always a number.
        lowest = torch.finfo(self._dtype).min
        mask = torch.full((len(rows), self._width), lowest, dtype=self._dtype, device=self._device)
        mask[cells_] = torch.zeros_like(visible, dtype=self._dtype).masked_fill_(~visible, lowest)
        return Layout(n_prompts, width, cells_, rows_, mask.view(n_prompts, 1, width, -1))

    def _free(self) -> None:
        """Move what is still behind a row to the front, once that makes room for many."""
        stride = self._capacity
        alive, moved = np.unique(self.prompts[:, None] * stride + self._written, return_inverse=True)
        owners = alive // max(stride, 1)
        used = self._own + np.bincount(owners, minlength=len(self._used))
        if self._used.max() - used.max() < _MANY:
            return
        places = self._own[owners] + _slots(owners)
        source = np.tile(np.arange(used.max()), (len(used), 1))
        source[owners, places] = alive % stride
        index = torch.from_numpy(source).to(self._device)
        prompt = torch.arange(len(used), device=self._device)[:, None]
        for buffers in self._buffers:
            for buffer in buffers:
                buffer[:, : index.shape[1]] = buffer[prompt, index]
        self._used = used
        self._written = places[moved.reshape(self._written.shape)]

    def _reserve(self, n: int) -> None:
        """Have at least n places per prompt."""
        if n > self._capacity:
            more = n + _ROOM - self._capacity
            self._buffers = [(_longer(keys, more), _longer(values, more)) for keys, values in self._buffers]
            self._capacity += more

    def _buffer(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The buffers of a layer, for entries like `keys` and `values` [n, heads, size]."""
        if layer == len(self._buffers):
            shape = (len(self._used), self._capacity)
            self._buffers.append(
                (keys.new_zeros(*shape, *keys.shape[1:]), values.new_zeros(*shape, *values.shape[1:]))
            )
        return self._buffers[layer]


def lineage(rows: Ints, n: int) -> tuple[Ints, Ints]:
    """Of rows that continue n present ones or, from n on, each other: the present row and the depth."""
    roots, depths = rows.copy(), np.zeros_like(rows)
    for i in np.flatnonzero(rows >= n).tolist():
        roots[i], depths[i] = roots[rows[i] - n], depths[rows[i] - n] + 1
    return roots, depths


def _longer(buffer: torch.Tensor, n: int) -> torch.Tensor:
    return torch.cat([buffer, buffer.new_zeros(buffer.shape[0], n, *buffer.shape[2:])], dim=1)


def _slots(groups: Ints) -> Ints:
    """For each entry, how many earlier entries have the same value."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    slots = np.empty_like(groups)
    slots[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
    return slots


# As releases of transformers call it, the last of networks with a recurrent state.
_CACHES = ("cache", "past_key_values", "cache_params")


def cache_keyword(network: Any) -> str:
    """The name of `forward`'s key-value cache argument; transformers renamed it within version 5."""
    known = inspect.signature(network.forward).parameters
    return next((name for name in _CACHES if name in known), _CACHES[1])
