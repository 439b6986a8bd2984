"""Constrained beam search: from queries to keys.

All decodings of a batch (body, title and further fields of every query) and the query's own n-grams advance
together: one call of the model per step, and a few of the index for all. Where the model can, it reads all
of these n-grams with the beams' first tokens. A beam carries its range, so that extending it is one step of
backward search; nothing is ever searched from scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.config import DecodeConfig
from seal_ir.decode.constraint import Constraint, CostRule
from seal_ir.decode.hypotheses import Beams, Candidates, rank_in_group
from seal_ir.decode.prompts import Cut, make_prompt, note_cut, room_for
from seal_ir.decode.query_ngrams import Forced, Scored, extended, extensions_of, forced_roots, placed
from seal_ir.decode.recorder import Recorder
from seal_ir.decode.stopping import Stopping
from seal_ir.decode.unconstrained import Unconstrained
from seal_ir.index.engine import Successors
from seal_ir.index.engines import as_tuples
from seal_ir.index.reader import Index
from seal_ir.lm.next_tokens import Sound, step_of
from seal_ir.lm.protocols import Generator, NextTokens, Prompt, Session
from seal_ir.records import BODY, NO_UNIGRAMS, QUERY, Key, QueryKeys, Unigrams
from seal_ir.text.symbols import FIRST_TOKEN, Marks

_DEFAULT_RULE = CostRule()
_FREE = Marks(0, 0)  # of what may be any substring


@dataclass(slots=True)
class _Job:
    """One decoding: a prompt of one query, the symbols around what it writes, and the keys so far."""

    query: int
    text: str  # of the query
    kind: str
    steps: int
    marks: Marks
    keys: list[Key] = field(default_factory=list)

    def named(self, step: int) -> str:
        """One of its steps, from 1, for a fault."""
        return step_of(self.text, self.kind, step)


class Decoded(NamedTuple):
    """The keys of a batch of queries.

    Attributes:
        queries: the keys of each.
        cut: the queries that had to be cut to fit the model.
    """

    queries: list[QueryKeys]
    cut: Cut = {}  # read-only by its type; a proxy cannot be pickled


def decode(
    generator: Generator,
    index: Index,
    queries: Sequence[str],
    config: DecodeConfig,
    rule: CostRule = _DEFAULT_RULE,
    recorder: Recorder | None = None,
) -> Decoded:
    """Let the model write keys for a batch of queries.

    Every key occurs in the corpus; a query without text gives none. But for the model's rounding,
    which may differ with the shape of the batch, the result for a query depends on neither the others in the
    batch nor their order; it never depends on `rule`.

    Args:
        generator: the model.
        index: the index.
        queries: the queries.
        config: beam, steps and what else to write.
        rule: when to enumerate continuations and when to verify them.
        recorder: watches; of a single query.

    Raises:
        ModelError: the model's probabilities are no numbers; names query and step.
    """
    index = index.session()
    jobs, prompts, cut = _jobs(generator, index, queries, config)
    if not jobs:
        return Decoded([QueryKeys((), NO_UNIGRAMS) for _ in queries])
    session = generator.model.start(prompts)
    bodies = np.array([row for row, job in enumerate(jobs) if job.kind == BODY], dtype=np.int64)
    first = Sound(session.following, lambda row: jobs[row].named(1))
    found = _first_unigrams(index, first, bodies, config.unigrams)
    unigrams = {jobs[row].query: of_row for row, of_row in zip(bodies.tolist(), found, strict=True)}
    texts = [(row, jobs[row].text) for row in bodies.tolist()]
    stopping = Stopping(index.n_tokens, config.least_weight, config.retired) if config.stop else None
    constraint = _constraint(generator, index, config, rule)
    search = _Search(jobs, constraint, session, config.beam, stopping, recorder)
    search.run(_first_beams(index, jobs), forced_roots(index, texts, config.query_words, config.stop))
    keys: list[list[Key]] = [[] for _ in queries]
    for job in jobs:
        keys[job.query].extend(job.keys)
    decoded = [QueryKeys(tuple(k), unigrams.get(number, NO_UNIGRAMS)) for number, k in enumerate(keys)]
    return Decoded(decoded, cut)


def _constraint(
    generator: Generator, index: Index, config: DecodeConfig, rule: CostRule
) -> Constraint | Unconstrained:
    """What may follow the beams of a batch."""
    n_best = 2 * config.beam  # at most one of each beam ends its field, so that a beam goes on
    if config.constrained:
        return Constraint(index, generator.title_end, n_best, rule)
    return Unconstrained(index, generator.title_end, n_best)


def _jobs(
    generator: Generator, index: Index, queries: Sequence[str], config: DecodeConfig
) -> tuple[list[_Job], list[Prompt], Cut]:
    """What to decode, the prompts for it, and which queries had to be cut."""
    jobs: list[_Job] = []
    prompts = []
    cut: dict[int, int] = {}
    for number, query in enumerate(queries):
        if not query.strip():
            continue
        for kind in config.written:
            template = generator.description.prompt(kind)
            made = make_prompt(generator, template, query, room_for(kind, config))
            marks = _FREE if kind == BODY else index.marks(kind)
            jobs.append(_Job(number, query, kind, config.steps(kind), marks))
            prompts.append(made.prompt)
            note_cut(cut, number, made.limit)
    return jobs, prompts, cut


def _first_beams(index: Index, jobs: Sequence[_Job]) -> Beams:
    """One beam for each job, with nothing written."""
    n = len(jobs)
    ranges = {start: index.start_of(start) for start in {job.marks.start for job in jobs} - {_FREE.start}}
    ranges[_FREE.start] = index.everything
    ends = np.array([job.marks.end for job in jobs], dtype=np.uint32)
    starts = np.stack([ranges[job.marks.start] for job in jobs])
    return Beams(np.arange(n), ends, np.empty((n, 0), np.uint32), np.zeros(n), starts)


def _first_unigrams(index: Index, following: NextTokens, rows: Ints, n: int) -> list[Unigrams]:
    """The n most likely symbols of the index as the first of a body n-gram, ties by symbol; row by row."""
    if n == 0:
        return [NO_UNIGRAMS] * len(rows)
    first = index.first_symbols
    return [_best_unigrams(first, logprobs, n) for logprobs in following.whole(rows)]


def _best_unigrams(first: Successors, logprobs: Floats, n: int) -> Unigrams:
    inside = np.flatnonzero((first.symbols >= FIRST_TOKEN) & (first.symbols < len(logprobs) + FIRST_TOKEN))
    scores = logprobs[first.symbols[inside].astype(np.int64) - FIRST_TOKEN].astype(np.float64)
    finite = np.isfinite(scores)
    inside, scores = inside[finite], scores[finite]
    if len(scores) > n:
        chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
        inside, scores = inside[chosen], scores[chosen]
    order = np.lexsort((inside, -scores))[:n]  # symbols ascend
    inside, scores = inside[order], scores[order]
    counts = _counts(first.ranges[inside])
    return Unigrams(first.symbols[inside], scores, counts)


class _Search:
    """All jobs on their way to their ends; keys are added to them. At first, row j is job j's prompt."""

    def __init__(
        self,
        jobs: list[_Job],
        constraint: Constraint | Unconstrained,
        session: Session,
        width: int,
        stopping: Stopping | None,
        recorder: Recorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._jobs, self._constraint, self._session, self._stopping = jobs, constraint, session, stopping
        self._widths = np.full(len(jobs), width)
        self._steps = np.array([job.steps for job in jobs])

    def run(self, beams: Beams, forced: list[Forced]) -> None:
        """Step until neither beams nor n-grams of the query go on."""
        n_vocabulary = self._session.following.n_vocabulary
        known = self._constraint.known(beams, n_vocabulary)
        n_rows = len(beams.jobs)
        while len(beams.jobs) or forced:
            following = Sound(self._session.following, partial(self._named, beams, forced))
            longer = extensions_of(forced, n_vocabulary)
            best, logprobs = self._constraint.best(beams, known, following, longer.rows, longer.tokens)
            before, (beams, parents, tokens) = beams, self._grown(beams, best)
            # Beams at the end of their field have no continuations: the model is not asked for any.
            beams, known, living = self._constraint.living(beams, n_vocabulary)
            if self._recorder is not None:
                self._recorder.step([job.kind for job in self._jobs], before, following, best, beams)
            whole, going = extended(longer, logprobs)
            self._add_query_keys(whole)
            n_nested = n_rows if self._session.nested else 0
            forced, rows, tokens = placed(going, parents[living], tokens[living], n_nested, n_vocabulary)
            if len(rows):
                self._session.advance(rows, tokens)
                n_rows = len(rows)

    def _named(self, beams: Beams, forced: Sequence[Forced], row: int) -> str:
        """What a row of the session is for: a beam, or behind these an n-gram of the query."""
        steps = {item.row: (item.job, len(item.symbols)) for item in forced}
        steps |= {i: (job, beams.symbols.shape[1]) for i, job in enumerate(beams.jobs.tolist())}
        job, n_written = steps[row]
        return self._jobs[job].named(n_written + 1)

    def _grown(self, beams: Beams, best: Candidates) -> tuple[Beams, Ints, Ints]:
        """Adds a step's keys to the jobs; the new beams, the rows that they continue and by which tokens."""
        jobs, ends = beams.jobs[best.beams], beams.ends[best.beams]
        symbols = np.concatenate([beams.symbols[best.beams], best.symbols[:, None]], axis=1)
        ended, free = best.symbols < FIRST_TOKEN, ends == _FREE.end
        is_key = ended | free
        going = np.flatnonzero(~ended & (self._steps[jobs] > symbols.shape[1]))
        going = going[rank_in_group(jobs[going]) < self._widths[jobs[going]]]
        if self._stopping is not None:
            counts = _counts(best.ranges)
            before = np.where(free & (symbols.shape[1] > 1), _counts(beams.ranges)[best.beams], 0)
            is_key &= self._stopping.is_key(best.scores, counts, before)
            left = (jobs[going], best.scores[going], counts[going], free[going])
            going = going[self._stopping.going(*left, self._widths)]
        self._add_keys(jobs, symbols, best, np.flatnonzero(is_key))
        grown = Beams(jobs, ends, symbols, best.scores, best.ranges).chosen(going)
        return grown, best.beams[going], best.tokens[going]

    def _add_keys(self, jobs: Ints, symbols: Ints, best: Candidates, which: Ints) -> None:
        counts = _counts(best.ranges[which])
        which, counts = which[counts > 0], counts[counts > 0]  # without the constraint not all occur
        columns = (column.tolist() for column in (jobs[which], symbols[which], best.scores[which], counts))
        rows = as_tuples(best.ranges[which])
        for j, written, logprob, count, ranges in zip(*columns, rows, strict=True):
            job = self._jobs[j]
            ngram = (job.marks.start, *written) if job.marks.start else tuple(written)
            job.keys.append(Key(ngram, logprob, count, ranges, job.kind))

    def _add_query_keys(self, whole: Sequence[Scored]) -> None:
        if not whole:
            return
        ranges = np.stack([item.ranges for item in whole])
        found = zip(whole, as_tuples(ranges), _counts(ranges).tolist(), strict=True)
        for (job, ngram, logprob, _), rows, count in found:
            self._jobs[job].keys.append(Key(ngram, logprob, count, rows, QUERY))


def _counts(ranges: Ints) -> Ints:
    """F of n-grams with ranges [..., n_segments, 2]."""
    counts: Ints = (ranges[..., 1] - ranges[..., 0]).sum(axis=-1)
    return counts
