"""`Filter`: the documents that a search is to be within, found once for any number of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import pyarrow.compute as pc

from seal_ir.arguments import choice, texts
from seal_ir.arrays import Ints
from seal_ir.errors import InputError, UsageError, shown
from seal_ir.index.reader import Index
from seal_ir.index.view import Counts, View, view_of

Missing = Literal["error", "skip"]
Allowed: TypeAlias = Iterable[str] | pc.Expression


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """Some documents of one generation of an index; made by `SealSearcher.make_filter`.

    Attributes:
        view: the index seen through these documents.
    """

    view: View

    @property
    def n_documents(self) -> int:
        """How many documents there are to search within."""
        return len(self.view.allowed)

    def view_of(self, index: Index) -> View:
        """The view, if it is one of this index.

        Raises:
            UsageError: the filter was made for another index or another generation of it.
        """
        if self.view.whole is not index and self.view.manifest != index.manifest:
            raise UsageError(
                f"{index.directory}: the filter was made for another state of the index"
                f" ({self.view.directory}, {self.view.whole.n_documents:,} documents); make it anew"
            )
        return self.view


def made_filter(
    index: Index, allowed: Allowed, counts: Counts = "collection", missing: Missing = "error"
) -> Filter:
    """A filter of an index.

    Args:
        index: which.
        allowed: ids of the documents to search within, in any order, or a condition on stored fields, such as
            `pyarrow.compute.field("year") > 2000`; `id` is a field, too.
        counts: whose F(n) and N the weights take; see `View`.
        missing: what to do with ids that the index does not have: "error", or "skip" them.

    Raises:
        InputError: an id is not there.
        ArgumentError: `allowed` holds something else than ids, or a condition does not fit the stored fields.
        UsageError: `counts` or `missing` is none of its choices.
        IndexDirError: a file is damaged.
    """
    choice(counts, "counts", get_args(Counts))
    choice(missing, "missing", get_args(Missing))
    if isinstance(allowed, pc.Expression):
        return Filter(view_of(index, index.matching(allowed), counts))
    return Filter(view_of(index, _with_ids(index, allowed, missing), counts))


def _with_ids(index: Index, allowed: Iterable[str], missing: Missing) -> Ints:
    listed = sorted(allowed) if isinstance(allowed, set | frozenset) else allowed
    docids = list(dict.fromkeys(texts(listed, "filter")))
    numbers = index.numbers_of(docids)
    if missing == "error" and len(numbers) < len(docids):
        absent = next(docid for docid in docids if index.number(docid) is None)
        raise InputError(
            f"{index.directory}: has no document with the id {shown(absent)}, and so"
            f" {len(docids) - len(numbers):,} of {len(docids):,} ids of the filter; take them out of it"
            ' (or make_filter with missing="skip")'
        )
    return numbers
