"""Which segments are merged, and that this ends with few of them, each token written few times."""

from __future__ import annotations

from math import log

from hypothesis import given
from hypothesis import strategies as st

from seal_ir.index.tiers import FANOUT, FLOOR, Load, merged_to, next_merge

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
