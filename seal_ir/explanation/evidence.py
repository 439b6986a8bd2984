"""What a hit answers from when it is asked for its keys; nothing is worked out before."""

from __future__ import annotations

from typing import Any

from seal_ir.arguments import whole
from seal_ir.config import RankConfig
from seal_ir.explanation.html import hit_html
from seal_ir.explanation.keys import contents_of, ranked_keys
from seal_ir.explanation.marks import highlights, snippet
from seal_ir.index.reader import Index
from seal_ir.records import Document, Highlight, Hit, HitKey, Ranked


class KnownEvidence:
    """Keys that are there already; see `records.Evidence`.

    Attributes:
        contents: what positions are in.
        keys: of a hit.
    """

    def __init__(self, contents: str, keys: tuple[HitKey, ...]) -> None:
        """Keep them."""
        self.contents, self._keys = contents, keys

    @property
    def keys(self) -> tuple[HitKey, ...]:
        """See `Hit.keys`."""
        return self._keys

    def highlights(self, unigrams: bool) -> list[Highlight]:
        """See `Hit.highlights`."""
        return highlights(self.contents, self.keys, unigrams)

    def snippet(self, length: int, before: str, after: str) -> str:
        """See `Hit.snippet`.

        Raises:
            ArgumentError: length is no integer from 1 on.
        """
        return snippet(self.contents, self.keys, whole(length, "length", 1), before, after)

    def html(self, hit: Hit) -> str:
        """See `Hit._repr_html_`."""
        return hit_html(hit.docid, hit.score, self.contents, self.keys)


class RankedEvidence(KnownEvidence):
    """The keys of a ranked document, found when they are first asked for.

    It holds on to the index as it was, and to no more of the query than its hits need. Pickled, it finds the
    keys first, as an index does not travel; copied it stays the same.
    """

    def __init__(self, index: Index, config: RankConfig, document: Document, ranked: Ranked) -> None:
        """Find nothing yet."""
        super().__init__(contents_of(document), ())
        self._index, self._config, self._document, self._ranked = index, config, document, ranked
        self._found: tuple[HitKey, ...] | None = None

    @property
    def keys(self) -> tuple[HitKey, ...]:
        """See `Hit.keys`."""
        if self._found is None:  # two threads find the same
            number, score, matched = self._ranked
            self._found = ranked_keys(self._index, self._config, number, self._document, matched, score)
        return self._found

    def __deepcopy__(self, memo: dict[int, Any]) -> RankedEvidence:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return KnownEvidence, (self.contents, self.keys)
