"""Runs of any system written in another format; texts of passages are the run's own or a collection's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.io.files import shown
from seal_ir.formats.runs.others import RankedRun, read_ranked
from seal_ir.formats.runs.passages import PassageWriter
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS, Asked, Passage
from seal_ir.formats.runs.trec import RunWriter
from seal_ir.records import Hit, Query

NEED_TOPICS = (*PASSAGE_FORMATS, "kilt")  # formats in which the question stands


class Converted(NamedTuple):
    """What became of a run.

    Attributes:
        topics: written.
        without: those of them without results.
        unknown: topics of the run that are none of those given, and are left out.
    """

    topics: int
    without: int
    unknown: int


def convert_run(
    run: Path,
    output: Path,
    output_format: str,
    topics: Sequence[Query] | None,
    texts: tuple[str, Path] | None,
    *,
    answers: Mapping[str, Sequence[str]],
    tag: str,
) -> Converted:
    """Write a run in another format, topics in the order of their file, or else of the run.

    Args:
        run: of any format that `read_ranked` reads.
        output: where to.
        output_format: of a run, or of passages.
        topics: to write; those without results too, where the format has them. None: those of the run.
        texts: kind and path of a collection, for the texts of passages that the run brings none of.
        answers: of topics; they stand in some formats.
        tag: the last column of a TREC run.

    Raises:
        InputError: a file cannot be read, or a passage has no text anywhere.
        UsageError: the format is unknown, or the file cannot be written.
    """
    found = read_ranked(run, None if topics is None else dict(topics))
    queries = [Query(qid, "") for qid in found.rankings] if topics is None else list(topics)
    if output_format in PASSAGE_FORMATS:
        _write_passages(output, output_format, queries, answers, _with_texts(run, found, queries, texts))
    else:
        with RunWriter(output, tag=tag, output_format=output_format, inputs=dict(queries)) as writer:
            for query in queries:
                entries = found.rankings.get(query.id, [])
                if entries or output_format == "kilt":
                    writer.write(query.id, [Hit(docid, score) for docid, score in entries])
    known = {query.id for query in queries}
    without = sum(not found.rankings.get(query.id) for query in queries)
    return Converted(len(queries), without, sum(qid not in known for qid in found.rankings))


def _with_texts(
    path: Path, run: RankedRun, queries: Iterable[Query], source: tuple[str, Path] | None
) -> RankedRun:
    """The run with the texts of all passages of these topics; a collection is read through once for them."""
    docids = (docid for query in queries for docid, _ in run.rankings.get(query.id, ()))
    lacking = dict.fromkeys(docid for docid in docids if docid not in run.texts)
    texts = dict(run.texts)
    if source is not None and lacking:
        options = ReadOptions(malformed="skip", include_ids=frozenset(lacking))
        texts |= {document.id: (document.title, document.text) for document in Collection(*source, options)}
    absent = [docid for docid in lacking if docid not in texts]
    if absent:
        where = "name the collection with --input" if source is None else f"nor in {source[1]}"
        raise InputError(
            f"{path}: {len(absent)} of its passages, such as {shown(absent[0])}, have no text there; {where}"
        )
    return RankedRun(run.rankings, texts)


def _write_passages(
    output: Path,
    output_format: str,
    queries: Sequence[Query],
    answers: Mapping[str, Sequence[str]],
    run: RankedRun,
) -> None:
    asked = {query.id: Asked(query.id, query.text, answers.get(query.id)) for query in queries}
    with PassageWriter(output, output_format, asked) as writer:
        for query in queries:
            entries = run.rankings.get(query.id, ())
            writer.write(query.id, [Passage(docid, -1, score, *run.texts[docid]) for docid, score in entries])
