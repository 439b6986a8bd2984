"""Measures by name: those of ir_measures in its notation or trec_eval's, KILT's, and ours over answers."""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import ir_measures
from ir_measures import DefaultPipeline

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import AnswerMeasure, answer_measure, check_rouge, rouge_l
from seal_ir.eval.evidence import EvidenceMeasure, evidence_measure
from seal_ir.formats.io.files import shown

ANSWER_DEFAULTS = ("AnswerAccuracy@1", "AnswerAccuracy@5", "AnswerAccuracy@20", "AnswerAccuracy@100")
QRELS_DEFAULTS = ("Success@1", "Success@10", "Rprec")
PREDICTION_DEFAULTS = ("EM", "F1")

logger = logging.getLogger(__name__)

_ANSWER_ACCURACY = re.compile(r"AnswerAccuracy@([1-9][0-9]{0,8})")
_DEPTH = re.compile(r"@([0-9]+)$")
_HITS = re.compile(r"(?:hits|hit|success)[@_.]([0-9]+)", re.IGNORECASE)
_ACCURACY = re.compile(r"(?:answer)?_?acc(?:uracy)?(?:\(.*\))?[@_.]?([0-9]*)", re.IGNORECASE)
_CUTS = r"[0-9]+(?:\.[0-9]+)?"
_TREC_EVAL = re.compile(rf"[A-Za-z0-9]+(?:_[A-Za-z]+)*(?:[._]{_CUTS}(?:,{_CUTS})*)?")
_FAULTS = (ValueError, NameError, TypeError, KeyError, AttributeError, AssertionError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Column:
    """One measure of a table.

    Attributes:
        name: its notation, which parses back to it.
        label: how tables head it.
        cutoff: k of AnswerAccuracy@k; None for the others.
        measure: the measure of ir_measures; None for the others.
        evidence: the measure of KILT's, over sets of pages; None for the others.
        written: the measure of answers that a system wrote; None for the others.
    """

    name: str
    label: str
    cutoff: int | None = None
    measure: Any = None
    evidence: EvidenceMeasure | None = None
    written: AnswerMeasure | None = None

    @property
    def judged(self) -> bool:
        """Whether it is over judged topics."""
        return self.cutoff is None and self.written is None

    @property
    def by_sets(self) -> bool:
        """Whether it needs KILT's sets of pages."""
        return self.evidence is not None or (self.written is not None and self.written.credited)

    @property
    def ranked(self) -> bool:
        """Whether it looks at a ranking."""
        return self.written is None or self.written.credited

    @property
    def depth(self) -> int:
        """How many results of a topic it looks at; 0 for all of them."""
        match = _DEPTH.search(self.name)
        return int(match[1]) if match else 0


def parse_measures(names: Iterable[str]) -> list[Column]:
    """Columns for names such as `nDCG@10`, `ndcg_cut.10` or `AnswerAccuracy@20`, in their order, each once.

    A name of trec_eval's may mean several: `P` is precision at nine cuts, as there.

    Raises:
        UsageError: names that mean no measure which can be computed here; all of them are told.
    """
    columns: dict[str, Column] = {}
    faults: list[str] = []
    for name in names:
        try:
            for column in _parsed(name):
                columns.setdefault(column.name, column)
        except UsageError as error:
            faults.append(f"{shown(name)}: {error}")
    if faults:
        raise UsageError(f"--measures: {'; '.join(dict.fromkeys(faults))}")
    return list(columns.values())


def need_answers(columns: Iterable[Column]) -> bool:
    """Whether one of the measures is over answers."""
    return any(not column.judged for column in columns)


def need_passages(columns: Iterable[Column]) -> bool:
    """Whether one of the measures looks into passages, for answers."""
    return any(column.cutoff for column in columns)


def need_qrels(columns: Iterable[Column]) -> bool:
    """Whether one of the measures needs judgements."""
    return any(column.judged or column.by_sets for column in columns)


def judged_values(
    column: Column, qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """The measure for every judged topic; one without results has the measure's value for none, mostly 0.

    The rankings are told to ir_measures as descending whole scores, so that all its providers see one order.
    """
    run = {
        qid: {docid: float(len(docids) - i) for i, docid in enumerate(docids)}
        for qid, docids in rankings.items()
        if qid in qrels
    }
    judged = {qid: dict(grades) for qid, grades in qrels.items()}
    found = {metric.query_id: float(metric.value) for metric in column.measure.iter_calc(judged, run)}
    return {
        qid: found[qid] if qid in run and qid in found else _without_results(column.measure, grades)
        for qid, grades in qrels.items()
    }


def _without_results(measure: Any, grades: Mapping[str, int]) -> float:
    """A measure's value for a topic that a run lacks; what counts judgements counts these all the same."""
    if measure.NAME == "NumQ":
        return 1.0
    if measure.NAME == "NumRel":
        return float(sum(grade >= measure["rel"] for grade in grades.values()))
    return float(measure.DEFAULT)


def aggregate(column: Column, values: Iterable[float]) -> float:
    """One figure from the values of the topics: their mean, or for measures that count, their sum."""
    if column.measure is None:
        numbers = list(values)
        return sum(numbers) / len(numbers)
    aggregator = column.measure.aggregator()
    for value in values:
        aggregator.add(value)
    return float(aggregator.result())


def _parsed(name: str) -> list[Column]:
    ours = _ANSWER_ACCURACY.fullmatch(name)
    if ours:
        k = int(ours[1])
        return [Column(name, f"accuracy@{k}", cutoff=k)]
    kilt = evidence_measure(name)
    if kilt is not None:
        return [Column(name, name, evidence=kilt)]
    written = answer_measure(name)
    if written is not None:
        if written.score is rouge_l:
            check_rouge()  # told before anything is read
        return [Column(name, written.label, written=written)]
    of_trec_eval = _trec_eval_measures(name)
    if of_trec_eval:
        return [_computed(measure) for measure in of_trec_eval]
    hint = _hint(name)
    if hint:
        raise UsageError(hint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ir_measures parses with what newer Pythons deprecate
            measure: Any = ir_measures.parse_measure(name)
            measure.validate_params()
    except _FAULTS as error:
        raise UsageError(_reason(error)) from error
    return [_computed(measure)]


def _computed(measure: Any) -> Column:
    """The column of a measure of ir_measures, once it is known that it can be computed here."""
    _check_params(measure)
    try:  # whether a provider is installed and takes the parameters shows only when it computes
        DefaultPipeline.calc_aggregate([measure], {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0}})
    except (*_FAULTS, RuntimeError, OSError) as error:
        raise UsageError(_reason(error)) from error
    return Column(str(measure), str(measure), measure=measure)


def _check_params(measure: Any) -> None:
    """Refuses values that make trec_eval's code end the process."""
    for param in ("cutoff", "rel"):
        value = measure.params.get(param, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{param} is {shown(value)}; it must be a whole number from 1")
    recall = measure.params.get("recall", 0)
    if not 0 <= recall <= 1:
        raise UsageError(f"recall is {shown(recall)}; it must lie in 0 to 1")


def _hint(name: str) -> str:
    """What to write instead of names that people use for accuracy@k and hits@k; `""` for others."""
    accuracy, hits = _ACCURACY.fullmatch(name), _HITS.fullmatch(name)
    if accuracy:
        k = accuracy[1].lstrip("0") or "k (from 1)"
        other = "that is another measure in ir_measures; " if name.startswith("Accuracy") else ""
        return f"{other}for the share of topics with an answer in the top k write AnswerAccuracy@{k}"
    if hits and not name.startswith("Success@"):
        return f"hits@k is Success@{hits[1].lstrip('0') or 'k (from 1)'} here"
    return ""


def _trec_eval_measures(name: str) -> list[Any]:
    """The measures that trec_eval calls by a name, as in its options or its output; none for other names.

    Raises:
        UsageError: trec_eval has a measure of that name, which cannot be computed here.
    """
    if not _TREC_EVAL.fullmatch(name):
        return []
    said = io.StringIO()
    try:
        with redirect_stdout(said):  # what it leaves out of a group of measures; stdout is for the table
            measures = list(ir_measures.parse_trec_measure(name))
    except ValueError as error:
        if "not yet supported" in str(error):
            raise UsageError("this measure of trec_eval's cannot be computed here; leave it out") from error
        return []
    except (*_FAULTS, ImportError):
        return []
    if said.getvalue():
        logger.warning("--measures %s: %s", name, said.getvalue().strip())
    return measures


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split()).replace("<object object at", "<nothing at")
    if "<nothing at" in text:
        text = re.sub(r"invalid param (\w+)=.*", r"\1 is missing", text)
    return f"{text}; see https://ir-measur.es for names" if text.startswith("measure not found") else text
