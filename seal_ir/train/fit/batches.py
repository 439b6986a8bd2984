"""An endless stream of batches of about equal size in tokens, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.arrays import Ints
from seal_ir.errors import InputError, UsageError
from seal_ir.train.data.examples import Example
from seal_ir.train.data.pairs import UNSUPERVISED
from seal_ir.train.fit.trees import Encoded, tree_size

Group = list[Encoded]  # sequences of one source
CHUNK = 2048  # groups that are encoded, sorted by length and cut into batches together


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What goes into a batch.

    Attributes:
        tokens: largest size of a batch in tokens, padding included (paper: 4,096).
        targets: examples taken from each pair or document and pass; 0 takes all of them.
        unsupervised_share: share of unsupervised groups in a pass, all other groups being in it once;
            None takes every group once.
        max_tokens: longer examples are left out; prompt and target together.
        seed: of all choices.
    """

    tokens: int = 4096
    targets: int = 0
    unsupervised_share: float | None = None
    max_tokens: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, tokens=1, targets=0, max_tokens=2, seed=0)
        if self.max_tokens > self.tokens:
            raise UsageError(f"max_tokens is {self.max_tokens}, more than a batch has ({self.tokens})")
        if self.unsupervised_share is not None and not 0 <= self.unsupervised_share < 1:
            raise UsageError(f"unsupervised_share is {self.unsupervised_share}; it must lie in [0, 1)")


class TrainingSet:
    """A training set by groups: the examples of one pair or one document."""

    def __init__(self, rows: Any) -> None:
        """Args: rows: a `datasets.Dataset` with the columns of `load_dataset`, groups in one piece each."""
        self._rows = rows
        column = rows.with_format("numpy")
        ids = np.asarray(column["group"][:], dtype=np.int64)
        self._starts = np.flatnonzero(np.diff(ids, prepend=-1))
        self._ends = np.append(self._starts[1:], len(ids))
        kinds = np.asarray(rows.data.column("kind").take(self._starts).to_pylist())
        self.unsupervised = np.flatnonzero(kinds == UNSUPERVISED)
        self.others = np.flatnonzero(kinds != UNSUPERVISED)

    def __len__(self) -> int:
        """Number of groups to choose from."""
        return len(self.others) + len(self.unsupervised)

    def only(self, groups: Ints) -> TrainingSet:
        """The same set with only some of its groups to choose from."""
        part = copy(self)
        part.others = np.intersect1d(self.others, groups)
        part.unsupervised = np.intersect1d(self.unsupervised, groups)
        return part

    def without(self, groups: Ints) -> TrainingSet:
        """The same set without some of its groups to choose from."""
        return self.only(np.setdiff1d(np.arange(len(self._starts)), groups))

    def examples(self, group: int, n: int, rng: np.random.Generator) -> list[Example]:
        """N different rows of a group, or all for 0, in the order of the set; equal ones once."""
        rows = np.arange(self._starts[group], self._ends[group])
        if 0 < n < len(rows):
            rows = np.sort(rng.choice(rows, size=n, replace=False))
        found = self._rows[rows]
        values = zip(*(found[name] for name in Example._fields), strict=True)
        return list(dict.fromkeys(Example(*value) for value in values))


def pass_order(training_set: TrainingSet, options: BatchOptions, number: int) -> Ints:
    """The groups of a pass in shuffled order.

    With a share, unsupervised groups come in a fixed shuffled order that passes go on with, so that all of
    them are used before one is used again.
    """
    rng = np.random.default_rng([options.seed, number])
    others, unsupervised = training_set.others, training_set.unsupervised
    share = options.unsupervised_share
    if share is not None and len(others) and len(unsupervised):
        n = round(len(others) * share / (1 - share))
        order = np.random.default_rng(options.seed).permutation(unsupervised)
        unsupervised = order[(np.arange(n) + n * number) % len(order)]
    groups = np.concatenate([others, unsupervised])
    rng.shuffle(groups)
    return groups


def chunks(
    training_set: TrainingSet,
    options: BatchOptions,
    encode: Callable[[Sequence[Example]], list[Encoded]],
    *,
    share: bool,
) -> Iterator[list[list[Group]]]:
    """Batches, chunk after chunk and pass after pass, without end.

    Args:
        training_set: the examples.
        options: which, and how many together.
        encode: their token ids.
        share: keep examples of one source together, to be read as one tree.

    Raises:
        InputError: a whole pass has no example that is short enough.
    """
    number = 0
    while True:
        order = pass_order(training_set, options, number)
        n_batches = 0
        for at in range(0, len(order), CHUNK):
            rng = np.random.default_rng([options.seed, number, at])
            groups: list[Group] = []
            for group in order[at : at + CHUNK]:
                examples = training_set.examples(int(group), options.targets, rng)
                groups += _by_source(examples, encode(examples), options, share)
            batches = cut(groups, options.tokens)
            rng.shuffle(batches)
            n_batches += len(batches)
            yield batches
        if not n_batches:
            raise InputError(
                f"no example of the training set has at most {options.max_tokens} tokens; raise --max-tokens"
            )
        number += 1


def cut(groups: Sequence[Group], tokens: int) -> list[list[Group]]:
    """Groups sorted by size and cut into batches whose padded size is at most `tokens`.

    A group that alone is larger is a batch of its own; only one with several examples can be.
    """
    batches: list[list[Group]] = []
    for group in sorted(groups, key=tree_size):
        # Sizes ascend, so the group is the widest of the batch that it would join.
        if batches and tree_size(group) * (len(batches[-1]) + 1) <= tokens:
            batches[-1].append(group)
        else:
            batches.append([group])
    return batches


def _by_source(
    examples: list[Example], encoded: list[Encoded], options: BatchOptions, share: bool
) -> list[Group]:
    """Encoded examples that are short enough; with `share` those of one source together."""
    short = [(e, s) for e, s in zip(examples, encoded, strict=True) if s.n_tokens <= options.max_tokens]
    if not share:
        return [[sequence] for _, sequence in short]
    groups: dict[tuple[str, str], Group] = {}
    for example, sequence in short:
        groups.setdefault((example.source, example.kind), []).append(sequence)
    return list(groups.values())
