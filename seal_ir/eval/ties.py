"""Equal scores: which figures depend on the order that documents with one score are put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column, aggregate
from seal_ir.formats.io.files import listed

Tie = tuple[int, int]  # places of a ranking, from 0 and half-open, that hold one score; two or more
Ties = Mapping[str, Sequence[Tie]]  # by topic; topics without ties are left out
Values = dict[str, dict[str, float]]  # by notation of the measure, then by topic

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


def orders(
    docids: Sequence[str], ties: Sequence[Tie], grades: Mapping[str, int]
) -> tuple[list[str], list[str]] | None:
    """A ranking with the best documents of each tie first, and with them last; None where both are one.

    A measure that gains from relevant documents further up has its greatest value on the first and its least
    on the second.
    """
    best, worst = list(docids), list(docids)
    for lo, hi in ties:
        rising = sorted(docids[lo:hi], key=lambda docid: grades.get(docid, 0))
        if grades.get(rising[0], 0) < grades.get(rising[-1], 0):
            best[lo:hi], worst[lo:hi] = rising[::-1], rising
    return None if best == worst else (best, worst)


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
