"""Which topics figures are averaged over: all of them, unless something else is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seal_ir.errors import UsageError
from seal_ir.eval.measures import Column, aggregate
from seal_ir.eval.questions import Questions
from seal_ir.eval.tables import ALL, IN_RUN, JUDGED, Result, Table

AVERAGES = (ALL, JUDGED, IN_RUN)


def averaged(table: Table, over: str) -> Table:
    """The table of all topics with its figures over some of them only.

    Args:
        table: as `evaluate` makes it.
        over: ALL changes nothing. JUDGED leaves out topics without answers (other measures are over judged
            topics as they are). IN_RUN leaves out, besides, each run's topics without results, as trec_eval
            does without `-c`; runs may then have different topics.

    Raises:
        UsageError: no topic is left for a measure.
    """
    if over == ALL:
        return table
    results = tuple(_narrowed(result, table, over) for result in table.results)
    return replace(table, results=results, average=over)


def _narrowed(result: Result, table: Table, over: str) -> Result:
    values = {
        column.name: {
            qid: value
            for qid, value in result.values[column.name].items()
            if _can_count(column, table.questions, qid) and (over == JUDGED or qid in result.in_run)
        }
        for column in table.columns
    }
    empty = next((name for name, found in values.items() if not found), None)
    if empty is not None:
        raise UsageError(
            f"{empty}: {result.system} has results for no topic that it could be averaged over; leave out"
            f" the run, or --average {over}"
        )
    return replace(result, figures=_figures(table, values), values=values)


def _can_count(column: Column, questions: Questions, qid: str) -> bool:
    return column.judged or qid in (questions.answers or {})


def _figures(table: Table, values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {column.name: aggregate(column, values[column.name].values()) for column in table.columns}
