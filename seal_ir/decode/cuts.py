"""Queries that are longer than a model reads: which they are, and the one sentence that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from seal_ir.formats.io.files import listed

Cut = Mapping[int, int]  # places in a batch of the queries that were cut -> tokens that each was cut to
_N_KEPT = 11  # names that are kept: the ten that are told, and one that says that there are more


def note_cut(cut: dict[int, int], place: int, limit: int | None) -> None:
    """Enter a query that was cut to `limit` tokens, if it was; of several limits the lowest counts."""
    if limit is not None:
        cut[place] = min(limit, cut.get(place, limit))


class CutQueries:
    """Counts, batch by batch, the queries that were cut."""

    def __init__(self, what: str = "topics", queries: str = "queries") -> None:
        """Start with none.

        Args:
            what: what the names of queries are; "" leaves them out.
            queries: what stands in the place of queries.
        """
        self._what, self._queries = what, queries
        self._n_queries = self._n_cut = 0
        self._limit: float = inf
        self._names: list[str] = []

    def add(self, names: Sequence[str], cut: Cut) -> None:
        """Count a batch of queries by their names."""
        self._n_queries += len(names)
        self._n_cut += len(cut)
        self._limit = min(self._limit, *cut.values(), inf)
        self._names += [names[place] for place in sorted(cut)][: _N_KEPT - len(self._names)]

    def sentence(self) -> str:
        """How many were cut, to what, and the first ten of them; "" where none was.

        The number of tokens is that of the query alone, without prompts and special tokens; where several
        limits were met, the lowest, which all that were cut pass.
        """
        if not self._n_cut:
            return ""
        told = f"{self._n_cut} of {self._n_queries} {self._queries} were longer than {self._limit} tokens"
        told += " and were cut"
        return f"{told}: {self._what} {listed(self._names)}" if self._what else told


def cut_sentence(cut: Cut, names: Sequence[str] | None, n_queries: int) -> str:
    """`CutQueries.sentence` for one batch; queries without names are told by their positions from 0.

    A single query without a name needs none.
    """
    if names is not None:
        queries = CutQueries()
        queries.add(names, cut)
        return queries.sentence()
    queries = CutQueries("positions" if n_queries > 1 else "")
    queries.add(list(map(str, range(n_queries))), cut)
    return queries.sentence()
