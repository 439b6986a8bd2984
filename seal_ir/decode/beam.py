"""Constrained beam search: from queries to keys.

All decodings of a batch (body and title of every query) and the query's own n-grams advance together:
one call to the model and one call to the index per step. A beam carries its range, so that extending it
is one backward-search step; nothing is ever searched from scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seal_ir.config import DecodeConfig
from seal_ir.decode.model import Floats, Generator, Session
from seal_ir.decode.prompts import make_prompt
from seal_ir.decode.query_ngrams import MAX_NGRAM_TOKENS, NgramNode, query_ngrams
from seal_ir.index.engine import Ints
from seal_ir.index.reader import Index, Successors
from seal_ir.records import BODY, QUERY, TITLE, Key, QueryKeys, Range, Unigrams
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END, Symbols

_NO_UNIGRAMS = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))


@dataclass(slots=True)
class _Job:
    """One decoding: a prompt of one query, and the keys it has given so far."""

    query: int
    kind: str
    steps: int
    keys: list[Key] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What stays the same from step to step."""

    generator: Generator
    index: Index
    jobs: list[_Job]
    beam: int


class _Beam(NamedTuple):
    """A hypothesis: row of the session, job, symbols so far, their log-probability and ranges."""

    row: int
    job: int
    symbols: tuple[int, ...]
    logprob: float
    ranges: Ints  # [n_segments, 2]


class _Forced(NamedTuple):
    """A prefix of the query's n-grams: the model scores it, it does not choose it."""

    row: int
    job: int
    node: NgramNode
    symbols: tuple[int, ...]
    logprob: float


class _Move(NamedTuple):
    """One new row of the session: the row that it continues, and by which token."""

    row: int
    token: int


class Decoded(NamedTuple):
    """The keys of a batch of queries, and how many of the queries had to be truncated."""

    queries: list[QueryKeys]
    n_truncated: int


def decode(generator: Generator, index: Index, queries: Sequence[str], config: DecodeConfig) -> Decoded:
    """Let the model write keys for a batch of queries.

    Every key occurs in the corpus; a query without text gives none. The result for a query depends on
    neither the others in the batch nor their order.
    """
    jobs: list[_Job] = []
    prompts = []
    truncated = set()
    for number, query in enumerate(queries):
        if not query.strip():
            continue
        for kind, steps, template in (
            (BODY, config.body_steps, generator.description.body),
            (TITLE, config.title_steps, generator.description.title),
        ):
            if steps:
                # A query's n-grams, which the model scores after the body prompt, may be the longer ones.
                reserved = max(steps, MAX_NGRAM_TOKENS) if kind == BODY and config.query_words else steps
                made = make_prompt(generator, template, query, reserved)
                jobs.append(_Job(number, kind, steps))
                prompts.append(made.prompt)
                if made.truncated:
                    truncated.add(number)
    if not jobs:
        return Decoded([QueryKeys((), _NO_UNIGRAMS) for _ in queries], 0)
    session = generator.model.start(prompts)
    unigrams = [_NO_UNIGRAMS] * len(queries)
    for row, job in enumerate(jobs):
        if job.kind == BODY:
            unigrams[job.query] = _unigrams(index, session.logprobs[row], config.unigrams)
    _search(_Batch(generator, index, jobs, config.beam), session, _forced_roots(index, jobs, queries, config))
    keys: list[list[Key]] = [[] for _ in queries]
    for job in jobs:
        keys[job.query].extend(job.keys)
    found = [QueryKeys(tuple(k), u) for k, u in zip(keys, unigrams, strict=True)]
    return Decoded(found, len(truncated))


def _forced_roots(
    index: Index, jobs: Sequence[_Job], queries: Sequence[str], config: DecodeConfig
) -> list[_Forced]:
    """The n-grams of each query, all under one node without a symbol, in the rows of the body prompts."""
    if not config.query_words:
        return []
    forced = []
    for row, job in enumerate(jobs):
        if job.kind == BODY:
            roots = query_ngrams(index, queries[job.query], config.query_words)
            forced.append(_Forced(row, row, NgramNode(-1, index.everything, children=roots), (), 0.0))
    return forced


def _search(batch: _Batch, session: Session, forced: list[_Forced]) -> None:
    """Run all jobs to their ends; their keys are added to them. At first, row j is job j's prompt."""
    index = batch.index
    beams = [
        _Beam(j, j, (), 0.0, index.everything)
        if job.kind == BODY
        else _Beam(j, j, (BOUNDARY,), 0.0, index.document_start)
        for j, job in enumerate(batch.jobs)
    ]
    step = 1
    while beams or forced:
        logprobs = session.logprobs
        beams, moves = _grow(batch, beams, logprobs, step)
        forced, forced_moves = _score(batch.jobs, forced, logprobs, len(beams))
        moves += forced_moves
        if moves:
            session.advance(np.array([move.row for move in moves]), np.array([move.token for move in moves]))
        step += 1


def _grow(batch: _Batch, beams: list[_Beam], logprobs: Floats, step: int) -> tuple[list[_Beam], list[_Move]]:
    """One step of all beams: keys are added to the jobs; returns the surviving beams and their moves."""
    if not beams:
        return [], []
    jobs, width = batch.jobs, batch.beam
    candidates = _candidates(batch, beams, logprobs)
    job_of_beam = np.array([beam.job for beam in beams])
    job_of_candidate = job_of_beam[candidates.beams]
    survivors: list[_Beam] = []
    moves: list[_Move] = []
    # Beams are in job order, hence so are candidates.
    bounds = np.searchsorted(job_of_candidate, np.arange(len(jobs) + 1))
    for j in np.unique(job_of_candidate):
        lo, hi = bounds[j], bounds[j + 1]
        best = lo + _best(
            candidates.scores[lo:hi], candidates.symbols[lo:hi], candidates.beams[lo:hi], 2 * width
        )
        n_kept = 0
        for at in best:
            beam, symbol = beams[candidates.beams[at]], int(candidates.symbols[at])
            grown = _Beam(
                len(survivors),
                int(j),
                (*beam.symbols, symbol),
                float(candidates.scores[at]),
                candidates.successors.ranges[candidates.entries[at]],
            )
            ended = symbol == TITLE_END
            if jobs[j].kind == BODY or ended:
                jobs[j].keys.append(_key(grown.symbols, grown.logprob, grown.ranges, jobs[j].kind))
            if not ended and n_kept < width and step < jobs[j].steps:
                survivors.append(grown)
                moves.append(_Move(beam.row, int(candidates.tokens[at])))
                n_kept += 1
    return survivors, moves


class _Candidates(NamedTuple):
    """Attested (beam, symbol) pairs of one step, in the order of the beams."""

    beams: Ints  # [n], position in the list of beams
    symbols: Symbols  # [n]
    tokens: Ints  # [n], what the model writes for the symbol
    scores: np.ndarray[tuple[int], np.dtype[np.float64]]  # [n], log-probability of the whole n-gram
    entries: Ints  # [n], into `successors`
    successors: Successors


def _candidates(batch: _Batch, beams: list[_Beam], logprobs: Floats) -> _Candidates:
    """What may follow each beam: any token inside a field, or the end of a title that has begun."""
    # Beams of different queries often share a range (all do in the first step): ask once.
    ranges, which = np.unique(np.stack([beam.ranges for beam in beams]), axis=0, return_inverse=True)
    successors = batch.index.successors(np.ascontiguousarray(ranges))
    owner, entries = _expanded(successors.offsets, which.reshape(-1))
    symbols = successors.symbols[entries]
    may_end = np.array([batch.jobs[beam.job].kind == TITLE and len(beam.symbols) > 1 for beam in beams])
    ends = symbols == TITLE_END
    tokens = np.where(ends, batch.generator.title_end, symbols.astype(np.int64) - FIRST_TOKEN)
    allowed = (symbols >= FIRST_TOKEN) | (ends & may_end[owner])
    allowed &= tokens < logprobs.shape[1]
    owner, entries, symbols, tokens = owner[allowed], entries[allowed], symbols[allowed], tokens[allowed]
    so_far = np.array([beam.logprob for beam in beams])
    rows = np.array([beam.row for beam in beams])
    scores = so_far[owner] + logprobs[rows[owner], tokens]
    finite = np.isfinite(scores)
    return _Candidates(
        owner[finite], symbols[finite], tokens[finite], scores[finite], entries[finite], successors
    )


def _expanded(offsets: Ints, which: Ints) -> tuple[Ints, Ints]:
    """For owners that each point to a group of entries: owner and entry of every pair."""
    sizes = np.diff(offsets)[which]
    owner = np.repeat(np.arange(len(which)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return owner, np.repeat(offsets[which], sizes) + within


def _best(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], symbols: Symbols, beams: Ints, n: int
) -> Ints:
    """Positions of the n best, ties by symbol and then by beam."""
    chosen = np.arange(len(scores))
    if len(scores) > n:
        chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    order = np.lexsort((beams[chosen], symbols[chosen], -scores[chosen]))
    return chosen[order][:n]


def _score(
    jobs: list[_Job], forced: list[_Forced], logprobs: Floats, first_row: int
) -> tuple[list[_Forced], list[_Move]]:
    """One step of the query's n-grams: whole ones become keys; returns what goes on, and its moves.

    What goes on takes the session's rows from `first_row`, behind the beams.
    """
    going: list[_Forced] = []
    moves: list[_Move] = []
    for item in forced:
        for child in item.node.children:
            token = child.symbol - FIRST_TOKEN
            logprob = (
                item.logprob + float(logprobs[item.row, token]) if token < logprobs.shape[1] else -np.inf
            )
            if not np.isfinite(logprob):
                continue
            symbols = (*item.symbols, child.symbol)
            if child.whole:
                jobs[item.job].keys.append(_key(symbols, logprob, child.ranges, QUERY))
            if child.children:
                going.append(_Forced(first_row + len(going), item.job, child, symbols, logprob))
                moves.append(_Move(item.row, token))
    return going, moves


def _key(symbols: tuple[int, ...], logprob: float, ranges: Ints, kind: str) -> Key:
    count = int((ranges[:, 1] - ranges[:, 0]).sum())
    return Key(symbols, logprob, count, tuple(Range(int(lo), int(hi)) for lo, hi in ranges), kind)


def _unigrams(index: Index, logprobs: Floats, n: int) -> Unigrams:
    """The n most likely symbols of the index as the first of a body n-gram."""
    if n == 0:
        return _NO_UNIGRAMS
    first = index.first_symbols
    inside = (first.symbols >= FIRST_TOKEN) & (first.symbols < len(logprobs) + FIRST_TOKEN)
    symbols = first.symbols[inside]
    counts = (first.ranges[inside, :, 1] - first.ranges[inside, :, 0]).sum(axis=1)
    scores = logprobs[symbols.astype(np.int64) - FIRST_TOKEN].astype(np.float64)
    finite = np.isfinite(scores)
    symbols, counts, scores = symbols[finite], counts[finite], scores[finite]
    best = _best(scores, symbols, np.zeros(len(symbols), np.int64), n)
    return Unigrams(symbols[best], scores[best], counts[best])
