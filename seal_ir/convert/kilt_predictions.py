"""KILT's own files of a system's output: a datapoint a topic, with its answer and the pages of its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import atomic_writer, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.kilt import datapoint, read_guesses
from seal_ir.formats.runs.pages import fold_docids
from seal_ir.formats.runs.trec import has_datapoints, read_run, trec_order
from seal_ir.formats.topics.predictions import read_predictions
from seal_ir.formats.topics.reading import datapoint_inputs, read_topics


@dataclass(frozen=True, slots=True)
class OutputCounts:
    """What was written.

    Attributes:
        topics: datapoints, one a topic.
        with_pages: those with provenance.
        answered: those with an answer.
        unknown: topics of the run or of the predictions that are none of the topics, and were left out.
    """

    topics: int
    with_pages: int
    answered: int
    unknown: int

    def __str__(self) -> str:
        return (
            f"{self.topics:,} topics, {self.with_pages:,} with pages, {self.answered:,} with an answer;"
            f" {self.unknown:,} other topics left out"
        )


def write_output(
    topics: Path,
    run: Path | None,
    predictions: Path | None,
    output: Path,
    *,
    delimiter: str | None = None,
    hits: int = 100,
) -> OutputCounts:
    """Writes a datapoint for every topic, in their order, as KILT's evaluation wants them.

    Args:
        topics: whose inputs are repeated; KILT's file has them with their marks.
        run: TREC's or KILT's, for the provenance; None for none.
        predictions: for the answers, "" for a topic that they lack; None for datapoints without answers.
        output: what to write.
        delimiter: passages are folded into pages at it; None takes their ids as they are.
        hits: pages a topic at most.

    Raises:
        InputError: a file cannot be read or breaks its format, or has none of the topics.
        UsageError: the output cannot be written.
    """
    queries = read_topics(topics := rereadable(topics))
    inputs = datapoint_inputs(topics, queries)
    pages = {} if run is None else _pages(rereadable(run), delimiter)
    answers = None if predictions is None else read_predictions(predictions)
    for path, found in ((run, pages), (predictions, answers)):
        _check(path, found or {}, inputs)
    with atomic_writer(output) as file:
        for qid, text in inputs.items():
            answer = None if answers is None else answers.get(qid, "")
            file.write(f"{datapoint(qid, text, pages.get(qid, ())[:hits], answer)}\n")
    return OutputCounts(
        len(inputs),
        sum(bool(pages.get(qid)) for qid in inputs),
        sum(bool((answers or {}).get(qid, "").strip()) for qid in inputs),
        len((pages.keys() | (answers or {}).keys()) - inputs.keys()),
    )


def _pages(run: Path, delimiter: str | None) -> dict[str, list[str]]:
    if has_datapoints(run):
        found = read_guesses(run)
    else:
        found = {qid: [docid for docid, _ in trec_order(rows)] for qid, rows in read_run(run).items()}
    return found if delimiter is None else {qid: fold_docids(ids, delimiter) for qid, ids in found.items()}


def _check(path: Path | None, found: Mapping[str, object], inputs: Mapping[str, str]) -> None:
    """Refuses a file of other topics."""
    if found and not found.keys() & inputs.keys():
        raise InputError(
            f"{path}: 0 of {len(inputs)} topics are here (they are like {shown(next(iter(inputs)))}, those"
            f" here like {shown(next(iter(found)))}); the ids must be equal"
        )
