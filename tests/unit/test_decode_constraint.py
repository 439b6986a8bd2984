"""The constraint by itself: ties across beams, and how little it asks of the model and the index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from seal_ir.arrays import Floats, Ints, Symbols
from seal_ir.decode.constraint import Constraint, CostRule
from seal_ir.decode.hypotheses import Beams
from seal_ir.lm.next_tokens import HostTokens
from seal_ir.lm.protocols import Read
from seal_ir.text.symbols import FIRST_TOKEN
from tests.helpers.streams import SCAN, StreamIndex

A, B, C, D = range(FIRST_TOKEN, FIRST_TOKEN + 4)
NOTHING = np.empty(0, np.int64)


class Counted(HostTokens):
    """Distributions that count how often they are read."""

    def __init__(self, logprobs: Floats) -> None:
        super().__init__(lambda rows: logprobs[rows], logprobs.shape[1])
        self.n_reads = 0

    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        self.n_reads += 1
        return super().read(rows, tokens, top_rows, k)


class CountedIndex(StreamIndex):
    """An index that counts what is asked of it."""

    n_enumerated = 0
    n_verified = 0

    def successors(self, ranges: Ints):
        self.n_enumerated += len(ranges)
        return super().successors(ranges)

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        self.n_verified += len(ranges)
        return super().extend(ranges, symbols)


def _index(streams: Sequence[Sequence[int]]) -> CountedIndex:
    return CountedIndex(streams, engine=SCAN)


def _beams(index: StreamIndex, *ngrams: Sequence[int], logprobs: Sequence[float] = ()) -> Beams:
    n = len(ngrams)
    return Beams(
        np.zeros(n, np.int64),
        np.zeros(n, np.uint32),
        np.array(ngrams, dtype=np.uint32).reshape(n, -1),
        np.array(logprobs or [0.0] * n),
        np.array([index.find(ngram) for ngram in ngrams], dtype=np.int64),
    )


def _best(
    index: StreamIndex, beams: Beams, logprobs: Floats, n_best: int, rule: CostRule
) -> tuple[list[tuple[int, int]], Counted]:
    following = Counted(logprobs.astype(np.float32))
    constraint = Constraint(index, 0, n_best, rule)
    found, _ = constraint.best(
        beams, constraint.known(beams, following.n_vocabulary), following, NOTHING, NOTHING
    )
    return list(zip(found.symbols.tolist(), found.beams.tolist(), strict=True)), following


@pytest.mark.parametrize("narrow", [-1, 99])
@pytest.mark.parametrize("verified", [1, 2, 3, 64])
@pytest.mark.parametrize("tops", [(1,), (1, 2), (2, 3), (4,)])
def test_ties_across_beams_go_by_symbol_and_then_by_beam(
    narrow: int, verified: int, tops: tuple[int, ...]
) -> None:
    index = _index([[1, 2, A, C], [1, 2, A, D], [1, 2, B, C], [1, 2, B, D]])
    flat = np.full((2, 4), -1.0)
    rule = CostRule(narrow, tops, verified)
    found, _ = _best(index, _beams(index, (A,), (B,)), flat, 2, rule)
    assert found == [(C, 0), (C, 1)]
    found, _ = _best(index, _beams(index, (A,), (B,)), flat, 3, rule)
    assert found == [(C, 0), (C, 1), (D, 0)]


@pytest.mark.parametrize("verified", [1, 64])
def test_a_tie_of_a_narrow_and_a_wide_beam(verified: int) -> None:
    """What the narrow beam offers scores the same and is known first; the wide one has the lower symbol."""
    index = _index([[1, 2, A, C], [1, 2, A, D], [1, 2, B, D]])
    found, _ = _best(
        index, _beams(index, (A,), (B,)), np.full((2, 4), -1.0), 1, CostRule(1, (2, 4), verified)
    )
    assert found == [(C, 0)]


def test_f5_a_wide_range_costs_a_few_verifications_and_one_reading() -> None:
    """A thousand symbols follow; the two best are found without looking at the others."""
    symbols = range(FIRST_TOKEN, FIRST_TOKEN + 1000)
    index = _index([[1, 2, *symbols]])
    logprobs = -np.arange(1000.0)[None] - 1
    index.n_enumerated = index.n_verified = 0
    found, following = _best(index, _beams(index, ()), logprobs, 2, CostRule(100, (64, 448), 8))
    assert found == [(A, 0), (B, 0)]
    assert (index.n_enumerated, index.n_verified, following.n_reads) == (0, 8, 1)


def test_after_enough_misses_the_successors_are_enumerated() -> None:
    """What the model likes best does not occur: 64 and 448 are verified, then all is looked up once."""
    index = _index([[1, 2, *range(FIRST_TOKEN + 900, FIRST_TOKEN + 1000)]])
    logprobs = -np.arange(1000.0)[None] - 1
    index.n_enumerated = index.n_verified = 0
    found, following = _best(index, _beams(index, ()), logprobs, 2, CostRule(50, (64, 448), 64))
    assert found == [(FIRST_TOKEN + 900, 0), (FIRST_TOKEN + 901, 0)]
    assert (index.n_enumerated, index.n_verified, following.n_reads) == (1, 64 + 448, 3)


def test_a_beam_far_behind_is_not_looked_at() -> None:
    index = _index([[1, 2, A, C, A, D, B, C, B, D]])
    index.n_verified = index.n_enumerated = 0
    beams = _beams(index, (A,), (B,), logprobs=(0.0, -50.0))
    index.n_verified = index.n_enumerated = 0
    found, _ = _best(index, beams, np.full((2, 4), -1.0), 2, CostRule(0, (4,), 2))
    assert found == [(C, 0), (D, 0)]
    assert (index.n_enumerated, index.n_verified) == (0, 4)


def test_beams_at_the_end_of_their_field_are_finished() -> None:
    index = _index([[1, 2, A, B], [1, 2, A, C]])
    beams = _beams(index, (B,), (A,), (C,))
    constraint = Constraint(index, 0, 2, CostRule())
    living, known, which = constraint.living(beams, 4)
    assert which.tolist() == [1]
    assert living.symbols.tolist() == [[A]]
    assert known.pairs.beams.tolist() == [0, 0]
    assert known.pairs.symbols.tolist() == [B, C]


class Remote(CountedIndex):
    """An index elsewhere, and how much each round trip verified."""

    is_remote = True

    def __init__(self, *arguments, **named) -> None:
        super().__init__(*arguments, **named)
        self.trips: list[int] = []

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        self.trips.append(len(ranges))
        return super().extend(ranges, symbols)


def test_of_an_index_elsewhere_four_times_as_many_are_verified_each_time() -> None:
    """Locally as many as before, however often."""
    streams = [[1, 2, *range(FIRST_TOKEN + 900, FIRST_TOKEN + 1000)]]
    logprobs = -np.arange(1000.0)[None] - 1
    rule = CostRule(50, (100, 448), 8)
    for is_remote, expected in ((True, [8, 32, 60, 448]), (False, [*[8] * 12, 4, *[8] * 56])):
        index = Remote(streams, engine=SCAN)
        index.is_remote = is_remote
        beams = _beams(index, ())
        index.trips.clear()
        found, _ = _best(index, beams, logprobs, 2, rule)
        assert found == [(FIRST_TOKEN + 900, 0), (FIRST_TOKEN + 901, 0)]
        assert index.trips == expected


def test_a_vocabulary_that_was_read_to_its_end_needs_no_enumeration() -> None:
    """Neither at the first attempt nor at a further one: what was not found there is nowhere."""
    index = _index([[1, 2, A, D, D, D]])
    for tops, n_reads in (((4, 9), 1), ((2, 99), 2)):
        beams = _beams(index, (A,))
        index.n_enumerated = index.n_verified = 0
        found, following = _best(index, beams, -np.arange(4.0)[None] - 1, 2, CostRule(0, tops, 64))
        assert found == [(D, 0)]
        assert (index.n_enumerated, following.n_reads) == (0, n_reads)


def test_what_is_wanted_besides_is_read_in_the_same_go() -> None:
    """The n-grams of the query: their log-probabilities come back in the order asked for."""
    index = _index([[1, 2, A, C], [1, 2, B, D]])
    logprobs = np.log(np.arange(1, 9).reshape(2, 4) / 40).astype(np.float32)
    for narrow in (-1, 99):
        following, constraint = Counted(logprobs), Constraint(index, 0, 2, CostRule(narrow))
        beams = _beams(index, (A,), (B,))
        rows, tokens = np.array([1, 0, 1]), np.array([3, 0, 2])
        found, read = constraint.best(beams, constraint.known(beams, 4), following, rows, tokens)
        assert read.tolist() == logprobs[rows, tokens].tolist()
        assert list(zip(found.symbols.tolist(), found.beams.tolist(), strict=True)) == [(D, 1), (C, 0)]
        assert following.n_reads == 1


@pytest.mark.parametrize("narrow", [-1, 99])
@pytest.mark.parametrize(("n_vocabulary", "ended"), [(4, True), (3, False)])
def test_a_field_ends_with_a_token_that_the_model_knows(narrow: int, n_vocabulary: int, ended: bool) -> None:
    index = _index([[1, A, 2, B], [1, A, B, 2]])
    beams = _beams(index, (1, A))._replace(ends=np.array([2], np.uint32))
    constraint = Constraint(index, 3, 4, CostRule(narrow))
    following = Counted(np.full((1, n_vocabulary), -1.0, np.float32))
    found, _ = constraint.best(beams, constraint.known(beams, n_vocabulary), following, NOTHING, NOTHING)
    assert found.symbols.tolist() == ([2, B] if ended else [B])
    assert found.tokens.tolist() == ([3, 1] if ended else [1])


def test_as_many_rows_as_are_narrow_are_enumerated_and_one_more_verified() -> None:
    """Wherever they lie: `B` comes behind forty rows of `A`."""
    index = _index([[1, 2, *[A, C] * 40, B, C, B, D, B, D]])
    for narrow, counts in ((3, (1, 0)), (2, (0, 4))):
        beams = _beams(index, (B,))
        index.n_enumerated = index.n_verified = 0
        found, _ = _best(index, beams, np.full((1, 4), -1.0), 2, CostRule(narrow, (4,), 64))
        assert found == [(C, 0), (D, 0)]
        assert (index.n_enumerated, index.n_verified) == counts


@pytest.mark.parametrize("narrow", [-1, 99])
def test_what_the_model_holds_for_impossible_is_no_continuation(narrow: int) -> None:
    """Not even where fewer are possible than are wanted."""
    index = _index([[1, 2, A, B, A, C, A, D, A, A]])
    logprobs = np.full((1, 4), -np.inf)
    logprobs[0, D - FIRST_TOKEN] = -0.5
    found, _ = _best(index, _beams(index, (A,)), logprobs, 2, CostRule(narrow, (4,), 64))
    assert found == [(D, 0)]


@pytest.mark.parametrize("n_best", [1, 2, 5, 50])
@pytest.mark.parametrize("seed", range(3))
def test_of_many_that_are_enumerated_the_best_are_found(seed: int, n_best: int) -> None:
    symbols = range(FIRST_TOKEN, FIRST_TOKEN + 300)
    index = _index([[1, 2, *symbols]])
    logprobs = np.random.default_rng(seed).permutation(300)[None] * -0.125
    found, _ = _best(index, _beams(index, ()), logprobs, n_best, CostRule(999))
    order = np.argsort(-logprobs[0])[:n_best]
    assert found == [(FIRST_TOKEN + token, 0) for token in order.tolist()]


def test_an_index_is_told_which_ranges_may_be_asked_for_next() -> None:
    """One elsewhere sends what follows them along: those of the enumerated, while others are verified."""
    index = _index([[1, 2, A, C], [1, 2, A, D], [1, 2, B, D]])
    expected: list[list[list[list[int]]]] = []
    index.expect = lambda ranges: expected.append(ranges.tolist())  # type: ignore[method-assign]
    beams = _beams(index, (A,), (B,))
    found, _ = _best(index, beams, np.full((2, 4), -1.0), 3, CostRule(1, (4,), 64))
    assert found == [(C, 0), (D, 0), (D, 1)]
    assert expected == [[[list(part) for part in index.find([B, D])]]]
