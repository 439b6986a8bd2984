"""EM and F1 of what was answered, with their intervals."""

from __future__ import annotations

from pathlib import Path

from seal_ir.eval.comparisons import with_statistics
from seal_ir.eval.evaluation import evaluate
from seal_ir.eval.measures import PREDICTION_DEFAULTS, parse_measures
from seal_ir.eval.questions import Questions, find_sources, load_questions
from seal_ir.eval.significance import Resampling
from seal_ir.eval.tables import Table
from seal_ir.formats.io.resolve import Places


def questions_of(topics: str, answers: str | None, places: Places) -> Questions | None:
    """What answers are measured on: the given ones, or those that belong to the topics; None without any.

    Raises:
        InputError: there is no such file, or it has none of the topics.
    """
    sources = find_sources(topics, answers, None, places, need_answers=True)
    if sources.answers is None:
        return None
    return load_questions(sources._replace(qrels=None), parse_measures(PREDICTION_DEFAULTS))


def measured(predictions: Path, questions: Questions, seed: int) -> Table:
    """EM and F1 of a file of predictions, with intervals over the topics.

    Raises:
        InputError: the file cannot be read, or has none of the topics.
    """
    table = evaluate([predictions], questions, parse_measures(PREDICTION_DEFAULTS))
    return with_statistics(table, Resampling(seed=seed))
