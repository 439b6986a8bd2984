"""Equal scores: which figures depend on the order that documents with one score are put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product
from math import comb, prod
from random import Random

from seal_ir.eval.evidence import EvidenceMeasure, EvidenceSets
from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column, aggregate
from seal_ir.formats.io.files import listed

Tie = tuple[int, int]  # places of a ranking, from 0 and half-open, that hold one score; two or more
Ties = Mapping[str, Sequence[Tie]]  # by topic; topics without ties are left out
Values = dict[str, dict[str, float]]  # by notation of the measure, then by topic
Ends = tuple[list[str], list[str]]  # of the rankings that ties allow, the one of greatest value and of least

MOST_ORDERS = 1000  # of a topic's documents, that are tried for measures over sets of pages

_SAME = 1e-9  # values of one topic that are further apart differ by more than rounding


def tied_places(scores: Sequence[float]) -> list[Tie]:
    """The ties of a ranking with these scores, from the top."""
    found: list[Tie] = []
    lo = 0
    for at in range(1, len(scores) + 1):
        if at == len(scores) or scores[at] != scores[lo]:
            if at - lo > 1:
                found.append((lo, at))
            lo = at
    return found


def orders(docids: Sequence[str], ties: Sequence[Tie], grades: Mapping[str, int]) -> Ends | None:
    """A ranking with the best documents of each tie first, and with them last; None where both are one.

    A measure that gains from relevant documents further up has its greatest value on the first and its least
    on the second; so has one that counts judged documents, for among those that are not relevant the judged
    ones are the better.
    """

    def worth(docid: str) -> tuple[int, bool]:
        return max(0, grades.get(docid, 0)), docid in grades

    best, worst = list(docids), list(docids)
    for lo, hi in ties:
        rising = sorted(docids[lo:hi], key=worth)
        if worth(rising[0]) < worth(rising[-1]):
            best[lo:hi], worst[lo:hi] = rising[::-1], rising
    return None if best == worst else (best, worst)


def orders_by_sets(
    docids: Sequence[str], ties: Sequence[Tie], sets: EvidenceSets, measure: EvidenceMeasure
) -> Ends | None:
    """The rankings of greatest and of least value that ties allow, for one of KILT's measures.

    None where their values are equal. Pages that are in the same sets are alike. Of more than `MOST_ORDERS`
    orders only as many are tried: the pages of each set and of all of them first and last, then orders drawn
    at random. The values are then ones that the ties allow, but there may be greater and lesser ones.
    """
    grouped = [_alike(docids[lo:hi], sets) for lo, hi in ties]
    found: Iterable[list[str]]
    if prod(map(_n_mixed, grouped)) <= MOST_ORDERS:
        found = (_placed(docids, ties, parts) for parts in product(*map(_mixed, grouped)))
    else:
        found = islice(_some(docids, ties, sets), MOST_ORDERS)
    rankings = [list(docids), *found]
    values = [measure(ranking, sets) for ranking in rankings]
    best, worst = values.index(max(values)), values.index(min(values))
    return None if best == worst else (rankings[best], rankings[worst])


def _placed(docids: Sequence[str], ties: Sequence[Tie], parts: Sequence[Sequence[str]]) -> list[str]:
    """The ranking with those parts in the places of the ties."""
    ranking = list(docids)
    for (lo, hi), part in zip(ties, parts, strict=True):
        ranking[lo:hi] = part
    return ranking


def _alike(docids: Sequence[str], sets: EvidenceSets) -> list[list[str]]:
    """The documents in groups that are in the same sets, or in none."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for docid in docids:
        groups.setdefault(tuple(i for i, pages in enumerate(sets) if docid in pages), []).append(docid)
    return list(groups.values())


def _n_mixed(groups: Sequence[Sequence[str]]) -> int:
    """How many orders `_mixed` has."""
    return prod(comb(sum(map(len, groups[: i + 1])), len(groups[i])) for i in range(len(groups)))


def _mixed(groups: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """All orders but for those within a group."""
    if not groups:
        yield []
        return
    *others, last = groups
    n = sum(map(len, groups))
    for order in _mixed(others):
        for places in combinations(range(n), len(last)):
            left, right = iter(order), iter(last)
            yield [next(right) if place in places else next(left) for place in range(n)]


def _some(docids: Sequence[str], ties: Sequence[Tie], sets: EvidenceSets) -> Iterator[list[str]]:
    """Rankings that ties allow: pages of sets first, and last; then without end, drawn at random."""
    parts = [docids[lo:hi] for lo, hi in ties]
    for pages in (*sets, list(chain.from_iterable(sets))):
        for is_last in (False, True):
            yield _placed(
                docids, ties, [sorted(part, key=lambda page: (page in pages) is is_last) for part in parts]
            )
    draw = Random(0)
    while True:
        yield _placed(docids, ties, [draw.sample(part, len(part)) for part in parts])


def parted(ties: Sequence[Tie], cutoffs: Sequence[int]) -> list[Tie]:
    """The ties that a cut-off k goes through: place k - 1 is in them, and so is place k."""
    return [(lo, hi) for lo, hi in ties if any(lo < k < hi for k in cutoffs)]


def left_open(where: str, columns: Sequence[Column], best: Values, worst: Values) -> Iterator[Finding]:
    """The figures that are not the same whichever way ties are put; both values are of all topics."""
    shown: list[str] = []
    topics: dict[str, None] = {}
    for name, column in ((column.name, column) for column in columns if column.name in best):
        differ = [qid for qid, value in best[name].items() if abs(value - worst[name][qid]) > _SAME]
        if differ:
            topics |= dict.fromkeys(differ)
            lo, hi = sorted(aggregate(column, values[name].values()) for values in (worst, best))
            shown.append(f"{name} ({lo:.4f} to {hi:.4f})")
    if shown:
        yield Finding(
            "ties",
            f"{where}: equal scores of {len(topics)} topics leave open {', '.join(shown)}; they are put in"
            f" trec_eval's order, by id from the last: topics {listed(topics)}",
        )
