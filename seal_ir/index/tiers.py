"""Which segments to merge: so that there are few of them, and each token is written few times.

A segment's tier grows by one with each factor of `FANOUT` in its live tokens. `FANOUT` neighbours of a tier,
with smaller ones between them, are merged into one of the next. So there are at most `FANOUT` - 1 of each
tier, a number that grows with the logarithm of the index, and a token is rewritten once a tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from seal_ir.index.manifest import Manifest

FANOUT = 4
FLOOR = 1 << 17  # tokens up to which segments are of tier 0
MOST_DEAD = 4  # a segment is rewritten when one token in so many is deleted


@dataclass(frozen=True, slots=True)
class Load:
    """What a segment holds, as far as merging is concerned: tokens that are live, and that are deleted."""

    live: int
    dead: int = 0


def loads_of(manifest: Manifest) -> list[Load]:
    """What the segments of an index hold."""
    return [Load(part.n_live_tokens, part.n_tokens - part.n_live_tokens) for part in manifest.segments]


def next_merge(loads: Sequence[Load], most: int) -> range | None:
    """The neighbours that are to be merged next, a single one to be rewritten, or None.

    Args:
        loads: of the segments, in document order.
        most: tokens that a segment may have.
    """
    for at, load in enumerate(loads):
        if load.dead * MOST_DEAD > load.live + load.dead:
            return range(at, at + 1)
    # One of more than half of what a segment may have would only be copied.
    tiers = [_tier(load.live) if 2 * load.live <= most else None for load in loads]
    for tier in sorted({tier for tier in tiers if tier is not None}):
        for run in _runs([known is not None and known <= tier for known in tiers]):
            if sum(tiers[at] == tier for at in run) >= FANOUT:
                return _fitting(run, [load.live for load in loads], most)
    return None


def merged_to(loads: Sequence[Load], n: int) -> list[range]:
    """The segments in `n` groups of neighbours, with as few tokens in those of several as goes by neighbours.

    Args:
        loads: of the segments, in document order.
        n: how many groups, at least 1.
    """
    groups = [range(at, at + 1) for at in range(len(loads))]
    sizes = [load.live for load in loads]
    while len(groups) > n:
        at = min(range(len(groups) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        groups[at : at + 2] = [range(groups[at].start, groups[at + 1].stop)]
        sizes[at : at + 2] = [sizes[at] + sizes[at + 1]]
    return groups


def _tier(n_tokens: int) -> int:
    tier = 0
    while n_tokens > FLOOR * FANOUT**tier:
        tier += 1
    return tier


def _runs(taken: Sequence[bool]) -> list[range]:
    """Longest runs of places that are taken."""
    runs, start = [], 0
    for at, is_taken in enumerate([*taken, False]):
        if not is_taken:
            runs += [range(start, at)] if at > start else []
            start = at + 1
    return runs


def _fitting(run: range, sizes: Sequence[int], most: int) -> range:
    """The beginning of a run, of two at least, that fits one segment."""
    sums = accumulate(sizes[run.start : run.stop])
    n = sum(total <= most for total in sums)
    return range(run.start, run.start + max(2, n))
