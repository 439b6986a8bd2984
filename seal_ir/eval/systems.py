"""What a system said: its ranking of each topic, and the answer that it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.measures import Column
from seal_ir.eval.rankings import Rankings, Retrieved, read_retrieved
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.runs.others import is_kilt_run
from seal_ir.formats.topics.predictions import has_predictions, read_predictions


class System(NamedTuple):
    """A system's output.

    Attributes:
        retrieved: what its run has; nothing for a file of answers only.
        answers: the answer written for each topic; none where no measure needs them.
    """

    retrieved: Retrieved
    answers: Mapping[str, str]

    @property
    def rankings(self) -> Rankings:
        """Document ids of each topic, best first."""
        return self.retrieved.rankings

    @property
    def topics(self) -> frozenset[str]:
        """Topics that it has something for."""
        return frozenset(self.rankings) | frozenset(self.answers)


def read_system(
    path: Path,
    predictions: Path | None,
    columns: Sequence[Column],
    delimiter: str | None = None,
    asked: Mapping[str, str] | None = None,
) -> System:
    """A system's output, as far as the measures need it.

    Args:
        path: a run of any format, or a file of predictions only.
        predictions: its answers, where they are not in the run, or where no ranking is needed.
        columns: the measures.
        delimiter: see `read_rankings`.
        asked: questions by topic id, where they are known; see `read_ranked`.

    Raises:
        InputError: a file cannot be read, or breaks its format.
        UsageError: a measure needs the answers or the ranking, and there are none.
    """
    written = next((column for column in columns if column.written), None)
    ranked = next((column for column in columns if column.ranked), None)
    if ranked is None and predictions is not None:
        return System(Retrieved(), read_predictions(predictions))
    path = rereadable(path)
    if has_predictions(path):
        if ranked is not None:
            raise UsageError(
                f"{path}: answers without a ranking, which {ranked.name} needs; give the run as --run and"
                " these as --predictions"
            )
        return System(Retrieved(), read_predictions(path))
    retrieved = read_retrieved(path, delimiter, asked)
    if written is None:
        return System(retrieved, {})
    if predictions is None and not is_kilt_run(path):
        raise UsageError(f"{path}: a run without answers, which {written.name} needs; give --predictions")
    return System(retrieved, read_predictions(predictions or path))


def check_answers(path: Path, answers: Mapping[str, str], topics: Sequence[str]) -> None:
    """Refuse answers to other questions.

    Raises:
        InputError: there are answers, but for none of the topics; figures would be zeros that mean nothing.
    """
    if answers and not any(qid in answers for qid in topics):
        raise InputError(
            f"{path}: 0 of {len(topics)} topics have an answer here (they are like {shown(topics[0])}, those"
            f" here like {shown(next(iter(answers)))}); the ids must be equal"
        )
