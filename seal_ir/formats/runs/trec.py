"""Runs and qrels of trec_eval: any white space between columns; written so that every tool sees our order."""

from __future__ import annotations

import logging
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import BOM_TEXT, AtomicFile, first_line, iter_lines, listed, named, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.jsonlines import parse_object
from seal_ir.formats.kilt import datapoint, provenance_qrels
from seal_ir.records import Hit

logger = logging.getLogger(__name__)

OUTPUT_FORMATS = ("trec", "msmarco", "kilt")
_BEIR_COLUMNS = ("query-id", "corpus-id", "score")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MAX_DIGITS = 10  # a rank with more is none
_SINGLE = struct.Struct("<f")
_STEP = 1e-6  # the last printed decimal
_MAX_SCORE = 1e38  # float32 ends at 3.4e38; below this there is room to lower ties

Told = Callable[[str], None]  # hears what a file has wrong that it can be read with, in one line


def warn(sentence: str) -> None:
    """Log it as a warning."""
    logger.warning("%s", sentence)


def read_run(path: Path, told: Told = warn) -> dict[str, list[tuple[str, float]]]:
    """Documents and scores of each topic, in file order, of a run in TREC format; see `trec_order`.

    The rank column is not used; where it contradicts the scores `told` hears of it.

    Raises:
        InputError: a line has not six columns, a score is not a finite number, or a document comes twice.
    """
    run: dict[str, dict[str, float]] = {}
    above: dict[str, tuple[int, float]] = {}  # rank and score of each topic's line before
    contradicted: dict[str, None] = {}
    for number, (qid, _, docid, rank, score, _) in _rows(path, "qid Q0 docid rank score tag"):
        if not _NUMBER.fullmatch(score) or not math.isfinite(float(score)):
            raise InputError(f"{path}:{number}: score is {shown(score)}; it must be a finite number")
        if docid in run.setdefault(qid, {}):
            raise InputError(f"{path}:{number}: {_twice(docid, qid)}; keep one line of the two")
        run[qid][docid] = float(score)
        if _INTEGER.fullmatch(rank) and len(rank) < _MAX_DIGITS:
            here = int(rank), float(score)
            if qid in above and _contradict(above[qid], here):
                contradicted[qid] = None
            above[qid] = here
    if contradicted:
        told(
            f"{named(path)}: ranks of {len(contradicted)} topics contradict their scores; scores count, the"
            f" highest first: topics {listed(contradicted)}"
        )
    return {qid: list(scores.items()) for qid, scores in run.items()}


def _contradict(one: tuple[int, float], other: tuple[int, float]) -> bool:
    """Whether of two lines, rank and score each, the one with the lower rank has the lower score."""
    return (one[0] < other[0] and one[1] < other[1]) or (one[0] > other[0] and one[1] > other[1])


def read_qrels(path: Path, told: Told = warn) -> dict[str, dict[str, int]]:
    """Grade of each judged document of each topic, in file order; of KILT's datapoints, their gold pages.

    BEIR's three columns are known by their header, `query-id corpus-id score`. A judgement that comes again
    with the same grade says nothing new: `told` hears how many lines are such.

    Raises:
        InputError: a line has not four columns, a grade is not an integer, or a document has two grades.
    """
    path = rereadable(path)
    if has_datapoints(path):
        return provenance_qrels(path)
    qrels: dict[str, dict[str, int]] = {}
    again: list[int] = []
    for number, qid, docid, grade in _judgements(path):
        if not _INTEGER.fullmatch(grade):
            raise InputError(
                f"{path}:{number}: grade is {shown(grade)}; grades are integers only, of at most 18 digits"
            )
        grades = qrels.setdefault(qid, {})
        if docid not in grades:
            grades[docid] = int(grade)
        elif grades[docid] == int(grade):
            again.append(number)
        else:
            raise InputError(
                f"{path}:{number}: {_twice(docid, qid)}, with grades {grades[docid]} and {int(grade)};"
                " keep one line of the two"
            )
    if again:
        told(
            f"{named(path)}: {len(again)} lines repeat a judgement, the first of them line {again[0]};"
            " each judgement counts once"
        )
    return qrels


def _judgements(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Line numbers, topics, documents and grades, as they stand in TREC's columns or in BEIR's."""
    rows = _lines(path)
    first = next(rows, None)
    if first is None:
        return
    if tuple(first[1]) == _BEIR_COLUMNS:
        for number, (qid, docid, grade) in _checked(path, rows, " ".join(_BEIR_COLUMNS)):
            yield number, qid, docid, grade
    else:
        for number, (qid, _, docid, grade) in _checked(path, chain([first], rows), "qid 0 docid grade"):
            yield number, qid, docid, grade


def has_datapoints(path: Path) -> bool:
    """Whether a file of judgements or of a run is KILT's datapoints: its first line is a JSON object.

    Raises:
        InputError: the file cannot be read.
    """
    first = first_line(path)
    return first.lstrip().startswith("{") and isinstance(parse_object(first), dict)


def trec_order(entries: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Entries as trec_eval ranks them: by score in single precision, then by docid, both descending."""
    return sorted(entries, key=lambda entry: (in_single_precision(entry[1]), entry[0]), reverse=True)


class RunWriter(AtomicFile):
    """Writes a run topic by topic; the file appears whole when the `with` block ends without an exception.

    In the TREC format printed scores strictly decrease down each topic, with their six decimals and as
    single-precision numbers: a score that would tie with or pass the one above it is lowered. Ranks
    are 1 to n in the order of the hits. The formats are `OUTPUT_FORMATS`. In KILT's a docid stands as a
    page id, as it is; its topics need an entry in `inputs`, and those without hits get a line too: KILT's
    evaluation wants one for each.

    Raises:
        UsageError: the tag is empty or has white space, the format is unknown, or the path is unwritable.
        ValueError: a KILT run without `inputs`.
    """

    def __init__(
        self,
        path: Path,
        *,
        tag: str,
        output_format: str = "trec",
        inputs: Mapping[str, str] | None = None,
    ) -> None:
        if tag.split() != [tag]:
            raise UsageError(f"run tag is {shown(tag)}; it must be one word")
        if output_format not in OUTPUT_FORMATS:
            allowed = ", ".join(OUTPUT_FORMATS)
            raise UsageError(f"unknown run format {shown(output_format)}; choose one of {allowed}")
        if output_format == "kilt" and inputs is None:
            raise ValueError("a KILT run needs the inputs of its topics")
        super().__init__(path)
        self._tag, self._format, self._inputs = tag, output_format, inputs or {}
        self._qids: set[str] = set()

    def write(self, qid: str, hits: Sequence[Hit]) -> None:
        """Appends the hits of one topic, best first; without hits, a line in KILT's format only.

        Raises:
            ValueError: the writer is not open, the topic or a document comes twice, an id has white
                space, a score is not a number that single precision can hold, or a KILT topic has no input.
        """
        stream = self.stream
        if qid in self._qids:
            raise ValueError(f"topic {qid!r} was written before")
        docids = [hit.docid for hit in hits]
        odd = next((name for name in (qid, *docids) if name.split() != [name]), None)
        if odd is not None:
            raise ValueError(f"id {odd!r} is empty or has white space")
        if len(set(docids)) != len(docids):
            raise ValueError(f"topic {qid!r} has a document twice")
        if self._format == "kilt" and qid not in self._inputs:
            raise ValueError(f"topic {qid!r} has no input")
        self._qids.add(qid)
        stream.writelines(f"{line}\n" for line in self._lines(qid, docids, hits))

    def _lines(self, qid: str, docids: Sequence[str], hits: Sequence[Hit]) -> list[str]:
        if self._format == "kilt":
            return [datapoint(qid, self._inputs[qid], docids)]
        if self._format == "msmarco":
            return [f"{qid}\t{docid}\t{rank}" for rank, docid in enumerate(docids, start=1)]
        printed = strictly_decreasing([hit.score for hit in hits])
        return [
            f"{qid} Q0 {docid} {rank} {score} {self._tag}"
            for rank, (docid, score) in enumerate(zip(docids, printed, strict=True), start=1)
        ]


def strictly_decreasing(scores: Iterable[float]) -> list[str]:
    """The scores with six decimals, each below the one before as printed and in single precision.

    One that is not is lowered to the one before minus max(1e-6, 2 units in the last place of float32).

    Raises:
        ValueError: a score is not finite or beyond 1e38.
    """
    printed: list[str] = []
    above = above32 = math.inf
    for score in scores:
        if not abs(score) <= _MAX_SCORE:
            raise ValueError(f"score {score!r} cannot be written: it must be finite and within 1e38")
        text, step = _six_decimals(score), 0.0
        while not ((value := float(text)) < above and in_single_precision(value) < above32):
            step = 2 * step or max(_STEP, 2 * _ulp32(above))  # doubled only where rounding swallowed it
            text = _six_decimals(above - step)
        above, above32 = value, in_single_precision(value)
        printed.append(text)
    return printed


def _six_decimals(score: float) -> str:
    text = f"{score:.6f}"
    return "0.000000" if text == "-0.000000" else text


def in_single_precision(value: float) -> float:
    """The value rounded to single precision, beyond its range infinite."""
    try:
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _ulp32(value: float) -> float:
    """Distance from a finite value to its neighbours in single precision."""
    return math.ldexp(1.0, max(math.frexp(value)[1] - 24, -149))


def _rows(path: Path, columns: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of the lines that are not blank, checked for their number of columns."""
    return _checked(path, _lines(path), columns)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, cells) for number, line in iter_lines(path) if (cells := line.split()))


def _checked(
    path: Path, rows: Iterable[tuple[int, list[str]]], columns: str
) -> Iterator[tuple[int, list[str]]]:
    n_columns = len(columns.split())
    for number, cells in rows:
        if len(cells) != n_columns:
            seen = shown(" ".join(cells))
            hint = ""
            if len(cells) == 3 and n_columns == 4:
                hint = f", or keep BEIR's header, {' '.join(_BEIR_COLUMNS)}"
            raise InputError(
                f"{path}:{number}: {len(cells)} columns ({seen}), not {n_columns}; write {columns}{hint}"
            )
        marked = next((cell for cell in cells if BOM_TEXT in cell), None)
        if marked is not None:
            raise InputError(
                f"{path}:{number}: a byte order mark in {shown(marked)}, as where files were put together;"
                " remove it"
            )
        yield number, cells


def _twice(docid: str, qid: str) -> str:
    return f"document {shown(docid)} comes twice for topic {shown(qid)}"
