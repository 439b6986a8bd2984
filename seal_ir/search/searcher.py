"""`SealSearcher`: Pyserini's searcher interface over decoding and ranking. No algorithm in here."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from seal_ir.arguments import ids, instance, instances, text, text_or_whole, texts, whole
from seal_ir.config import DEFAULT_BATCH_SIZE, SearchConfig, chosen
from seal_ir.decode.beam import Decoded
from seal_ir.decode.cuts import cut_sentence
from seal_ir.decode.rescore import rescore
from seal_ir.errors import ArgumentError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.registry import named_index, opened, registered
from seal_ir.lm.protocols import Generator
from seal_ir.progress import Progress
from seal_ir.published import rank as published_ranking
from seal_ir.rank.ranker import rank
from seal_ir.rank.streams import Streams
from seal_ir.records import Hit, QueryKeys, Ranked
from seal_ir.search.documents import SealDocument
from seal_ir.search.model import LazyGenerator, settings_for
from seal_ir.search.pipeline import batched, overlapped

logger = logging.getLogger(__name__)


class SealSearcher:
    """Searches an index with a language model; a drop-in for Pyserini's `LuceneSearcher`.

    The model is loaded when the first query comes. A query's hits depend on other queries, and
    on torch's threads, by the rounding of the model only, and with batch_size=1 not on other queries at all:
    docs/limits.md says what is the same byte for byte. A searcher may be used from several threads.

    Attributes:
        index: the open index.
        config: preset and settings.
        batch_size: queries decoded together.
    """

    def __init__(
        self,
        index_dir: str | Path,
        model: str | Generator | None = None,
        *,
        preset: str = "intersective",
        config: SearchConfig | None = None,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Open an index.

        Args:
            index_dir: an index directory.
            model: folder, hub name or packaged model, or a loaded model; default: the model that the
                index was built for.
            preset: "lm", "lm-fm", "intersective" or "paper"; "published" is a slow baseline for benchmarks.
            config: settings instead of a preset.
            device: where the model runs; default: CUDA where there is one.
            dtype: "float32" (default), "bfloat16", "float16" or "auto"; see `load_generator`.
            batch_size: queries decoded together.

        Raises:
            IndexDirError: there is no sound index.
            UsageError: unknown preset.
            ArgumentError: batch_size is less than 1, or an argument is of a type that means nothing.
        """
        self.batch_size = whole(batch_size, "batch_size", 1)
        self.config = chosen(preset, config)
        self.index_dir = str(index_dir)
        started = time.monotonic()
        self.index = opened(index_dir)
        logger.info(
            "opened %s: %d documents, %.1f s", self.index_dir, self.num_docs, time.monotonic() - started
        )
        self._model = LazyGenerator(self.index, model, device, dtype)
        self._streams = Streams(self.index)  # texts of candidates, which recur from query to query

    @classmethod
    def from_prebuilt_index(
        cls, prebuilt_index_name: str, verbose: bool = False, **options: Any
    ) -> SealSearcher:
        """A searcher on a registered index; see `list_prebuilt_indexes`.

        Raises:
            UsageError: unknown name, or the index has not been built; says how to build it.
        """
        entry = named_index(prebuilt_index_name, Places.from_environment())
        if verbose:
            logger.info("%s: %s", entry.name, entry.description)
        return cls(entry.directory, **options)

    @staticmethod
    def list_prebuilt_indexes() -> list[str]:
        """Names of the registered indexes."""
        return [entry.name for entry in registered(Places.from_environment())]

    @property
    def num_docs(self) -> int:
        """Number of documents in the index."""
        return self.index.n_documents

    @property
    def generator(self) -> Generator:
        """The language model, loaded on first use.

        Raises:
            ModelError: it cannot be loaded, or has another tokenizer than the index.
        """
        return self._model.get()

    def search(
        self,
        q: str,
        k: int = 10,
        query_generator: object = None,
        fields: dict[str, float] | None = None,
        strip_segment_id: bool = False,
        remove_dups: bool = False,
    ) -> list[Hit]:
        """The best documents for a query, best first.

        Args:
            q: the query.
            k: how many.
            query_generator: Lucene's; ignored with a warning.
            fields: Lucene's; ignored with a warning.
            strip_segment_id: cut docids at the first `#`.
            remove_dups: keep the first hit of each docid only.

        Raises:
            ArgumentError: q is no text, or k no integer from 1 on.
        """
        _warn_ignored(query_generator=query_generator, fields=fields)
        hits = self.hits(self._ranked([text(q, "q")], k)[0])
        return _folded(hits, strip_segment_id, remove_dups)

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

        Raises:
            ArgumentError: a query is no text, or there are not as many ids as queries, each once; k or
                threads is no integer from 1 on.
        """
        _warn_ignored(query_generator=query_generator, fields=fields)
        asked = texts(queries, "queries")
        known = ids(qids if qids is not None else q_ids if q_ids is not None else (), "qids")
        if len(known) != len(asked):
            raise ArgumentError(f"{len(asked)} queries need as many distinct ids, not {len(known)}")
        told = Progress(len(asked), "queries") if progress else None
        ranked = self._ranked(asked, k, threads, known, told)
        return {qid: self.hits(results) for qid, results in zip(known, ranked, strict=True)}

    def doc(self, docid: str | int) -> SealDocument | None:
        """A document by its id (str) or internal number (int); None if there is none.

        Raises:
            ArgumentError: neither text nor an integer.
        """
        known = text_or_whole(docid, "docid")
        number = self.index.number(known) if isinstance(known, str) else known
        if number is None or not 0 <= number < self.num_docs:
            return None
        return SealDocument(self.index.documents([number])[0], self.index.raws([number])[0])

    def batch_doc(self, docids: Iterable[str], threads: int = 1) -> dict[str, SealDocument]:
        """The documents of several ids; absent ids are left out. `threads` is there for Pyserini.

        Raises:
            ArgumentError: an id is no text.
        """
        known = {docid: self.index.number(docid) for docid in texts(docids, "docids")}
        present = {docid: number for docid, number in known.items() if number is not None}
        numbers = list(present.values())
        documents, raws = self.index.documents(numbers), self.index.raws(numbers)
        found = [SealDocument(*entry) for entry in zip(documents, raws, strict=True)]
        return dict(zip(present, found, strict=True))

    def decode(self, queries: Iterable[str]) -> list[QueryKeys]:
        """The keys that the model writes for each query, for `rank`; one batch.

        Raises:
            ArgumentError: a query is no text.
            ModelError: the model cannot be loaded, does not fit the index, or gives no numbers.
        """
        asked = texts(queries, "queries")
        decoded = self.decode_counted(asked)
        _warn(cut_sentence(decoded.cut, None, len(asked)))
        return decoded.queries

    def decode_counted(self, queries: Iterable[str]) -> Decoded:
        """`decode`, and which queries were cut, without a warning: many batches are told of at once."""
        return self._model.decode(texts(queries, "queries"), self.config)

    def rescore(self, queries: Iterable[str], keys: Iterable[QueryKeys]) -> list[QueryKeys]:
        """Keys, from wherever they are, with the probabilities that this searcher's model gives them.

        Raises:
            ArgumentError: a query is no text, or an entry of `keys` no `QueryKeys`.
            UsageError: not as many lists of keys as queries, or a key that is none.
        """
        asked, found = texts(queries, "queries"), instances(keys, QueryKeys, "keys")
        rescored = rescore(self.generator, asked, found, settings_for(self.index, self.config))
        _warn(cut_sentence(rescored.cut, None, len(asked)))
        return rescored.queries

    def rank(self, keys: QueryKeys, k: int, config: SearchConfig | None = None) -> list[Ranked]:
        """The best k documents for a query's keys, under `config` or the searcher's own.

        Raises:
            ArgumentError: k is no integer from 1 on, or `keys` or `config` is something else.
        """
        instance(keys, QueryKeys, "keys")
        under = self.config if config is None else instance(config, SearchConfig, "config")
        k = min(whole(k, "k", 1), self.num_docs)
        if under.slow_path:
            return published_ranking.rank(self.index, keys, under.rank, k)
        return rank(self.index, keys, under.rank, k, streams=self._streams)

    def hits(self, ranked: Sequence[Ranked], *, texts: bool = True) -> list[Hit]:
        """Hits of ranked documents, with their texts unless `texts` is false."""
        if not texts:
            return [Hit(self.index.docid(item.document), item.score, item.document) for item in ranked]
        numbers = [item.document for item in ranked]
        documents, raws = self.index.documents(numbers), self.index.raws(numbers)
        found = [SealDocument(*entry) for entry in zip(documents, raws, strict=True)]
        return [
            Hit(entry.docid(), item.score, item.document, entry.contents(), entry.raw(), entry)
            for item, entry in zip(ranked, found, strict=True)
        ]

    def close(self) -> None:
        """Let go of a model that was loaded here; the next query loads it again.

        The index is mapped or held by this object and goes with it.
        """
        self._model.release()

    def __enter__(self) -> SealSearcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ranked(
        self,
        queries: Sequence[str],
        k: int,
        threads: int = 1,
        qids: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> list[list[Ranked]]:
        k, threads = whole(k, "k", 1), whole(threads, "threads", 1)
        results: list[list[Ranked]] = []
        cut: dict[int, int] = {}
        n_decoded = 0

        def keys(batch: Sequence[str]) -> list[QueryKeys]:
            nonlocal n_decoded
            decoded = self.decode_counted(batch)
            cut.update({n_decoded + place: limit for place, limit in decoded.cut.items()})
            n_decoded += len(batch)
            return decoded.queries

        batches = batched(queries, self.batch_size)
        with closing(overlapped(batches, keys, lambda item: self.rank(item, k), threads)) as ranked:
            for _, batch_results in ranked:
                results.extend(batch_results)
                if progress is not None:
                    progress.advance(len(batch_results))
        if progress is not None:
            progress.close()
        _warn(cut_sentence(cut, qids, len(queries)))
        return results


def _warn(sentence: str) -> None:
    if sentence:
        logger.warning("%s", sentence)


def _warn_ignored(**options: object) -> None:
    for name, value in options.items():
        if value:
            warnings.warn(f"SealSearcher ignores {name}: it is Lucene's", stacklevel=3)


def _folded(hits: list[Hit], strip_segment_id: bool, remove_dups: bool) -> list[Hit]:
    seen: set[str] = set()
    kept = []
    for hit in hits:
        if strip_segment_id:
            hit.docid = hit.docid.split("#")[0]
        if not (remove_dups and hit.docid in seen):
            kept.append(hit)
        seen.add(hit.docid)
    return kept
