"""The decoding side of `--preset published`: a baseline for benchmarks, never the way to search.

It does what the published system is known to do, at the cost at which it does it: body and titles in
searches of their own, every beam as a row from the first step to the last, each beam's prefix looked up
from scratch in every step, a mask of the whole vocabulary per beam, all log-probabilities moved to numpy,
and a second pass of the model over all keys. What that system gets wrong stays out: every key occurs in
the corpus, and the second pass reads the prompts of decoding. So its keys are those of `beam.decode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.config import DecodeConfig
from seal_ir.decode.beam import Decoded
from seal_ir.decode.prompts import make_prompt, note_cut, room_for
from seal_ir.decode.query_ngrams import NgramNode, query_ngrams
from seal_ir.decode.rescore import cut_of, readings, replaced, rescore
from seal_ir.errors import shown
from seal_ir.index.reader import Index
from seal_ir.lm.next_tokens import Sound, step_of, unsound
from seal_ir.lm.protocols import Generator, Prompt, Session
from seal_ir.records import BODY, NO_UNIGRAMS, QUERY, TITLE, Key, QueryKeys, Unigrams
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END

_DEAD = -np.inf  # the score of a beam that fills a row and is nobody's
_PAD = 0  # token that a dead beam goes on with


class _Beam(NamedTuple):
    """A hypothesis: symbols so far and their log-probability. It has no range: that is the point."""

    symbols: tuple[int, ...]
    logprob: float


class _Candidate(NamedTuple):
    beam: int
    symbol: int
    token: int
    logprob: float


@dataclass(slots=True)
class _Job:
    """One prompt's search: always `beam` hypotheses, dead ones among them, and the keys so far."""

    query: int
    text: str  # of the query
    kind: str
    beams: list[_Beam]
    keys: list[tuple[tuple[int, ...], float]] = field(default_factory=list)
    first: list[float] = field(default_factory=list)  # the first step's distribution over the vocabulary


def decode(generator: Generator, index: Index, queries: Sequence[str], config: DecodeConfig) -> Decoded:
    """As `beam.decode`, whose arguments and results it has, log-probabilities within rounding."""
    keys: list[list[Key]] = [[] for _ in queries]
    unigrams = [NO_UNIGRAMS] * len(queries)
    cut: dict[int, int] = {}
    for kind, steps in ((BODY, config.body_steps), (TITLE, config.title_steps)):
        jobs, prompts = _jobs(generator, queries, kind, config, cut) if steps else ([], [])
        if jobs:
            _search(generator, index, jobs, prompts, steps)
        for job in jobs:
            keys[job.query].extend(_key(index, symbols, logprob, kind) for symbols, logprob in job.keys)
            if kind == BODY:
                unigrams[job.query] = _unigrams(index, job.first, config.unigrams)
    for number, query in enumerate(queries):
        if query.strip() and config.query_words:
            ngrams = _whole((), query_ngrams(index, query, config.query_words))
            keys[number].extend(_key(index, symbols, 0.0, QUERY) for symbols in ngrams)
    found = [QueryKeys(tuple(k), u) for k, u in zip(keys, unigrams, strict=True)]
    # Read again at once, whatever `config.rescore` says: the query's n-grams have no other score here.
    rescored = _rescored(generator, queries, found, config)
    for number, limit in rescored.cut.items():
        note_cut(cut, number, limit)
    return Decoded(rescored.queries, cut)


def _jobs(
    generator: Generator, queries: Sequence[str], kind: str, config: DecodeConfig, cut: dict[int, int]
) -> tuple[list[_Job], list[Prompt]]:
    template = generator.description.body if kind == BODY else generator.description.title
    start = () if kind == BODY else (BOUNDARY,)
    jobs, prompts = [], []
    for number, query in enumerate(queries):
        if query.strip():
            made = make_prompt(generator, template, query, room_for(kind, config))
            dead = [_Beam(start, _DEAD)] * (config.beam - 1)
            jobs.append(_Job(number, query, kind, [_Beam(start, 0.0), *dead]))
            prompts.append(made.prompt)
            note_cut(cut, number, made.limit)
    return jobs, prompts


def _search(generator: Generator, index: Index, jobs: list[_Job], prompts: list[Prompt], steps: int) -> None:
    """Run the jobs of one kind to their ends; their keys are added to them."""
    width = len(jobs[0].beams)
    session, n_rows = _session(generator, prompts, width)
    for step in range(1, steps + 1):
        following = Sound(session.following, lambda row: _named(jobs[row // n_rows], step))  # noqa: B023
        logprobs = following.whole(np.arange(len(jobs) * n_rows))
        rows, tokens = [], []
        for j, job in enumerate(jobs):
            # A model that is not expanded from the start has one row per prompt in the first step.
            mine = [j * n_rows + min(b, n_rows - 1) for b in range(width)]
            if step == 1 and job.kind == BODY:
                job.first = logprobs[mine[0]].tolist()
            candidates: list[_Candidate] = []
            for b, beam in enumerate(job.beams):
                found = _attested(generator, index, job.kind, beam, logprobs[mine[b]])
                if beam.logprob > _DEAD:
                    candidates += _best(b, beam.logprob, found, 2 * width)
            for candidate in _grow(job, candidates, width):
                rows.append(mine[candidate.beam])
                tokens.append(candidate.token)
        if step == steps or all(beam.logprob == _DEAD for job in jobs for beam in job.beams):
            return
        session.advance(np.array(rows), np.array(tokens))
        n_rows = width


def _named(job: _Job, step: int) -> str:
    return step_of(job.text, job.kind, step)


class _Attested(NamedTuple):
    """What may follow a beam; scores of the whole vocabulary, -inf for all that may not."""

    symbols: Ints
    tokens: Ints
    scores: Floats  # [vocabulary]


def _attested(generator: Generator, index: Index, kind: str, beam: _Beam, logprobs: Floats) -> _Attested:
    """The prefix is looked up from its first symbol, and its successors are marked in a new mask."""
    ranges = np.array(index.find(beam.symbols), dtype=np.int64)[None]
    symbols = index.successors(ranges).symbols.astype(np.int64)
    ends = symbols == TITLE_END
    tokens = np.where(ends, generator.title_end, symbols - FIRST_TOKEN)
    allowed = (symbols >= FIRST_TOKEN) | (ends & (kind == TITLE and len(beam.symbols) > 1))
    allowed &= tokens < len(logprobs)
    symbols, tokens = symbols[allowed], tokens[allowed]
    mask = np.full(len(logprobs), -np.inf, dtype=np.float32)
    mask[tokens] = 0.0
    return _Attested(symbols, tokens, logprobs + mask)


def _best(beam: int, so_far: float, found: _Attested, n: int) -> list[_Candidate]:
    """The n best continuations of one beam, and all that tie with the last of them."""
    scores = so_far + found.scores[found.tokens].astype(np.float64)
    chosen = np.flatnonzero(np.isfinite(scores))
    if len(chosen) > n:
        chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    return [
        _Candidate(beam, int(found.symbols[at]), int(found.tokens[at]), float(scores[at])) for at in chosen
    ]


def _grow(job: _Job, candidates: list[_Candidate], width: int) -> list[_Candidate]:
    """One step of one prompt: adds keys, and replaces the beams; what the new beams' rows go on with."""
    candidates.sort(key=lambda item: (-item.logprob, item.symbol, item.beam))
    beams: list[_Beam] = []
    chosen: list[_Candidate] = []
    for candidate in candidates[: 2 * width]:
        symbols = (*job.beams[candidate.beam].symbols, candidate.symbol)
        ended = candidate.symbol == TITLE_END
        if job.kind == BODY or ended:
            job.keys.append((symbols, candidate.logprob))
        if not ended and len(beams) < width:
            beams.append(_Beam(symbols, candidate.logprob))
            chosen.append(candidate)
    while len(beams) < width:
        beams.append(_Beam(job.beams[0].symbols, _DEAD))
        chosen.append(_Candidate(0, 0, _PAD, _DEAD))
    job.beams = beams
    return chosen


def _whole(before: tuple[int, ...], nodes: Sequence[NgramNode]) -> list[tuple[int, ...]]:
    """The whole n-grams below some nodes."""
    found = []
    for node in nodes:
        symbols = (*before, node.symbol)
        found += ([symbols] if node.whole else []) + _whole(symbols, node.children)
    return found


def _key(index: Index, symbols: tuple[int, ...], logprob: float, kind: str) -> Key:
    ranges = index.find(symbols)
    return Key(symbols, logprob, sum(hi - lo for lo, hi in ranges), ranges, kind)


def _unigrams(index: Index, logprobs: Sequence[float], n: int) -> Unigrams:
    """The n most likely tokens that occur, each counted on its own."""
    occurring = set(index.first_symbols.symbols.tolist()) if n else set()
    possible = [t for t, logprob in enumerate(logprobs) if t + FIRST_TOKEN in occurring and logprob > -np.inf]
    best = sorted(possible, key=lambda token: -logprobs[token])[:n]
    counts = [sum(hi - lo for lo, hi in index.find((token + FIRST_TOKEN,))) for token in best]
    symbols = np.array([token + FIRST_TOKEN for token in best], dtype=np.uint32)
    scores = np.array([logprobs[token] for token in best], dtype=np.float64)
    return Unigrams(symbols, scores, np.array(counts, dtype=np.int64))


def _session(generator: Generator, prompts: list[Prompt], width: int) -> tuple[Session, int]:
    """A session, and how many rows each prompt has in it at first."""
    if not hasattr(generator.model, "start_tokens"):
        return generator.model.start(prompts), 1
    from seal_ir.published.network import ExpandedSession  # torch is loaded here, not before

    return ExpandedSession(generator.model, prompts, width), width


def _rescored(
    generator: Generator, queries: Sequence[str], found: list[QueryKeys], config: DecodeConfig
) -> Decoded:
    """New log-probabilities for all keys: every key read for itself, where the model has an encoder."""
    if not hasattr(generator.model, "start_tokens"):
        return rescore(generator, queries, found, config)
    from seal_ir.published.network import read_keys

    scores: dict[tuple[int, int], float] = {}
    parts = readings(generator, queries, found, config)
    for prompt, continuations, _ in parts:
        logprobs = read_keys(generator.model, prompt, [item.tokens for item in continuations])
        if np.isnan(logprobs).any():
            raise unsound(f"query {shown(queries[continuations[0].query])}: its keys, read again")
        scores.update(
            {(item.query, item.key): logprob for item, logprob in zip(continuations, logprobs, strict=True)}
        )
    return Decoded(replaced(found, scores), cut_of(parts))
