"""Ranking in plain Python, one document after another, none left out: what the C++ ranking must equal.

Unlike `tests.helpers.reference` it uses the index and the weights of seal_ir, so that it can score the
thousands of candidates of a real query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.weights import log_odds, weigh
from seal_ir.records import QueryKeys, ScoredKey

Occurrence = tuple[int, int]  # number of the key, exclusive end


def scores(index: Index, query_keys: QueryKeys, config: RankConfig, n_hits: int = 0) -> dict[int, float]:
    """The score of every candidate; those of frequent keys too, where rare keys are in less than `n_hits`."""
    keys = weigh(query_keys, config, index.n_tokens)
    powers = [item.weight**config.alpha if item.weight > 0 else item.weight for item in keys]
    candidates = _located(index, keys, config.max_count)
    for document in _further(index, keys, config.max_count, set(candidates), n_hits):
        candidates[document] = []
    documents = sorted(candidates)
    frequent: dict[int, list[int]] = defaultdict(list)  # by first symbol
    for number, item in enumerate(keys):
        if item.key.count > config.max_count:
            frequent[item.key.symbols[0]].append(number)
    unigrams = _unigram_weights(query_keys, config, index.n_tokens)
    found = {}
    for document, stream in zip(documents, map(list, index.streams(documents)), strict=True):
        occurrences = set(candidates[document])
        for start, symbol in enumerate(stream):
            for number in frequent.get(symbol, ()):
                symbols = keys[number].key.symbols
                if tuple(stream[start : start + len(symbols)]) == symbols:
                    occurrences.add((number, start + len(symbols)))
        if config.score == "max":
            found[document] = powers[min(occurrences)[0]]
        else:
            found[document] = _intersective(keys, powers, sorted(occurrences), stream, unigrams, config.beta)
    return found


def _located(index: Index, keys: Sequence[ScoredKey], max_count: int) -> dict[int, list[Occurrence]]:
    rare = [number for number, item in enumerate(keys) if item.key.count <= max_count]
    occurrences = index.locate(keys[number].key.ranges for number in rare)
    found: dict[int, list[Occurrence]] = defaultdict(list)
    for i, number in enumerate(rare):
        for row in range(occurrences.offsets[i], occurrences.offsets[i + 1]):
            found[int(occurrences.documents[row])].append((number, int(occurrences.ends[row])))
    return found


def _further(
    index: Index, keys: Sequence[ScoredKey], max_count: int, known: set[int], n_hits: int
) -> set[int]:
    """Documents of frequent keys, the rarest first and each as a whole, until there are `n_hits`."""
    found = set(known)
    frequent = [number for number, item in enumerate(keys) if item.key.count > max_count]
    for number in sorted(frequent, key=lambda number: (keys[number].key.count, number)):
        if len(found) < n_hits:
            found |= set(index.locate([keys[number].key.ranges]).documents.tolist())
    return found - known


def _unigram_weights(query_keys: QueryKeys, config: RankConfig, n_tokens: int) -> dict[int, float]:
    if not config.unigrams:
        return {}
    symbols, logprobs, counts = query_keys.unigrams
    weights = config.unigram_scale * log_odds(logprobs, counts, n_tokens, config.smoothing)
    power = config.alpha if config.unigram_alpha else 1.0
    return {int(s): float(w) ** power for s, w in zip(symbols, weights, strict=True) if w > 0}


def _intersective(
    keys: Sequence[ScoredKey],
    powers: Sequence[float],
    occurrences: list[Occurrence],
    stream: list[int],
    unigrams: dict[int, float],
    beta: float,
) -> float:
    """Keys in descending weight, none over an earlier one (the paper's equation 4), then unigrams."""
    occupied = [False] * len(stream)
    seen: set[int] = set()  # C
    total = 0.0
    for number in sorted({number for number, _ in occurrences}):
        symbols = keys[number].key.symbols
        n = len(symbols)
        ends = [end for other, end in occurrences if other == number]
        free = [end for end in ends if not any(occupied[end - n : end])]
        share = powers[number] * (1 - beta + beta * len(set(symbols) - seen) / len(set(symbols)))
        if not free or share <= 0:
            continue
        total += share
        seen |= set(symbols)
        for end in free:
            occupied[end - n : end] = [True] * n
    for symbol in {symbol for symbol, taken in zip(stream, occupied, strict=True) if not taken}:
        total += unigrams.get(symbol, 0.0) * (1 - beta if symbol in seen else 1.0)
    return total
