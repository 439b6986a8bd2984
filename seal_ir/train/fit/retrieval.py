"""The dev retrieval metric: what the model in training finds in a real index, by names that say so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seal_ir.config import SearchConfig
from seal_ir.errors import InputError, UsageError
from seal_ir.eval.answers import first_ranks, usable
from seal_ir.eval.texts import bodies_of, index_texts
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_qrels, resolve_topics
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.lm.load import wire
from seal_ir.lm.protocols import Generator
from seal_ir.records import Query
from seal_ir.search.searcher import SealSearcher
from seal_ir.train.fit.dev_source import DevSource
from seal_ir.train.fit.log import RETRIEVAL

logger = logging.getLogger(__name__)

CUTOFFS = (1, 5, 20, 100)


@dataclass(frozen=True, slots=True)
class DevSet:
    """Questions to search an index for.

    Attributes:
        index: its directory.
        queries: the questions, each with an answer or a judgement at least.
        qrels: passages by question that are relevant.
        answers: answers by question.
    """

    index: Path
    queries: Sequence[Query]
    qrels: dict[str, set[str]]
    answers: dict[str, Sequence[str]]


def load_dev_set(source: DevSource) -> DevSet:
    """As many questions as the source says, evenly taken from all that can be measured on.

    Raises:
        InputError: a file cannot be read, or no question has an answer or a judged passage.
        UsageError: neither judgements nor answers are given, or the number of questions is less than 1.
    """
    places = Places.from_environment()
    qrels = resolve_qrels(source.qrels, places) if source.qrels else None
    answers = resolve_answers(source.answers, places) if source.answers else None
    topics = resolve_topics(source.topics, places)
    if qrels is None and answers is None:
        raise UsageError("a dev retrieval metric needs --dev-qrels or --dev-answers")
    if source.n_queries < 1:
        raise UsageError(f"--dev-queries is {source.n_queries}; it must be at least 1")
    queries = read_topics(topics)
    grades = read_qrels(qrels) if qrels else {}
    relevant = {qid: {d for d, grade in found.items() if grade > 0} for qid, found in grades.items()}
    texts: dict[str, Sequence[str]] = {}
    if answers:
        found = usable(read_answers(answers), [query.id for query in queries])
        texts = found.answers
        for warning in found.warnings():
            logger.warning("%s: %s", answers, warning)
    usable_queries = [q for q in queries if relevant.get(q.id) or q.id in texts]
    if not usable_queries:
        raise InputError(f"{topics}: no question has an answer or a relevant passage; the ids must be equal")
    n = min(source.n_queries, len(usable_queries))
    chosen = [usable_queries[i * len(usable_queries) // n] for i in range(n)]
    return DevSet(source.index, chosen, relevant, texts)


def dev_retrieval(dev: DevSet, generator: Generator, config: SearchConfig | None = None) -> dict[str, float]:
    """Shares of questions with a relevant passage, and with an answer, among the first k hits.

    Args:
        dev: the questions.
        generator: the model.
        config: how it searches; default: the default preset.

    Returns:
        `dev_retrieval_hits@k` over the questions with judgements, `dev_retrieval_answer_accuracy@k` over
        those with answers, for k in `CUTOFFS`, and `dev_retrieval_questions`.
    """
    searcher = SealSearcher(dev.index, generator, config=config)
    ranked = {
        qid: [hit.docid for hit in hits]
        for qid, hits in searcher.batch_search(
            [query.text for query in dev.queries], [query.id for query in dev.queries], k=max(CUTOFFS)
        ).items()
    }
    values: dict[str, float] = {RETRIEVAL + "questions": len(ranked)}
    judged = {qid: _first(ranked[qid], dev.qrels[qid]) for qid in ranked if dev.qrels.get(qid)}
    values |= _shares("hits", judged)
    answered = {qid: docids for qid, docids in ranked.items() if qid in dev.answers}
    if answered:
        bodies = bodies_of((d for docids in answered.values() for d in docids), index_texts(dev.index))
        found = first_ranks(answered, dev.answers, bodies)
        values |= _shares("answer_accuracy", {qid: found.get(qid) for qid in answered})
    return values


def retrieval_of(
    dev: DevSet, network: Any, start: Generator, config: SearchConfig | None = None
) -> Callable[[], dict[str, float]]:
    """A measurement of the network as it is when called; tokenizer and prompts are those of `start`."""

    def measure() -> dict[str, float]:
        was_training = network.training
        network.eval()
        try:
            return dev_retrieval(dev, wire(network, start.tokenizer, start.description), config)
        finally:
            network.train(was_training)

    return measure


def _first(docids: Sequence[str], relevant: set[str]) -> int | None:
    """Rank, from 1, of the first relevant passage."""
    return next((rank for rank, docid in enumerate(docids, start=1) if docid in relevant), None)


def _shares(name: str, ranks: dict[str, int | None]) -> dict[str, float]:
    return {
        f"{RETRIEVAL}{name}@{k}": sum(rank is not None and rank <= k for rank in ranks.values()) / len(ranks)
        for k in CUTOFFS
        if ranks
    }
