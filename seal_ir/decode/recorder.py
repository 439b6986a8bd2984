"""How the keys of a query were written: what the model wanted at each step, and what the index allowed.

A `Recorder` watches a decoding from outside and changes nothing about it. It asks the model's distributions
and the index more than decoding does, so it is there only where somebody wants to look.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Floats, Ints
from seal_ir.decode.hypotheses import Beams, Candidates
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import NextTokens
from seal_ir.text.symbols import FIRST_TOKEN, to_tokens

MOST_HYPOTHESES = 2_000  # that are recorded of one query; the rest is left out, and said to be
_TOKENS = 5  # tokens that are named of each distribution
_Name = tuple[int, tuple[int, ...]]  # the decoding of an n-gram, and its symbols


class Wanted(NamedTuple):
    """A next token by the model's account: its text, log P(token | what is written), whether it occurs."""

    text: str
    logprob: float
    allowed: bool


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An n-gram that went on, with what might have followed it.

    Attributes:
        id: from 0, in the order of steps; unique within a `Decoding`.
        parent: the id of what it continued; None at the first step, where nothing is written.
        text: what is written so far.
        logprob: natural log of its probability, over the whole vocabulary.
        count: F(n); at the first step, of the empty n-gram, the rows of the index.
        n_allowed: distinct tokens that follow it in the index, the end of its field among them.
        allowed_mass: the part of the model's probability that is theirs.
        wanted: the model's best next tokens, allowed or not.
        refused: its best ones that the index does not allow.
    """

    id: int
    parent: int | None
    text: str
    logprob: float
    count: int
    n_allowed: int
    allowed_mass: float
    wanted: tuple[Wanted, ...]
    refused: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class Continuation:
    """One of the best allowed continuations of a step.

    Attributes:
        parent: the hypothesis that it continues.
        text: of its last token.
        logprob: of the whole n-gram.
        count: F(n) of the whole n-gram.
        ends: whether it ends a field that is written whole.
        hypothesis: what it is at the next step; None where it does not go on.
    """

    parent: int
    text: str
    logprob: float
    count: int
    ends: bool
    hypothesis: int | None


class Step(NamedTuple):
    """One step: what was written before it, and the best that it might become, best first."""

    number: int
    hypotheses: tuple[Hypothesis, ...]
    continuations: tuple[Continuation, ...]


class Written(NamedTuple):
    """All steps of one kind of keys."""

    kind: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the model wrote a query's keys; the query's own n-grams are scored, not written, and not in here.

    Attributes:
        kinds: body, title and further fields, as far as they are written.
        truncated: whether there were more than `MOST_HYPOTHESES`.
    """

    kinds: tuple[Written, ...]
    truncated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, by these names; docs/explain.md has them."""
        kinds = []
        for kind, steps in self.kinds:
            plain = [
                {
                    "number": step.number,
                    "hypotheses": [_plain(hypothesis) for hypothesis in step.hypotheses],
                    "continuations": [_values(item) for item in step.continuations],
                }
                for step in steps
            ]
            kinds.append({"kind": kind, "steps": plain})
        return {"kinds": kinds, "truncated": self.truncated}


class Recorder:
    """Watches the decoding of one query."""

    def __init__(self, index: Index, title_end: int) -> None:
        """Of what is written from `index`; `title_end` is the token that ends a field written whole."""
        self._index, self._title_end = index, title_end
        self._steps: dict[int, list[Step]] = {}  # by decoding
        self._kinds: list[str] = []
        self._known: dict[_Name, tuple[int, int | None]] = {}  # id and parent of what goes on
        self._n = 0
        self._truncated = False

    def step(
        self, kinds: list[str], beams: Beams, following: NextTokens, best: Candidates, grown: Beams
    ) -> None:
        """Take down a step.

        Args:
            kinds: of each decoding.
            beams: what was written before.
            following: the distributions of their next tokens.
            best: what follows.
            grown: those that go on.
        """
        self._kinds = kinds
        if self._truncated or self._n + len(beams.jobs) > MOST_HYPOTHESES:
            self._truncated = True
            return
        names = _names(beams)
        for name in names:
            if name not in self._known:  # at the first step
                self._known[name] = self._n, None
                self._n += 1
        hypotheses = [self._hypothesis(beams, i, name, following) for i, name in enumerate(names)]
        going: dict[_Name, tuple[int, int | None]] = {}
        for job, symbols in _names(grown):
            going[job, symbols] = self._n, self._known[job, symbols[:-1]][0]
            self._n += 1
        continuations = self._continuations(names, best, going)
        for job in dict.fromkeys(job for job, _ in names):
            steps = self._steps.setdefault(job, [])
            of_job = tuple(found for (its, _), found in zip(names, hypotheses, strict=True) if its == job)
            steps.append(Step(len(steps) + 1, of_job, tuple(continuations[job])))
        self._known = going

    def decoding(self) -> Decoding:
        """All that was taken down."""
        kinds = tuple(Written(self._kinds[job], tuple(steps)) for job, steps in sorted(self._steps.items()))
        return Decoding(kinds, self._truncated)

    def _hypothesis(self, beams: Beams, i: int, name: _Name, following: NextTokens) -> Hypothesis:
        (logprobs,) = following.whole(np.array([i]))
        allowed = self._allowed(beams, i, len(logprobs))
        is_allowed = np.zeros(len(logprobs), dtype=bool)
        is_allowed[allowed] = True
        number, parent = self._known[name]
        return Hypothesis(
            id=number,
            parent=parent,
            text=self._index.tokenizer.decode(to_tokens(name[1])),
            logprob=float(beams.logprobs[i]),
            count=_count(beams.ranges[i]),
            n_allowed=len(allowed),
            allowed_mass=min(1.0, float(np.exp(logprobs[allowed].astype(np.float64)).sum())),
            wanted=self._best(logprobs, is_allowed, np.arange(len(logprobs))),
            refused=self._best(logprobs, is_allowed, np.flatnonzero(~is_allowed)),
        )

    def _allowed(self, beams: Beams, i: int, n_vocabulary: int) -> Ints:
        """The tokens that may follow a beam, int64 [n] ascending."""
        symbols = self._index.successors(np.ascontiguousarray(beams.ranges[i : i + 1])).symbols
        tokens = symbols[symbols >= FIRST_TOKEN].astype(np.int64) - FIRST_TOKEN
        if beams.may_end[i] and (symbols == beams.ends[i]).any():
            tokens = np.union1d(tokens, [self._title_end])
        found: Ints = tokens[tokens < n_vocabulary]
        return found

    def _best(self, logprobs: Floats, is_allowed: Bools, among: Ints) -> tuple[Wanted, ...]:
        order = among[np.argsort(-logprobs[among], kind="stable")[:_TOKENS]]
        return tuple(
            Wanted(self._index.tokenizer.decode([token]), float(logprobs[token]), bool(is_allowed[token]))
            for token in order.tolist()
            if np.isfinite(logprobs[token])
        )

    def _continuations(
        self, names: list[_Name], best: Candidates, going: dict[_Name, tuple[int, int | None]]
    ) -> dict[int, list[Continuation]]:
        """By decoding, as `best` has them."""
        found: dict[int, list[Continuation]] = {job: [] for job, _ in names}
        columns = zip(best.beams.tolist(), best.symbols.tolist(), best.scores.tolist(), strict=True)
        for at, (beam, symbol, logprob) in enumerate(columns):
            job, symbols = names[beam]
            next_id, _ = going.get((job, (*symbols, symbol)), (None, None))
            text = self._index.tokenizer.decode(to_tokens([symbol]))
            count, parent = _count(best.ranges[at]), self._known[names[beam]][0]
            found[job].append(Continuation(parent, text, logprob, count, symbol < FIRST_TOKEN, next_id))
        return found


def _names(beams: Beams) -> list[_Name]:
    return [(job, tuple(row)) for job, row in zip(beams.jobs.tolist(), beams.symbols.tolist(), strict=True)]


def _count(ranges: Ints) -> int:
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def _values(item: Hypothesis | Continuation) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in fields(item)}


def _plain(hypothesis: Hypothesis) -> dict[str, Any]:
    values = _values(hypothesis)
    for name in ("wanted", "refused"):
        values[name] = [token._asdict() for token in values[name]]
    return values
