"""The ranking side of `--preset published`: a baseline for benchmarks, never the way to search.

The scores are those of `ranker.rank`; the cost is the published system's: plain Python all through, keys
located row by row, candidates in dicts, at most 1,500 documents read from the index one by one and
searched for all keys.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.records import BODY, UNIGRAM, Key, QueryKeys, Ranked, ScoredKey

_MAX_DOCUMENTS = 1500
_HIGHEST_LOGPROB = -(2.0**-24)  # as in weights.py
_Places = dict[int, list[int]]  # number of a key -> exclusive ends of its occurrences in one document


class _Cover(NamedTuple):
    """What the keys of a document have taken."""

    shares: list[tuple[int, float]]
    symbols: set[int]
    occupied: list[bool]


def rank(index: Index, query_keys: QueryKeys, config: RankConfig, n_hits: int) -> list[Ranked]:
    """As `ranker.rank`, whose arguments and results it has; `lm` and `max` are not part of this baseline."""
    keys = _weighed(query_keys, config, index.n_tokens)
    unigrams = _unigram_weights(query_keys, config, index.n_tokens)
    located = _located(index, keys, config.max_count)
    first = {document: _first_score(keys, places, config) for document, places in located.items()}
    docids = {document: index.docid(document) for document in first}
    best = sorted(first, key=lambda document: (-first[document], docids[document]))
    by_first: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(keys):
        by_first[item.key.symbols[0]].append(number)
    results = []
    for document in best[: max(_MAX_DOCUMENTS, n_hits)]:
        stream = index.streams([document])[0].tolist()
        places = _searched(stream, keys, by_first)
        cover = _covered(keys, places, len(stream), config)
        matched = [ScoredKey(keys[number].key, share) for number, share in cover.shares]
        matched += _filled(stream, cover, unigrams, config.beta)
        results.append(Ranked(document, float(sum(item.weight for item in matched)), tuple(matched)))
    results.sort(key=lambda result: (-result.score, docids[result.document]))
    return results[:n_hits]


def _weight(logprob: float, count: int, n_tokens: int, smoothing: float) -> float:
    """Equation 2 of the paper, as in weights.py."""
    if logprob == -math.inf:
        return 0.0
    corpus = (count + smoothing) / (n_tokens + smoothing)
    if corpus >= 1.0:
        return 0.0
    logprob = min(logprob, _HIGHEST_LOGPROB)
    model_odds = logprob - math.log(-math.expm1(logprob))
    return max(0.0, model_odds - (math.log(corpus) - math.log1p(-corpus)))


def _weighed(query_keys: QueryKeys, config: RankConfig, n_tokens: int) -> list[ScoredKey]:
    """The keys that count, once each, by descending weight; ties by symbols."""
    best: dict[tuple[int, ...], Key] = {}
    for key in query_keys.keys:
        if key.kind not in config.kinds:
            continue
        if config.length and not (key.kind == BODY and len(key.symbols) == config.length):
            continue
        if key.symbols not in best or key.logprob > best[key.symbols].logprob:
            best[key.symbols] = key
    scored = [
        ScoredKey(key, _weight(key.logprob, key.count, n_tokens, config.smoothing)) for key in best.values()
    ]
    scored = [item for item in scored if item.weight > 0.0]
    return sorted(scored, key=lambda item: (-item.weight, item.key.symbols))


def _unigram_weights(query_keys: QueryKeys, config: RankConfig, n_tokens: int) -> dict[int, ScoredKey]:
    """Weight of each symbol that fills free places."""
    weights: dict[int, ScoredKey] = {}
    found = query_keys.unigrams
    if not config.unigrams:
        return weights
    power = config.alpha if config.unigram_alpha else 1.0
    for symbol, logprob, count in zip(
        found.symbols.tolist(), found.logprobs.tolist(), found.counts.tolist(), strict=True
    ):
        weight = _weight(logprob, count, n_tokens, config.smoothing)
        if weight > 0.0:
            weights[symbol] = ScoredKey(Key((symbol,), logprob, count, (), UNIGRAM), weight**power)
    return weights


def _located(index: Index, keys: Sequence[ScoredKey], max_count: int) -> dict[int, _Places]:
    """Where the rare keys occur, by document, row by row."""
    located: dict[int, _Places] = {}
    for number, item in enumerate(keys):
        if item.key.count <= max_count:
            for segment, (lo, hi) in enumerate(item.key.ranges):
                for row in range(lo, hi):
                    document, end = index.locate_row(segment, row)
                    located.setdefault(document, {}).setdefault(number, []).append(end)
    return located


def _first_score(keys: Sequence[ScoredKey], places: _Places, config: RankConfig) -> float:
    """A document's score by its rare keys alone, whose places are known."""
    ordered = {number: sorted(places[number]) for number in sorted(places)}
    length = max(max(ends) for ends in ordered.values())
    return sum(share for _, share in _covered(keys, ordered, length, config).shares)


def _searched(stream: list[int], keys: Sequence[ScoredKey], by_first: dict[int, list[int]]) -> _Places:
    """Every occurrence of every key in a document, keys by descending weight."""
    places: _Places = {}
    for start, symbol in enumerate(stream):
        for number in by_first.get(symbol, ()):
            symbols = keys[number].key.symbols
            if tuple(stream[start : start + len(symbols)]) == symbols:
                places.setdefault(number, []).append(start + len(symbols))
    return {number: places[number] for number in sorted(places)}


def _covered(keys: Sequence[ScoredKey], places: _Places, length: int, config: RankConfig) -> _Cover:
    """Equation 4 of the paper: keys by descending weight, none overlapping an earlier one."""
    cover = _Cover([], set(), [False] * length)
    for number, ends in places.items():
        symbols = keys[number].key.symbols
        n = len(symbols)
        free = [end for end in ends if not any(cover.occupied[end - n : end])]
        if not free:
            continue
        distinct = set(symbols)
        new = len(distinct - cover.symbols) / len(distinct)
        share = keys[number].weight ** config.alpha * (1.0 - config.beta + config.beta * new)
        if share <= 0.0:
            continue
        for end in free:
            for position in range(end - n, end):
                cover.occupied[position] = True
        cover.symbols.update(distinct)
        cover.shares.append((number, share))
    return cover


def _filled(stream: list[int], cover: _Cover, unigrams: dict[int, ScoredKey], beta: float) -> list[ScoredKey]:
    """Symbols at places that no key has taken, each once."""
    filled = []
    free = {symbol for symbol, taken in zip(stream, cover.occupied, strict=True) if not taken}
    for symbol in sorted(free):
        if symbol in unigrams:
            weight = unigrams[symbol].weight
            share = weight * (1.0 - beta) if symbol in cover.symbols else weight
            if share > 0.0:
                filled.append(ScoredKey(unigrams[symbol].key, share))
    return filled
