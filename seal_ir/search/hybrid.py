"""The other half of a hybrid search: a run of BM25's, or one from a file, that SEAL's hits are fused with."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from seal_ir.command import Progress
from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.formats.io.files import is_file, shown, utf8
from seal_ir.formats.runs.trec import read_run
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.pyserini_plugin import check_installed, is_lucene_index, start_java
from seal_ir.records import Hit, Query
from seal_ir.search.bm25 import Bm25Config, lucene_twin, search
from seal_ir.search.fusion import Entry, Fusion, best, fuse

BM25 = "bm25"
_DEEPER = 8  # how much more of BM25's hits are looked at where a filter leaves too few


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A run to fuse with, and how.

    Attributes:
        run: entries of each topic, best first, at most `depth`.
        fusion: the method.
        depth: hits of either ranking that are fused, and hits that come out.
        about: where the run is from.
    """

    run: Mapping[str, Sequence[Entry]]
    fusion: Fusion
    depth: int
    about: Mapping[str, Any]

    def rankings(self, qid: str, by_config: Sequence[list[Hit]]) -> list[list[Hit]]:
        """Each of SEAL's rankings of a topic fused with the run's; then these themselves, and the run's."""
        other = self.run.get(qid, ())
        fused = [
            _hits(fuse([(hit.docid, hit.score) for hit in hits], other, self.fusion)[: self.depth])
            for hits in by_config
        ]
        return [*fused, *by_config, _hits(other)]

    def description(self) -> dict[str, Any]:
        """All that is needed to fuse again, for the record beside the run."""
        settings = asdict(self.fusion)
        del settings["alpha" if self.fusion.method == "rrf" else "rrf_k"]
        return {**self.about, **settings, "depth": self.depth}


def is_searched(source: str) -> bool:
    """Whether `--fuse` names what BM25 searches, not a run file."""
    return source == BM25 or Path(source).is_dir()


def name_of(source: str) -> str:
    """What `--fuse` names, as one word, for tags."""
    return BM25 if is_searched(source) else "_".join(utf8(Path(source).stem).split())


def hybrid_with(
    source: str, index: Index, topics: Sequence[Query], fusion: Fusion, config: Bm25Config, folder: Path
) -> Hybrid:
    """What `--fuse` names, read or searched now, before the model has begun.

    Args:
        source: "bm25" for BM25 over the documents of the index, or a Lucene index, or a run in TREC format.
        index: SEAL's, or a view of it, which the other ranking is then cut down to as well.
        topics: to search.
        fusion: the method.
        config: BM25's; its hits are the depth of the fusion, of a run from a file too.
        folder: where the Lucene index of the index's documents is kept once it has been built.

    Raises:
        InputError: a run that cannot be read, or of other topics or another collection.
        IndexDirError: a Lucene index that cannot be built or read.
        UsageError: there is nothing of that name, or Lucene is wanted and Pyserini or Java is missing.
    """
    if is_searched(source):
        check_installed()
        lucene = lucene_twin(index, folder, config.threads) if source == BM25 else Path(source)
        if not is_lucene_index(lucene):
            raise IndexDirError(f"{source}: holds no Lucene index; --fuse bm25 builds one")
        return _with_bm25(lucene, topics, fusion, config, index)
    if is_file(Path(source)):
        return _with_file(Path(source), topics, fusion, config.hits, index)
    raise UsageError(
        f"--fuse {shown(source)}: no such file; give bm25, a run in TREC format or a Lucene index"
    )


def _with_bm25(
    lucene: Path, topics: Sequence[Query], fusion: Fusion, config: Bm25Config, index: Index
) -> Hybrid:
    """Searched deeper for topics of which the filter leaves less than there might be."""
    start_java()  # ten seconds that are not the first query's
    progress = Progress(len(topics), "BM25 queries")
    run: dict[str, list[Entry]] = {}
    left, depth = topics, config.hits
    while left:
        found: dict[Query, list[Entry]] = {}
        for topic, hits in search(lucene, left, replace(config, hits=depth)):
            found[topic] = [(hit.docid, hit.score) for hit in hits]
            progress.advance(int(topic.id not in run))
            run[topic.id] = _within(index, found[topic])[: config.hits]
        if depth == config.hits:
            _check_documents(found.values(), str(lucene), index)
        left = [t for t in left if len(found[t]) == depth and len(run[t.id]) < config.hits]
        depth *= _DEEPER
    progress.close()
    about = {"with": BM25, "lucene": utf8(lucene), "k1": config.k1, "b": config.b}
    return Hybrid(run, fusion, config.hits, about)


def _with_file(path: Path, topics: Sequence[Query], fusion: Fusion, depth: int, index: Index) -> Hybrid:
    """Lines count by their scores, not by their ranks; those of equal score in the order of the file."""
    run = read_run(path)
    known = {topic.id: run[topic.id] for topic in topics if topic.id in run}
    if not known:
        its, ours = next(iter(run), None), next((topic.id for topic in topics), None)
        raise InputError(
            f"{path}: none of its {len(run)} topics (first {shown(its)}) is among the {len(topics)} to "
            f"search (first {shown(ours)}); give a run for these topics"
        )
    _check_documents(known.values(), str(path), index)
    n_absent = len(topics) - len(known)
    if n_absent:
        sys.stderr.write(f"{path}: {n_absent} of {len(topics)} topics are not in it and keep SEAL's hits\n")
    kept = {qid: best(_within(index, entries), depth) for qid, entries in known.items()}
    return Hybrid(kept, fusion, depth, {"with": utf8(path)})


def _within(index: Index, entries: list[Entry]) -> list[Entry]:
    """Those of documents that the index, or the view of it, is searched for."""
    if not isinstance(index, View):
        return entries
    return [entry for entry in entries if index.allows(entry[0])]


def _hits(entries: Sequence[Entry]) -> list[Hit]:
    """Hits without texts."""
    return [Hit(docid, score) for docid, score in entries]


def _check_documents(run: Iterable[Sequence[Entry]], source: str, index: Index) -> None:
    """Refuse a ranking that has no document in common with the index; one is enough."""
    docids = [docid for entries in run for docid, _ in entries]
    if docids and all(index.number(docid) is None for docid in docids):
        raise InputError(
            f"{source}: none of its documents (first {shown(docids[0])}) is in {index.directory}; "
            "fuse rankings of one collection"
        )
