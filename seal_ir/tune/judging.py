"""What rankings are worth, topic by topic, in the measures of `python -m seal_ir.eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seal_ir.arrays import Doubles
from seal_ir.errors import UsageError
from seal_ir.eval.answers import Matching
from seal_ir.eval.evaluation import EvalOptions, check
from seal_ir.eval.measures import Column, aggregate, judged_values
from seal_ir.eval.questions import Questions
from seal_ir.eval.texts import Texts, bodies_of

Rankings = Mapping[str, Sequence[str]]  # docids, best first, by topic


class Judge:
    """Measures rankings of some topics at a time; what a passage answers is looked up once.

    Attributes:
        columns: the measures.
        topics: ids of those that one of the measures is over, in order; accuracy is over all.
    """

    def __init__(
        self, questions: Questions, columns: Sequence[Column], texts: Texts | None, matching: Matching
    ) -> None:
        """Measure nothing yet.

        Args:
            questions: with what the measures need.
            columns: the measures, each a mean over topics.
            texts: bodies of passages, for AnswerAccuracy@k.
            matching: the rule for answers.

        Raises:
            UsageError: a measure lacks its answers, texts or judgements, or is no mean.
        """
        written = next((column for column in columns if column.written), None)
        if written is not None:
            raise UsageError(f"{written.name} is of written answers; tune on a measure of rankings")
        check(questions, columns, texts, EvalOptions(matching))
        for column in columns:
            if aggregate(column, [0.0, 1.0]) != 0.5:
                raise UsageError(
                    f"{column.name} is no mean over topics; tune on one that is, such as nDCG@10"
                )
        self.columns = columns
        self._questions, self._texts, self._matching = questions, texts, matching
        over_all = any(column.cutoff for column in columns)
        judged = questions.qrels or {}
        self.topics = [qid for qid in questions.topics if over_all or qid in judged]
        self._depth = max(column.cutoff or 0 for column in columns)
        self._answered: dict[tuple[str, str], bool] = {}

    def values(self, runs: Sequence[Rankings]) -> list[Doubles]:
        """The measures of several rankings of the same topics, each in their order.

        Args:
            runs: one or more, each of these topics.

        Returns:
            float64 [n_topics, n_columns] each; NaN where a topic is not judged.
        """
        self._look_up(runs)
        return [self._values(rankings) for rankings in runs]

    def _values(self, rankings: Rankings) -> Doubles:
        found = np.full((len(rankings), len(self.columns)), np.nan)
        ranks = self._first_ranks(rankings) if self._depth else []
        for i, column in enumerate(self.columns):
            if column.cutoff is not None:
                found[:, i] = [0 < rank <= column.cutoff for rank in ranks]
            else:
                values = self._judged(column, rankings)
                found[:, i] = [values.get(qid, np.nan) for qid in rankings]
        return found

    def _judged(self, column: Column, rankings: Rankings) -> dict[str, float]:
        if column.evidence is not None:
            sets = self._questions.evidence or {}
            return {
                qid: column.evidence(docids, sets[qid]) for qid, docids in rankings.items() if qid in sets
            }
        qrels = self._questions.qrels or {}
        of_these = {qid: qrels[qid] for qid in rankings if qid in qrels}
        return judged_values(column, of_these, rankings) if of_these else {}

    def _first_ranks(self, rankings: Rankings) -> list[int]:
        """Of each topic the rank, from 1, of its first passage with an answer; 0 if none has one."""
        return [
            next(
                (i for i, docid in enumerate(docids[: self._depth], 1) if self._answered.get((qid, docid))), 0
            )
            for qid, docids in rankings.items()
        ]

    def _look_up(self, runs: Sequence[Rankings]) -> None:
        """Find out which passages hold an answer, as far as it is not known."""
        answers = self._questions.answers or {}
        new = {
            (qid, docid): None
            for rankings in runs
            for qid, docids in rankings.items()
            if qid in answers
            for docid in docids[: self._depth]
            if (qid, docid) not in self._answered
        }
        if not new or self._texts is None:
            return
        bodies = bodies_of((docid for _, docid in new), self._texts)
        prepared = {docid: self._matching.prepare(body) for docid, body in bodies.items()}
        finders = {qid: self._matching.finder(qid, answers[qid]) for qid, _ in new}
        self._answered.update({pair: finders[pair[0]](prepared[pair[1]]) for pair in new})
