"""Decoding and scoring by brute force, written from design/scoring-and-decoding.md: slow and plain.

Nothing here uses seal_ir's index, beam search or ranker; occurrences come from `tests.helpers.oracle`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from seal_ir.config import RankConfig
from tests.helpers import oracle

FIRST_TOKEN = 16
NGram = tuple[int, ...]
Streams = Sequence[Sequence[int]]
NextLogprobs = Callable[[Sequence[int]], Sequence[float]]  # written tokens -> log-probability by token


def beam_search(
    streams: Streams,
    following: NextLogprobs,
    *,
    marks: NGram,
    title_end: int,
    beam: int,
    steps: int,
    constrained: bool = True,
) -> list[tuple[NGram, float]]:
    """Keys of one prompt, step by step and best first within a step.

    `marks` are the symbols around a field that is written whole; () for what may be any substring. Without
    the constraint any token may follow, and of all that is written the keys are what occurs.
    """
    Hypothesis = tuple[NGram, list[int], float]  # symbols, tokens, log-probability  # noqa: N806
    end = marks[1] if marks else -1
    alive: list[Hypothesis] = [(marks[:1], [], 0.0)]
    keys: list[tuple[NGram, float]] = []
    for step in range(1, steps + 1):
        candidates = []
        for order, (symbols, tokens, logprob) in enumerate(alive):
            logprobs = following(tokens)
            follow = oracle.successors(streams, symbols)
            if not constrained:
                ends = [title_end] if marks else []  # then that token is an end and nothing else
                follow = [end, *(t + FIRST_TOKEN for t in range(len(logprobs)) if t not in ends)]
            for symbol in follow:
                if symbol == end and marks and len(symbols) > 1:
                    token = title_end
                elif symbol >= FIRST_TOKEN:
                    token = symbol - FIRST_TOKEN
                else:
                    continue
                if token >= len(logprobs) or logprobs[token] == -math.inf:
                    continue
                score = logprob + float(logprobs[token])
                candidates.append((-score, symbol, order, token))
        grown: list[Hypothesis] = []
        for negative, symbol, order, token in sorted(candidates)[: 2 * beam]:
            symbols, tokens, _ = alive[order]
            longer = (*symbols, symbol)
            if (not marks or symbol == end) and (constrained or oracle.count(streams, longer)):
                keys.append((longer, -negative))
            if symbol != end and len(grown) < beam and step < steps:
                grown.append((longer, [*tokens, token], -negative))
        alive = grown
    return keys


def log_odds(logprob: float, count: int, n_tokens: int, smoothing: float) -> float:
    """w(n, q) of LM+FM by the printed formula; for probabilities inside (0, 1)."""
    p = (count + smoothing) / (n_tokens + smoothing)
    q = math.exp(logprob)
    if p >= 1.0 or q <= 0.0:
        return 0.0
    return max(0.0, math.log(q * (1 - p) / (p * (1 - q))))


def scores(
    streams: Streams,
    keys: Sequence[tuple[NGram, float, str]],
    unigrams: Mapping[int, float],
    config: RankConfig,
    candidates_only: bool = True,
    n_hits: int = 0,
) -> dict[int, float]:
    """Score of every document that holds a key with F <= max_count (of any key, if not `candidates_only`).

    Where these are less than `n_hits`, documents of the next key by F are scored too, then those of the next.

    Args:
        streams: the documents.
        keys: n-grams that count under the config, with their log-probabilities and kinds; one may come twice.
        unigrams: log-probability by symbol.
        config: alpha, beta, smoothing, weight, score, max_count.
        candidates_only: whether max_count applies.
        n_hits: documents wanted.
    """
    n_tokens = sum(map(len, streams))
    counts = {ngram: oracle.count(streams, ngram) for ngram, _, _ in keys}
    weights: dict[NGram, float] = {}
    for ngram, logprob, kind in keys:
        weight = logprob
        if config.weight == "lm-fm":
            own = kind == "query"
            logprob *= config.query_trust ** max(1, math.log(10**7) / math.log(n_tokens)) if own else 1
            weight = log_odds(logprob, counts[ngram], n_tokens, config.smoothing)
            weight *= config.query_scale if own else 1
        weights[ngram] = max(weight, weights.get(ngram, -math.inf))
    if config.weight == "lm-fm":
        weights = {ngram: weight for ngram, weight in weights.items() if weight > 0}
    fills = {}
    for symbol, logprob in unigrams.items() if config.unigrams else ():
        weight = log_odds(logprob, oracle.count(streams, (symbol,)), n_tokens, config.smoothing)
        weight *= config.unigram_scale
        if weight > 0:  # what says nothing is not there, even where alpha is 0
            fills[symbol] = weight**config.alpha if config.unigram_alpha else weight
    found = {}
    max_count = config.max_count if candidates_only else math.inf
    candidates = {
        number
        for number, stream in enumerate(streams)
        if any(oracle.count([stream], ngram) for ngram in weights if counts[ngram] <= max_count)
    }
    frequent = [ngram for ngram in weights if counts[ngram] > max_count]
    for ngram in sorted(frequent, key=lambda ngram: (counts[ngram], -weights[ngram], ngram)):
        if len(candidates) < n_hits:
            candidates |= {number for number, _ in oracle.occurrences(streams, ngram)}
    for number in sorted(candidates):
        stream = streams[number]
        present = [ngram for ngram in weights if oracle.count([stream], ngram)]
        present.sort(key=lambda ngram: (-weights[ngram], ngram))
        if config.score == "max":
            best = weights[present[0]]
            found[number] = best**config.alpha if best > 0 else best
        else:
            found[number] = _intersective(stream, present, weights, fills, config)
    return found


def _intersective(
    stream: Sequence[int],
    present: list[NGram],
    weights: Mapping[NGram, float],
    fills: Mapping[int, float],
    config: RankConfig,
) -> float:
    taken: set[int] = set()  # positions
    seen: set[int] = set()  # C
    score = 0.0
    for ngram in present:
        spots = [set(range(end - len(ngram), end)) for _, end in oracle.occurrences([stream], ngram)]
        free = [spot for spot in spots if not spot & taken]
        new = len(set(ngram) - seen) / len(set(ngram))
        share = weights[ngram] ** config.alpha * (1 - config.beta + config.beta * new)
        if free and share > 0:
            score += share
            seen |= set(ngram)
            taken = taken.union(*free)
    for symbol in {symbol for position, symbol in enumerate(stream) if position not in taken}:
        score += fills.get(symbol, 0.0) * (1 - config.beta if symbol in seen else 1)
    return score


def ranking(found: Mapping[int, float], docids: Sequence[str], n: int) -> list[tuple[int, float]]:
    """Documents best first, ties by docid."""
    return sorted(found.items(), key=lambda item: (-item[1], docids[item[0]]))[:n]
