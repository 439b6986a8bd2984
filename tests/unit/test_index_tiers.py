"""Which segments are merged, and that this ends with few of them, each token written few times."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.index.manifest import Deletions, Manifest, SegmentInfo
from seal_ir.index.tiers import FANOUT, FLOOR, Load, loads_of, merged_to, next_merge

MOST = 1 << 30
SIZES = st.lists(st.integers(1, 10 * FLOOR), min_size=1, max_size=30)


def settled(loads: list[Load], most: int = MOST) -> tuple[list[Load], int]:
    """The segments when nothing is to be merged any more, and how many tokens were written for that."""
    n_written = 0
    while (group := next_merge(loads, most)) is not None:
        merged = sum(load.live for load in loads[group.start : group.stop])
        assert len(group) > 1 or loads[group.start].dead
        n_written += merged
        loads = [*loads[: group.start], Load(merged), *loads[group.stop :]]
    return loads, n_written


def test_a_thousand_commits_make_few_segments_and_write_each_token_few_times() -> None:
    loads: list[Load] = []
    n_written, most_segments, each = 0, 0, FLOOR // 10
    for _ in range(1000):
        loads, n = settled([*loads, Load(each)])
        n_written, most_segments = n_written + n, max(most_segments, len(loads))
    assert sum(load.live for load in loads) == 1000 * each
    n_tiers = log(1000 * each / FLOOR, FANOUT) + 1
    assert most_segments <= (FANOUT - 1) * (n_tiers + 1)
    assert n_written / (1000 * each) <= n_tiers + 6  # within the first tier a token is written more often


@given(sizes=SIZES, most=st.integers(1, 40 * FLOOR))
def test_merging_ends_and_makes_no_segment_too_large(sizes: list[int], most: int) -> None:
    loads, _ = settled([Load(size) for size in sizes], most)
    assert sum(load.live for load in loads) == sum(sizes)
    assert all(load.live <= max(most, *sizes) for load in loads)


def test_what_is_deleted_in_large_part_is_rewritten() -> None:
    assert next_merge([Load(100), Load(75, 25)], MOST) is None
    assert next_merge([Load(100), Load(74, 26)], MOST) == range(1, 2)


@given(sizes=SIZES, n=st.integers(1, 35))
def test_neighbours_are_merged_to_as_few_as_asked(sizes: list[int], n: int) -> None:
    groups = merged_to([Load(size) for size in sizes], n)
    assert len(groups) == min(n, len(sizes))
    assert [at for group in groups for at in group] == list(range(len(sizes)))


@pytest.mark.parametrize(
    ("n", "groups"),
    [
        (5, [[0], [1], [2], [3], [4]]),
        (4, [[0], [1, 2], [3], [4]]),
        (3, [[0, 1, 2], [3], [4]]),
        (2, [[0, 1, 2], [3, 4]]),
        (1, [[0, 1, 2, 3, 4]]),
    ],
)
def test_the_neighbours_with_the_fewest_tokens_are_merged_first(n: int, groups: list[list[int]]) -> None:
    loads = [Load(5), Load(1, 90), Load(2), Load(9), Load(1)]  # deleted tokens are not written again
    assert [list(group) for group in merged_to(loads, n)] == groups


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([FLOOR] * 3, MOST, None),
        ([FLOOR] * 3 + [1], MOST, range(4)),  # all of tier 0
        ([FLOOR] * 3 + [FLOOR + 1], MOST, None),
        ([4 * FLOOR] + [FLOOR] * 3, MOST, None),
        ([4 * FLOOR] * 2 + [FLOOR] + [4 * FLOOR] * 2, MOST, range(5)),  # with smaller ones between them
        ([16 * FLOOR] + [4 * FLOOR] * 3, MOST, None),
        ([1] * 4 + [2 * FLOOR], MOST, range(4)),
        ([2 * FLOOR, 1, 1, 1, 1, 2 * FLOOR], MOST, range(1, 5)),
        ([1, 1, 2 * FLOOR, 1, 1], MOST, None),
        ([10] * 4, 40, range(4)),
        ([10] * 4, 39, range(3)),
        ([10] * 4, 20, range(2)),
        ([10] * 4, 19, None),  # each is more than half of what a segment may have
        ([10, 10, 11, 10, 10], 20, None),
    ],
)
def test_four_neighbours_of_a_tier_are_merged_as_far_as_they_fit(
    sizes: list[int], most: int, expected: range | None
) -> None:
    assert next_merge([Load(size) for size in sizes], most) == expected


def test_a_segment_is_as_large_as_its_live_documents() -> None:
    deleted = Deletions("deleted.npy", 1, 30)
    segments = (SegmentInfo("a", "native", "default", 2, 100, deleted), SegmentInfo("b", "native", "", 1, 5))
    assert loads_of(Manifest("", "", (), "", segments, {}, {})) == [Load(70, 30), Load(5)]
