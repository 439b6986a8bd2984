"""KILT's measures: an answer's evidence is a set of pages, and a topic may have several such sets.

In the ranking a set counts once, in the place of the last of its pages that was found, and is right there
if all of them were. A page of no set counts once, and is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

EvidenceSets = Sequence[Sequence[str]]  # of one topic: the distinct pages of each output
EvidenceMeasure = Callable[[Sequence[str], EvidenceSets], float]

_NAME = re.compile(r"Kilt(?:(Rprec)|(P|R|Success)@([1-9][0-9]{0,8}))")


def evidence_measure(name: str) -> EvidenceMeasure | None:
    """The measure that `KiltRprec`, `KiltP@k`, `KiltR@k` or `KiltSuccess@k` names; None for other names.

    It takes the distinct documents of a ranking, best first, and the topic's sets, one or more.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    if match[1]:
        return r_precision
    k = int(match[3])
    return {"P": precision, "R": recall, "Success": success}[match[2]](k)


def r_precision(ranking: Sequence[str], sets: EvidenceSets) -> float:
    """The best R-precision that one of the sets alone gives, R being its number of pages."""
    return max(len(set(pages).intersection(ranking[: len(pages)])) / len(pages) for pages in sets)


def precision(k: int) -> EvidenceMeasure:
    """Share of k that is complete sets in the first k places."""
    return lambda ranking, sets: sum(_places(ranking, sets)[:k]) / k


def recall(k: int) -> EvidenceMeasure:
    """Share of the topic's different sets that are complete in the first k places."""
    return lambda ranking, sets: sum(_places(ranking, sets)[:k]) / len(set(map(frozenset, sets)))


def success(k: int) -> EvidenceMeasure:
    """1 if a set is complete in the first k places, else 0."""
    return lambda ranking, sets: float(any(_places(ranking, sets)[:k]))


def _places(ranking: Sequence[str], sets: EvidenceSets) -> list[bool]:
    """Whether a complete set stands there, for each place of the ranking."""
    rank = {docid: i for i, docid in enumerate(ranking)}
    places = []
    distinct = list(dict.fromkeys(map(frozenset, sets)))
    for number, pages in enumerate(distinct):
        found = [rank[page] for page in pages if page in rank]
        if found:
            places.append((max(found), number, len(found) == len(pages)))
    wanted = frozenset[str]().union(*distinct)
    places += [(i, 0, False) for docid, i in rank.items() if docid not in wanted]
    return [complete for *_, complete in sorted(places)]
