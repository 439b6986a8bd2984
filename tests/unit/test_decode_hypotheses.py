"""The values of a step: the best of each decoding, and the pool of what is yet to be verified."""

from __future__ import annotations

import numpy as np
import pytest

from seal_ir.arrays import Floats
from seal_ir.decode.hypotheses import (
    Beams,
    Candidates,
    Pool,
    best_of_each,
    joined,
    nth_best,
    rank_in_group,
)
from seal_ir.lm.protocols import Read
from seal_ir.text.symbols import FIRST_TOKEN

NONE = -np.inf
JOBS = np.array([0, 0, 1, 3])  # of four beams
A, B, C = range(FIRST_TOKEN, FIRST_TOKEN + 3)


def _beams(ends: tuple[int, ...] = (0, 0, 0, 0), length: int = 1) -> Beams:
    symbols = np.full((4, length), A, np.uint32)
    logprobs = np.array([-1.0, -2.0, -3.0, NONE])
    return Beams(JOBS, np.array(ends, np.uint32), symbols, logprobs, np.zeros((4, 1, 2), np.int64))


def _candidates(*rows: tuple[int, int, float]) -> Candidates:
    beams, symbols, scores = zip(*rows, strict=True)
    n = len(rows)
    ranges = np.arange(2 * n).reshape(n, 1, 2)
    tokens = np.array(symbols) - FIRST_TOKEN
    return Candidates(np.array(beams), np.array(symbols, np.uint32), tokens, np.array(scores), ranges)


def _rows(found: Candidates) -> list[tuple[int, int, float]]:
    columns = (found.beams.tolist(), found.symbols.tolist(), found.scores.tolist())
    return list(zip(*columns, strict=True))


def test_places_within_groups() -> None:
    assert rank_in_group(np.array([3, 3, 3, 5, 7, 7])).tolist() == [0, 1, 2, 0, 0, 1]
    assert rank_in_group(np.empty(0, np.int64)).tolist() == []


def test_the_best_of_each_come_decoding_by_decoding_ties_by_symbol_and_then_by_beam() -> None:
    rows = [(2, A, -5.0), (1, B, -1.0), (1, A, -1.0), (0, A, -1.0), (0, C, -0.5), (2, B, -4.0), (0, B, -9.0)]
    found = best_of_each(_candidates(*rows), JOBS, 3)
    assert _rows(found) == [(0, C, -0.5), (0, A, -1.0), (1, A, -1.0), (2, B, -4.0), (2, A, -5.0)]
    assert found.ranges[:, 0, 0].tolist() == [8, 6, 4, 10, 0]
    assert found.tokens.tolist() == (found.symbols.astype(int) - FIRST_TOKEN).tolist()


@pytest.mark.parametrize(("n", "expected"), [(1, [-1.0, NONE, -3.0]), (2, [-2.0, NONE, NONE])])
def test_the_nth_best_score_of_each(n: int, expected: list[float]) -> None:
    scores, jobs = np.array([-2.0, -3.0, -1.0, -7.0]), np.array([0, 2, 0, 0])
    assert nth_best(scores, jobs, 3, n).tolist() == expected


def test_lists_are_joined_in_order() -> None:
    parts = [_candidates((0, A, -1.0)), _candidates((1, B, -2.0), (2, C, -3.0))]
    assert _rows(joined(parts)) == [(0, A, -1.0), (1, B, -2.0), (2, C, -3.0)]


def test_fields_end_that_have_an_end_and_have_begun() -> None:
    assert _beams((2, 0, 4, 0)).may_end.tolist() == [True, False, True, False]
    assert _beams((2, 0, 4, 0), length=0).may_end.tolist() == [False] * 4


def _read(tokens: list[list[int]], logprobs: list[list[float]]) -> Read:
    return Read(np.empty(0, np.float32), np.array(tokens), np.array(logprobs, dtype=np.float32))


def _pool() -> Pool:
    """Of beams 0 and 2 the two best of four tokens each, and the end of beam 2."""
    pool = Pool(_beams((0, 0, 2, 0)))
    pool.add_ends(np.array([2]), 3, np.array([-0.25], dtype=np.float32))
    read = _read([[0, 2], [1, 0]], [[-0.5, -1.0], [-2.0, NONE]])
    pool.add_tops(np.array([0, 2]), read, 4)
    return pool


def _least(value: float) -> Floats:
    return np.full(4, value)


def test_a_pool_holds_what_is_possible() -> None:
    pool = _pool()
    assert pool.beams.tolist() == [2, 0, 0, 2]
    assert pool.symbols.tolist() == [2, A, C, B]
    assert len(pool.attested.beams) == 0


def test_due_are_the_best_of_each_decoding_that_reach_the_least() -> None:
    pool = _pool()  # scores -3.25, -1.5, -2.0, -5.0
    assert sorted(pool.due(_least(NONE), 9).tolist()) == [0, 1, 2, 3]
    assert sorted(pool.due(_least(NONE), 1).tolist()) == [0, 1]
    assert sorted(pool.due(_least(-2.0), 9).tolist()) == [1, 2], "what ties with the least is due"
    assert pool.due(_least(-1.0), 9).tolist() == []
    assert pool.due(np.array([0.0, 0.0, -9.0, 0.0]), 9).tolist() == [0, 3], "the least is of each beam"


def test_what_is_settled_is_attested_or_absent_and_due_no_more() -> None:
    pool = _pool()
    pool.settle(np.array([1, 3]), np.array([[[5, 7]], [[4, 4]]]))
    pool.settle(np.array([0]), np.array([[[8, 9]]]))
    assert pool.due(_least(NONE), 9).tolist() == [2]
    found = pool.attested
    assert _rows(found) == [(2, 2, -3.25), (0, A, -1.5)]
    assert found.tokens.tolist() == [3, 0]
    assert found.ranges.tolist() == [[[8, 9]], [[5, 7]]]


@pytest.mark.parametrize("settled", [False, True])
def test_what_is_attested_has_the_types_of_the_index(settled: bool) -> None:
    """Also where nothing is: symbols that became floats would compare equal, and be none."""
    pool = _pool()
    if settled:
        pool.settle(np.array([1, 3]), np.array([[[5, 7]], [[4, 4]]]))
    found = pool.attested
    assert len(found.beams) == int(settled)
    assert pool.symbols.dtype == found.symbols.dtype == np.uint32
    types = (found.beams.dtype, found.tokens.dtype, found.ranges.dtype, found.scores.dtype)
    assert types == (np.int64, np.int64, np.int64, np.float64)
    empty = Pool(_beams()).attested
    assert (empty.symbols.dtype, empty.ranges.shape) == (np.uint32, (0, 1, 2))


def test_a_continuation_in_one_of_two_segments_is_attested() -> None:
    beams = _beams()._replace(ranges=np.zeros((4, 2, 2), np.int64))
    pool = Pool(beams)
    pool.add_tops(np.array([0]), _read([[0, 2]], [[-0.5, -1.0]]), 4)
    pool.settle(np.array([0, 1]), np.array([[[3, 3], [5, 7]], [[3, 3], [4, 4]]]))
    assert pool.attested.ranges.tolist() == [[[3, 3], [5, 7]]]


def test_uncertain_are_beams_whose_worst_token_read_reaches_the_least() -> None:
    pool = _pool()  # beam 0 is known down to -2.0, and beam 2 has no further tokens that are possible
    assert pool.uncertain(_least(NONE)).tolist() == [0]
    assert pool.uncertain(_least(-2.0)).tolist() == [0], "another may tie with the last that was read"
    assert pool.uncertain(_least(-1.9)).tolist() == []


def test_of_a_vocabulary_read_to_its_end_nothing_is_uncertain() -> None:
    pool = Pool(_beams())
    pool.add_tops(np.array([0]), _read([[0, 2, 1]], [[-0.5, -1.0, -2.0]]), 3)
    assert pool.uncertain(_least(NONE)).tolist() == []
    pool.add_tops(np.array([1]), _read([[0, 2, 1]], [[-0.5, -1.0, -2.0]]), 4)
    assert pool.uncertain(_least(NONE)).tolist() == [1]


def test_tokens_that_are_no_numbers_make_nothing_uncertain() -> None:
    pool = Pool(_beams())
    pool.add_tops(np.array([0]), _read([[0, 2]], [[np.nan, np.nan]]), 4)
    assert pool.uncertain(_least(NONE)).tolist() == []
    assert pool.beams.tolist() == []


def test_forgetting_a_beams_tokens_leaves_its_end_and_other_beams() -> None:
    pool = _pool()
    pool.settle(np.array([0, 1]), np.array([[[8, 9]], [[5, 7]]]))
    pool.drop_tops(np.array([2]))
    assert (pool.beams.tolist(), pool.symbols.tolist()) == ([2, 0, 0], [2, A, C])
    assert pool.attested.ranges.tolist() == [[[8, 9]], [[5, 7]]]
    assert pool.attested.tokens.tolist() == [3, 0]
    assert pool.due(_least(NONE), 9).tolist() == [2]


def test_forgetting_a_beam_leaves_nothing_of_it() -> None:
    pool = _pool()
    pool.drop(np.array([0]))
    assert (pool.beams.tolist(), pool.symbols.tolist()) == ([2, 2], [2, B])
    assert pool.uncertain(_least(NONE)).tolist() == []
