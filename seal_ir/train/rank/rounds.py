"""The loop of rank training: the model writes keys, they rank, and steps are trained on that ranking.

A step's questions depend on the seed and its number only; its keys and candidates on the weights at the
beginning of its round, too. So checkpoints at beginnings of rounds are all that a run needs to go on as if
unbroken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.config import DEFAULT_BATCH_SIZE, SearchConfig
from seal_ir.decode.beam import decode
from seal_ir.eval.answers import TOKENS
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.lm.protocols import Generator, Tokens
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import QueryKeys
from seal_ir.search.model import fitted
from seal_ir.train.data.examples import ExampleOptions
from seal_ir.train.data.spans import biased_spans
from seal_ir.train.fit.trees import Encoded
from seal_ir.train.rank.batch import Reading, items_of, reading
from seal_ir.train.rank.evidence import Evidence, gather
from seal_ir.train.rank.loss import Items
from seal_ir.train.rank.options import RankOptions
from seal_ir.train.rank.questions import RankQuestion

_SMALL = (10, 10_000)  # documents of a small step, at least and at most
_SPANS = ExampleOptions(spans=1)  # drawn as `train data` does


@dataclass(frozen=True, slots=True)
class Step:
    """What a step trains on: sequences by question, and where their log-probabilities belong."""

    groups: list[list[Encoded]]
    items: Items


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A question of a step, with what was drawn for it."""

    question: RankQuestion
    positives: tuple[int, ...]
    negatives: tuple[int, ...]
    span: Tokens

    @property
    def documents(self) -> tuple[int, ...]:
        """Candidates that do not depend on the model."""
        return (*self.positives, *self.negatives)


class _Draft(NamedTuple):
    """The questions of a step, and the index that they are asked of."""

    searched: Index
    questions: list[_Drawn]


class Rounds:
    """Steps by number, made a round at a time with the model as it is then."""

    def __init__(
        self,
        questions: Sequence[RankQuestion],
        index: Index,
        config: SearchConfig,
        options: RankOptions,
        wired: Callable[[], Generator],
        *,
        n_processes: int = 1,
    ) -> None:
        """Make nothing yet.

        Args:
            questions: to train on.
            index: to search.
            config: how keys are written and ranked.
            options: how many of what.
            wired: the model as it is when called, ready to decode.
            n_processes: that share the steps; this one has every n-th.
        """
        self._questions, self._index, self._options, self._wired = questions, index, options, wired
        self._decode, self._rank = fitted(config.decode, index), config.rank
        self._streams = Streams(index)
        self._n_processes = n_processes
        self._round: dict[int, Step] = {}

    def step(self, position: int) -> Step:
        """The step at a position; the first of a round makes the round."""
        if position not in self._round:
            n = self._options.refresh * self._n_processes
            first = position - position % n
            self._round = self._made(range(position, first + n, self._n_processes))
        return self._round[position]

    def _made(self, positions: range) -> dict[int, Step]:
        generator = self._wired()
        drafts = {position: self._draft(generator, position) for position in positions}
        written = self._written(generator, list(drafts.values()))
        n = self._options.questions
        return {
            position: self._step(generator, draft, written[i * n : (i + 1) * n])
            for i, (position, draft) in enumerate(drafts.items())
        }

    def _draft(self, generator: Generator, position: int) -> _Draft:
        options = self._options
        numbers = _question_numbers(len(self._questions), options.questions, options.seed, position)
        drawn = [
            self._drawn(
                generator, self._questions[number], np.random.default_rng([options.seed, position, i])
            )
            for i, number in enumerate(numbers.tolist())
        ]
        rng = np.random.default_rng([options.seed, position, options.questions])
        if rng.random() >= options.small_share:
            return _Draft(self._index, drawn)
        wanted = {number for one in drawn for number in one.documents}
        return _Draft(View(self._index, _few(wanted, self._index.n_documents, rng), "filter"), drawn)

    def _written(self, generator: Generator, drafts: Sequence[_Draft]) -> list[QueryKeys]:
        """What the model writes for the questions of all steps, decoded in batches of like length."""
        asked = [(draft.searched, one.question.text) for draft in drafts for one in draft.questions]
        written: dict[int, QueryKeys] = {}
        for index in {id(index): index for index, _ in asked}.values():
            places = [i for i, (of, _) in enumerate(asked) if of is index]
            places.sort(key=lambda i: len(asked[i][1]))
            for at in range(0, len(places), DEFAULT_BATCH_SIZE):
                batch = places[at : at + DEFAULT_BATCH_SIZE]
                found = decode(generator, index, [asked[i][1] for i in batch], self._decode).queries
                written.update(zip(batch, found, strict=True))
        return [written[i] for i in range(len(asked))]

    def _drawn(self, generator: Generator, question: RankQuestion, rng: np.random.Generator) -> _Drawn:
        options = self._options
        positives = _draw(question.positives, options.positives, rng)
        negatives = _draw(question.negatives, options.run_hits, rng)
        document = self._index.documents([positives[int(rng.integers(len(positives)))]])[0]
        spans = biased_spans(
            question.text, document.text, _SPANS.spans, _SPANS.span_words, _SPANS.temperature, rng
        )
        span = tuple(generator.tokenizer.encode_fields(spans)[0]) if spans else ()
        return _Drawn(question, positives, negatives, span)

    def _hits(self, index: Index, keys: QueryKeys) -> list[int]:
        n = self._options.hits
        ranked = rank(index, keys, self._rank, n, streams=self._streams) if n else []
        return [item.document for item in ranked]

    def _step(self, generator: Generator, draft: _Draft, written: Sequence[QueryKeys]) -> Step:
        asked = draft.questions
        hits = [number for keys in written for number in self._hits(draft.searched, keys)]
        documents = np.unique([*hits, *(number for one in asked for number in one.documents)])
        bodies = [TOKENS.prepare(document.text) for document in self._index.documents(documents)]
        evidence = [
            self._evidence(draft.searched, one, keys, documents, bodies)
            for one, keys in zip(asked, written, strict=True)
        ]
        n_keys = 0 if self._options.first_step else self._options.keys
        readings: list[Reading] = [
            reading(generator, one.question.text, known, one.span, self._decode, n_keys)
            for one, known in zip(asked, evidence, strict=True)
        ]
        items = items_of(readings, evidence, [one.span for one in asked])
        return Step([made.sequences for made in readings], Items(tuple(items)))

    def _evidence(
        self, index: Index, one: _Drawn, keys: QueryKeys, documents: Ints, bodies: Sequence[str]
    ) -> Evidence:
        telling = [answer for answer in one.question.answers if TOKENS.tells("", answer)]
        holds = TOKENS.finder("", telling)
        answering = [int(n) for n, body in zip(documents, bodies, strict=True) if telling and holds(body)]
        positives = one.question.positives
        return gather(keys, self._rank, index, documents, positives, answering, self._streams)


def _question_numbers(n_questions: int, n: int, seed: int, position: int) -> Ints:
    """The n questions of a step, int64 [n]: pass after pass over all, each in an order of its own."""
    passes, places = np.divmod(np.arange(position * n, (position + 1) * n), n_questions)
    orders = {
        number: np.random.default_rng([seed, number]).permutation(n_questions)
        for number in np.unique(passes).tolist()
    }
    return np.array([orders[of][place] for of, place in zip(passes.tolist(), places, strict=True)], np.int64)


def _few(wanted: Collection[int], n_documents: int, rng: np.random.Generator) -> Ints:
    """Some documents and others beside them, int64 [n] ascending; log n is drawn evenly."""
    least, most = (min(n, n_documents) for n in _SMALL)
    n = round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))
    others = rng.choice(n_documents, size=max(0, n - len(wanted)), replace=False)
    return np.unique(np.concatenate([np.array(sorted(wanted), np.int64), others.astype(np.int64)]))


def _draw(numbers: Sequence[int], n: int, rng: np.random.Generator) -> tuple[int, ...]:
    if len(numbers) <= n:
        return tuple(numbers)
    return tuple(sorted(rng.choice(numbers, size=n, replace=False).tolist()))
