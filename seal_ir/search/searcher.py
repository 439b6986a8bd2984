"""`SealSearcher`: Pyserini's searcher interface over the way from queries to rankings."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterable, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from seal_ir.arguments import ids, text, text_or_whole, texts, whole
from seal_ir.command import Progress
from seal_ir.decode.prompts import CutQueries
from seal_ir.decode.recorder import Decoding
from seal_ir.errors import ArgumentError
from seal_ir.explanation.documents import MOST_LACKING
from seal_ir.explanation.evidence import RankedEvidence
from seal_ir.explanation.values import Explanation
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.runs.pages import first_hits
from seal_ir.index.builder import BuildOptions
from seal_ir.index.document_checks import Given
from seal_ir.index.filters import Allowed, Filter, Missing, made_filter
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.making import asked_index
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index, registered
from seal_ir.index.view import Counts
from seal_ir.lm.protocols import Generator
from seal_ir.rank.weights import reduced
from seal_ir.records import Hit, Query, Ranked
from seal_ir.search.documents import SealDocument
from seal_ir.search.explaining import Question
from seal_ir.search.pipeline import QueryPipeline, warn

logger = logging.getLogger(__name__)


class SealSearcher(QueryPipeline):
    """Searches an index with a language model; a drop-in for Pyserini's `LuceneSearcher`.

    A query's hits depend on other queries, and on torch's threads, by the rounding of the model only, and
    with batch_size=1 not on other queries at all: docs/limits.md says what is the same byte for byte.

    Attributes:
        index_dir, index, config, batch_size: see `QueryPipeline`.
    """

    @classmethod
    def from_prebuilt_index(
        cls, prebuilt_index_name: str, verbose: bool = False, **options: Any
    ) -> SealSearcher:
        """A searcher on a registered index; see `list_prebuilt_indexes`.

        The demo index, which comes with this package, is built if it is not there.

        Raises:
            UsageError: unknown name, or the index has not been built; says how to build it.
        """
        places = Places.from_environment()
        asked_index(prebuilt_index_name, places)
        entry = named_index(prebuilt_index_name, places)
        if verbose:
            logger.info("%s: %s", entry.name, entry.description)
        return cls(entry.directory, **options)

    @classmethod
    def from_documents(
        cls,
        docs: Iterable[Given],
        model: str | Generator | None = None,
        *,
        fields: Iterable[str] = (),
        store: Iterable[str] = (),
        split: str | None = None,
        **options: Any,
    ) -> SealSearcher:
        """A searcher on documents that are indexed here and now, in a temporary folder that goes with it.

        Args:
            docs: each a `Document`, a dict (`id`, and `contents` or `title` and `text`) or the text of a JSON
                object.
            model: folder, hub name or packaged model, or a loaded model; default: the packaged one.
            fields: names of the documents' further fields.
            store: fields to keep for filters, NAME or NAME:TYPE each; see docs/filters.md.
            split: cut documents into passages, words:N or words:N:OVERLAP; see docs/index.md.
            **options: as for a searcher.

        Raises:
            ArgumentError: one of `docs` is no document, or there is none.
            InputError: two have the same id.
            ModelError: the model cannot be found.
        """
        folder = tempfile.mkdtemp(prefix="seal-ir-")
        try:
            whose = model if isinstance(model, str | os.PathLike | None) else model.tokenizer
            building = BuildOptions(fields=tuple(fields), store=tuple(store), split=split)
            with SealIndexer(Path(folder, "index"), whose, options=building) as writer:
                writer.add(docs)
                if not writer.n_documents:
                    raise ArgumentError("docs holds no document; give at least one")
            searcher = cls(Path(folder, "index"), model, **options)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(searcher, _remove, folder, os.getpid())
        return searcher

    @staticmethod
    def list_prebuilt_indexes() -> list[str]:
        """Names of the registered indexes."""
        return [entry.name for entry in registered(Places.from_environment())]

    @property
    def num_docs(self) -> int:
        """Number of documents in the index."""
        return self.index.n_documents

    def search(
        self,
        q: str,
        k: int = 10,
        query_generator: object = None,
        fields: dict[str, float] | None = None,
        strip_segment_id: bool = False,
        remove_dups: bool = False,
        *,
        filter: Filter | Allowed | None = None,  # noqa: A002 - Lucene's word
    ) -> list[Hit]:
        """The best documents for a query, best first.

        Args:
            q: the query.
            k: how many.
            query_generator: Lucene's; ignored with a warning.
            fields: Lucene's; ignored with a warning.
            strip_segment_id: cut docids at the first `#`.
            remove_dups: keep the first hit of each docid only.
            filter: search within these documents only: what `make_filter` made, or takes with its defaults.

        Raises:
            ArgumentError: q is no text, or k no integer from 1 on.
            SealError: as `make_filter`; or the filter was made for another state of the index.
        """
        _warn_ignored(query_generator=query_generator, fields=fields)
        (hits,) = self._search([Query("", text(q, "q"))], k, CutQueries(""), filter)
        if strip_segment_id:
            for hit in hits:
                hit.docid = hit.docid.split("#")[0]
        return first_hits(hits) if remove_dups else hits

    def batch_search(
        self,
        queries: Iterable[str],
        qids: Iterable[str] | None = None,
        k: int = 10,
        threads: int = 1,
        query_generator: object = None,
        fields: dict[str, float] | None = None,
        *,
        q_ids: Iterable[str] | None = None,
        progress: bool = False,
        filter: Filter | Allowed | None = None,  # noqa: A002 - Lucene's word
    ) -> dict[str, list[Hit]]:
        """`search` for many queries; every qid is in the result, in the order given.

        Args:
            queries: the queries, in anything that has an order: a list, a pandas Series, a generator...
            qids: their ids by position (FaissSearcher's spelling `q_ids` is understood too); integers, which
                Pyserini makes of topics' ids, stay integers.
            k: hits per query.
            threads: threads that rank, while the model writes the next batch's keys; the model's own are
                torch's (`torch.set_num_threads`).
            query_generator: Lucene's; ignored with a warning.
            fields: Lucene's; ignored with a warning.
            q_ids: see `qids`.
            progress: show on stderr how many queries are done.
            filter: see `search`.

        Raises:
            ArgumentError: a query is no text, or there are not as many ids as queries, each once; k or
                threads is no integer from 1 on.
            SealError: see `search`.
        """
        _warn_ignored(query_generator=query_generator, fields=fields)
        asked = texts(queries, "queries")
        known = ids(qids if qids is not None else q_ids if q_ids is not None else (), "qids")
        if len(known) != len(asked):
            raise ArgumentError(f"{len(asked)} queries need as many distinct ids, not {len(known)}")
        topics = [Query(*topic) for topic in zip(known, asked, strict=True)]
        told = Progress(len(topics), "queries") if progress else None
        return dict(zip(known, self._search(topics, k, CutQueries(), filter, threads, told), strict=True))

    def explain(
        self,
        query: str,
        docid: str,
        k: int = 10,
        *,
        filter: Filter | Allowed | None = None,  # noqa: A002 - Lucene's word
        decoding: bool = False,
        n_lacking: int = MOST_LACKING,
    ) -> Explanation:
        """Why a document ranks where it does for a query, or why it does not.

        Takes about twice as long as a search: for the rank of a document beyond k all candidates are scored.

        Args:
            query: the query.
            docid: the document, ranked or not, in the index or not.
            k: hits that `search` was asked for.
            filter: see `search`.
            decoding: record how the model wrote the keys, too; several times as long.
            n_lacking: most keys to name that the document does not hold.

        Raises:
            ArgumentError: query or docid is no text, or k or n_lacking no such number.
            UsageError: the preset is a baseline for benchmarks, which has no explanations.
            SealError: see `search`.
        """
        asked = text(query, "query"), text(docid, "docid"), whole(k, "k", 1)
        question = Question(*asked, bool(decoding), whole(n_lacking, "n_lacking", 0))
        return self._pinned(filter).explanation(question)

    def trace(self, query: str, *, filter: Filter | Allowed | None = None) -> Decoding:  # noqa: A002
        """How the model writes a query's keys: what it wants at each step, and what the index allows.

        Args:
            query: the query.
            filter: see `search`; what is written occurs within it.

        Raises:
            ArgumentError: the query is no text.
            UsageError: the preset is a baseline for benchmarks, which has no such record.
            SealError: see `search`.
        """
        return self._pinned(filter).recorded(text(query, "query"))

    def make_filter(
        self, allowed: Allowed, *, counts: Counts = "collection", missing: Missing = "error"
    ) -> Filter:
        """Find the documents to search within once, for any number of queries; docs/filters.md says how long.

        Args:
            allowed: their ids, in any order, or a condition on stored fields as an expression of
                `pyarrow.compute`, such as `pc.field("year") > 2000`.
            counts: whose counts F(n) and N the weights of keys take: the whole "collection"'s, or those
                within the "filter", as an index of these documents alone would have them.
            missing: what to do with ids that the index does not have: "error", or "skip" them.

        Raises:
            InputError: an id is not there.
            ArgumentError: `allowed` holds something else than ids, or the condition does not fit the fields.
            UsageError: `counts` or `missing` is none of its choices.
        """
        return made_filter(self.index, allowed, counts, missing)

    def doc(self, docid: str | int) -> SealDocument | None:
        """A document by its id (str) or internal number (int); None if there is none.

        Raises:
            ArgumentError: neither text nor an integer.
        """
        known, index = text_or_whole(docid, "docid"), self.index
        number = index.number(known) if isinstance(known, str) else known
        if number is None or not 0 <= number < index.n_documents:
            return None
        return _documents(index, [number])[0]

    def batch_doc(self, docids: Iterable[str], threads: int = 1) -> dict[str, SealDocument]:
        """The documents of several ids; absent ids are left out. `threads` is there for Pyserini.

        Raises:
            ArgumentError: an id is no text.
        """
        index = self.index
        known = {docid: index.number(docid) for docid in texts(docids, "docids")}
        present = {docid: number for docid, number in known.items() if number is not None}
        return dict(zip(present, _documents(index, list(present.values())), strict=True))

    def hits(self, ranked: Sequence[Ranked], *, texts: bool = True) -> list[Hit]:
        """Hits of ranked documents, with their texts unless `texts` is false."""
        if not texts:
            return self.bare_hits(ranked)
        index, config = self.index, self.config.rank
        found = _documents(index, [item.document for item in ranked])
        hits = []
        for item, entry in zip(reduced(ranked), found, strict=True):
            why = RankedEvidence(index, config, entry.document, item)
            hits.append(
                Hit(entry.docid(), item.score, item.document, entry.contents(), entry.raw(), entry, why)
            )
        return hits

    def close(self) -> None:
        """Let go of a model that was loaded here; the next query loads it again.

        The index is mapped or held by this object and goes with it.
        """
        self._snapshot.model.release()

    def __enter__(self) -> SealSearcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pinned(self, allowed: Filter | Allowed | None) -> Self:
        """This searcher with the index as it is now, whatever refreshes it; within a filter, if any."""
        pinned = copy(self)
        if allowed is None:
            return pinned
        made = allowed if isinstance(allowed, Filter) else made_filter(pinned.index, allowed)
        return pinned.within(made)

    def _search(
        self,
        queries: Sequence[Query],
        k: int,
        cut: CutQueries,
        allowed: Filter | Allowed | None = None,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> list[list[Hit]]:
        """The hits of each query; says which were cut, by what `cut` calls them."""
        found = []
        pinned = self._pinned(allowed)
        with closing(pinned.ranked_batches(queries, k, cut, threads=threads)) as batches:
            for batch in batches:
                found += [pinned.hits(ranking) for (ranking,) in batch.rankings]
                if progress is not None:
                    progress.advance(len(batch.queries))
        if progress is not None:
            progress.close()
        warn(cut.sentence())
        return found


def _documents(index: Index, numbers: Sequence[int]) -> list[SealDocument]:
    rows = zip(index.documents(numbers), index.stored_values(numbers), index.raws(numbers), strict=True)
    return [SealDocument(document._replace(stored=stored), raw) for document, stored, raw in rows]


def _remove(folder: str, process: int) -> None:
    """Remove a searcher's temporary folder, unless this is a process that was forked from its own."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _warn_ignored(**options: object) -> None:
    for name, value in options.items():
        if value:
            warnings.warn(f"SealSearcher ignores {name}: it is Lucene's", stacklevel=3)
