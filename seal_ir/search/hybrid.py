"""The other part of a hybrid search: BM25's run, or runs from files, that SEAL's hits are fused with."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.command import Progress
from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.formats.io.files import is_file, shown, utf8
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.runs.others import is_json_run, read_ranked
from seal_ir.formats.runs.trec import read_run
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.pyserini_plugin import check_installed, is_lucene_index, start_java
from seal_ir.records import Hit, Query
from seal_ir.search.bm25 import Bm25Config, lucene_twin, search
from seal_ir.search.fusion import Entry, Fusion, best, fuse_all

BM25 = "bm25"
_DEEPER = 8  # how much more of BM25's hits are looked at where a filter leaves too few


class Other(NamedTuple):
    """A run that SEAL's hits are fused with.

    Attributes:
        run: entries of each topic, best first, as many as are fused or written.
        searched: whether it was made here, and is worth writing.
        about: where it is from.
    """

    run: Mapping[str, Sequence[Entry]]
    searched: bool
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The runs to fuse with, and how.

    Attributes:
        others: the runs, in the order of their weights.
        fusion: the method.
        hits: that come out.
    """

    others: Sequence[Other]
    fusion: Fusion
    hits: int

    def fused(self, qid: str, entries: Sequence[Entry], fusion: Fusion | None = None) -> list[Entry]:
        """SEAL's ranking of a topic fused with those of the runs, by `fusion` or its own."""
        fusion = fusion or self.fusion
        depth = fusion.depth or self.hits
        rankings = [entries, *(other.run.get(qid, ()) for other in self.others)]
        return fuse_all([ranking[:depth] for ranking in rankings], fusion)[: self.hits]

    def rankings(self, qid: str, by_config: Sequence[list[Hit]]) -> list[list[Hit]]:
        """Each of SEAL's rankings of a topic fused with the runs'; then these, and those searched here."""
        fused = [_hits(self.fused(qid, [(hit.docid, hit.score) for hit in hits])) for hits in by_config]
        single = [hits[: self.hits] for hits in by_config]
        searched = [other.run.get(qid, ())[: self.hits] for other in self.others if other.searched]
        return [*fused, *single, *map(_hits, searched)]

    def description(self) -> dict[str, Any]:
        """All that is needed to fuse again, for the record beside the run."""
        abouts = [dict(other.about) for other in self.others]
        about = abouts[0] if len(abouts) == 1 else {"with": abouts}
        return {**about, **self.fusion.settings(), "depth": self.fusion.depth or self.hits}


def is_searched(source: str) -> bool:
    """Whether `--fuse` names what BM25 searches, not a run file."""
    return source == BM25 or Path(source).is_dir()


def name_of(source: str) -> str:
    """What `--fuse` names, as one word, for tags."""
    return BM25 if is_searched(source) else "_".join(utf8(Path(source).stem).split())


def hybrid_with(
    sources: Sequence[str],
    index: Index,
    topics: Sequence[Query],
    fusion: Fusion,
    config: Bm25Config,
    folder: Path,
) -> Hybrid:
    """What `--fuse` names, read or searched now, before the model has begun.

    Args:
        sources: each "bm25" for BM25 over the documents of the index, or a Lucene index, or a run of any
            format that `read_ranked` reads.
        index: SEAL's, or a view of it, which the other rankings are then cut down to as well.
        topics: to search.
        fusion: the method.
        config: BM25's; its hits are those that come out of the fusion.
        folder: where the Lucene index of the index's documents is kept once it has been built.

    Raises:
        InputError: a run that cannot be read, or of other topics or another collection.
        IndexDirError: a Lucene index that cannot be built or read.
        UsageError: there is nothing of that name, or Lucene is wanted and Pyserini or Java is missing; the
            fusion has weights for another number of rankings.
    """
    fusion.check_number(1 + len(sources))
    absent = next(
        (source for source in sources if not is_searched(source) and not is_file(Path(source))), None
    )
    if absent is not None:
        raise UsageError(f"--fuse {shown(absent)}: no such file; give bm25, a run or a Lucene index")
    deep = replace(config, hits=max(config.hits, fusion.depth))
    others = [_other(source, index, topics, deep, folder) for source in sources]
    return Hybrid(others, fusion, config.hits)


def _other(source: str, index: Index, topics: Sequence[Query], config: Bm25Config, folder: Path) -> Other:
    if is_searched(source):
        check_installed()
        lucene = lucene_twin(index, folder, config.threads) if source == BM25 else Path(source)
        if not is_lucene_index(lucene):
            raise IndexDirError(f"{source}: holds no Lucene index; --fuse bm25 builds one")
        return _with_bm25(lucene, topics, config, index)
    return _with_file(Path(source), topics, config.hits, index)


def _with_bm25(lucene: Path, topics: Sequence[Query], config: Bm25Config, index: Index) -> Other:
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
    return Other(run, True, about)


def _with_file(path: Path, topics: Sequence[Query], depth: int, index: Index) -> Other:
    """Lines count by their scores, not by their ranks; those of equal score in the order of the file."""
    path = rereadable(path)
    run = read_ranked(path, dict(topics)).rankings if is_json_run(path) else read_run(path)
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
    return Other(kept, False, {"with": utf8(path)})


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
