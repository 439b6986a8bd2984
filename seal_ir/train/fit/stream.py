"""The batches of a training run as the dataset that the Trainer wants: item i is the whole of batch i."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from seal_ir.decode.prompts import CutQueries
from seal_ir.lm.choose import can_hold_trees
from seal_ir.lm.protocols import Generator
from seal_ir.text.description import CAUSAL
from seal_ir.train.fit.batches import CHUNK, BatchOptions, Group, TrainingSet, chunks
from seal_ir.train.fit.collate import collate_pairs, collate_rows, collate_trees
from seal_ir.train.fit.encoding import Encoder

Collate = Callable[[Sequence[Group]], dict[str, torch.Tensor]]


class BatchStream(Dataset[list[Group]]):
    """An endless stream read by position; what comes later is made when it is asked for.

    The Trainer deals items to processes, skips them when it goes on from a checkpoint and accumulates
    gradients over them, all without knowing that an item is a batch.
    """

    def __init__(self, make: Callable[[], Iterator[list[list[Group]]]], n_batches: int) -> None:
        """Args: make: a new stream of chunks of batches, the same each time; n_batches: how many are used."""
        self._make, self._n_batches = make, n_batches
        self._chunks = make()
        self._chunk: list[list[Group]] = []
        self._first = 0

    def __len__(self) -> int:
        """Number of batches."""
        return self._n_batches

    def __getitem__(self, position: int) -> list[Group]:
        """The batch at a position; going back starts the stream anew."""
        if position < self._first:
            self._chunks, self._chunk, self._first = self._make(), [], 0
        while position >= self._first + len(self._chunk):
            self._first += len(self._chunk)
            self._chunk = next(self._chunks)
        return self._chunk[position - self._first]


def collation(generator: Generator, network: Any, dtype: torch.dtype, max_tokens: int) -> Collate:
    """How groups become tensors for a network; the arguments are those of `Material`."""
    if generator.description.family != CAUSAL:
        start: list[int] = generator.model.start_tokens  # type: ignore[attr-defined]
        return lambda groups: collate_pairs(groups, start)
    if _are_trees(generator, network, max_tokens):
        return lambda groups: collate_trees(groups, dtype)
    return collate_rows


def _are_trees(generator: Generator, network: Any, max_tokens: int) -> bool:
    return generator.description.family == CAUSAL and can_hold_trees(network, max_tokens)


class Material:
    """A training set ready for one model: streams of its batches, and their collation.

    Attributes:
        cut: counts the prompts of collated batches, and those that were cut to what the model reads.
    """

    def __init__(
        self, generator: Generator, encoder: Encoder, network: Any, dtype: torch.dtype, max_tokens: int
    ) -> None:
        """Args: dtype: what the network computes attention in; max_tokens: of an example at most."""
        self._encoder = encoder
        self._share = _are_trees(generator, network, max_tokens)
        self.cut = CutQueries("", "prompts")
        self._collate = collation(generator, network, dtype, max_tokens)

    def collate(self, groups: Sequence[Group]) -> dict[str, torch.Tensor]:
        """A batch as the tensors that `TargetLoss` reads."""
        limits = [sequence.limit for group in groups for sequence in group]
        self.cut.add([""] * len(limits), {at: n for at, n in enumerate(limits) if n is not None})
        return self._collate(groups)

    def stream(self, training_set: TrainingSet, options: BatchOptions, n_batches: int) -> BatchStream:
        """The first batches of the endless stream."""
        return BatchStream(lambda: chunks(training_set, options, self._encoder, share=self._share), n_batches)

    def one_pass(self, training_set: TrainingSet, options: BatchOptions) -> list[dict[str, torch.Tensor]]:
        """Collated batches of all groups of a small set, each group once.

        Raises:
            InputError: no example is short enough.
        """
        n_passed = 0
        batches: list[list[Group]] = []
        for chunk in chunks(training_set, options, self._encoder, share=self._share):
            batches += chunk
            n_passed += CHUNK
            if n_passed >= len(training_set) and batches:
                return [self.collate(batch) for batch in batches]
        raise AssertionError("chunks never end")
