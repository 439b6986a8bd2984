"""Ranking documents by the keys that they contain. No model, no files: an index, keys and settings.

1. Keys get weights; those of weight zero are dropped.
2. Candidates are the documents that hold a rare key, F(n) <= max_count; locating the rare keys finds them.
3. A candidate's first score uses the rare keys alone, whose positions are known by then. The best
   MAX_SCORED candidates go on.
4. These are read from the index, frequent keys and unigrams are found in them, and the score is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.candidates import Candidates, Occurrence, locate, preselect
from seal_ir.rank.coverage import WeightedKey, cover, fill
from seal_ir.rank.weights import log_odds
from seal_ir.records import BODY, UNIGRAM, Key, QueryKeys, Ranked, ScoredKey, Unigrams
from seal_ir.text.symbols import Symbols

MAX_SCORED = 1500


def weigh(query_keys: QueryKeys, config: RankConfig, n_tokens: int) -> list[ScoredKey]:
    """The keys that count under `config`, once each, by descending weight; ties by symbols.

    Of two keys with the same symbols the more likely one counts; keys that say nothing (weight 0 of
    LM+FM, probability 0 of LM) are left out.
    """
    best: dict[tuple[int, ...], Key] = {}
    for key in query_keys.keys:
        if key.kind not in config.kinds or (
            config.length and not (key.kind == BODY and len(key.symbols) == config.length)
        ):
            continue
        known = best.get(key.symbols)
        if known is None or key.logprob > known.logprob:
            best[key.symbols] = key
    keys = list(best.values())
    logprobs = np.array([key.logprob for key in keys], dtype=np.float64)
    counts = np.array([key.count for key in keys], dtype=np.int64)
    if config.weight == "lm":
        weights, least = logprobs, -np.inf
    else:
        weights, least = log_odds(logprobs, counts, n_tokens, config.smoothing), 0.0
    scored = [ScoredKey(key, float(w)) for key, w in zip(keys, weights, strict=True) if w > least]
    return sorted(scored, key=lambda item: (-item.weight, item.key.symbols))


def rank(
    index: Index, query_keys: QueryKeys, config: RankConfig, n_hits: int, max_scored: int = MAX_SCORED
) -> list[Ranked]:
    """The best documents for a query's keys, best first; ties by docid.

    Every score is exact. The list equals exhaustive scoring of all candidates as long as there are at
    most `max_scored` of them; beyond that a document is lost if its rare keys alone rank it lower.

    Args:
        index: where the keys' ranges come from.
        query_keys: what the model wrote.
        config: how keys become scores.
        n_hits: length of the list.
        max_scored: how many candidates are read and scored in full.
    """
    keys = weigh(query_keys, config, index.n_tokens)
    candidates = locate(index, [item.key for item in keys], config.max_count)
    scorer = _scorer(index, keys, query_keys.unigrams, config)
    results = scorer.exact(candidates, scorer.preselected(candidates, max(max_scored, n_hits)))
    docids = {result.document: index.docid(result.document) for result in results}
    results.sort(key=lambda result: (-result.score, docids[result.document]))
    return results[:n_hits]


@dataclass(frozen=True, slots=True)
class _Scorer:
    """The settings and the query's keys in the form that scoring wants."""

    index: Index
    keys: list[ScoredKey]
    powers: list[WeightedKey]
    frequent: list[int]
    unigrams: NDArray[np.float64]  # weight by symbol, possibly empty
    unigram_ranges: dict[int, Key]
    config: RankConfig

    def preselected(self, candidates: Candidates, n: int) -> list[int]:
        """The n candidates that score best by their rare keys alone, in document order."""
        weights = np.array([key.weight for key in self.powers])

        def docid(i: int) -> str:
            return self.index.docid(int(candidates.documents[i]))

        if self.config.score == "max":
            best = weights[candidates.best_keys()]
            return preselect(lambda i: float(best[i]), best, n, docid)
        # Shares are at most w^alpha and no key counts twice; rounding of the sum is on the safe side.
        bounds = candidates.totals(weights) * (1.0 + 1e-12)

        def score(i: int) -> float:
            pairs = candidates.occurrences(i)
            length = max(end for _, end in pairs)
            return cover(self.powers, pairs, length, self.config.beta).score

        return preselect(score, bounds, n, docid)

    def exact(self, candidates: Candidates, chosen: list[int]) -> list[Ranked]:
        """Full scores of the chosen candidates."""
        documents = candidates.documents[chosen].tolist()
        if self.config.score == "max":
            best = candidates.best_keys()[chosen]
            if not self.frequent or not len(best) or best.max() < self.frequent[0]:
                return [self._best_key(*pair) for pair in zip(documents, best.tolist(), strict=True)]
        streams = self.index.streams(documents)
        extra = self._frequent_occurrences(streams)
        results = []
        for i, document, stream, more in zip(chosen, documents, streams, extra, strict=True):
            pairs = sorted([*candidates.occurrences(i), *more])
            if self.config.score == "max":
                results.append(self._best_key(document, pairs[0][0]))
            else:
                results.append(self._intersective(document, stream, pairs))
        return results

    def _best_key(self, document: int, number: int) -> Ranked:
        share = self.powers[number].weight
        return Ranked(document, share, (ScoredKey(self.keys[number].key, share),))

    def _intersective(self, document: int, stream: Symbols, pairs: list[Occurrence]) -> Ranked:
        coverage = cover(self.powers, pairs, len(stream), self.config.beta)
        matched = [ScoredKey(self.keys[number].key, share) for number, share in coverage.taken]
        if len(self.unigrams):
            for symbol, share in fill(coverage, stream, self.unigrams, self.config.beta):
                matched.append(ScoredKey(self.unigram_ranges[symbol], share))
        return Ranked(document, float(sum(item.weight for item in matched)), tuple(matched))

    def _frequent_occurrences(self, streams: list[Symbols]) -> list[list[Occurrence]]:
        """Occurrences of the frequent keys in documents, which are searched all at once."""
        found: list[list[Occurrence]] = [[] for _ in streams]
        if not self.frequent or not streams:
            return found
        text = np.concatenate(streams)
        bounds = np.cumsum([0, *map(len, streams)])
        for number in self.frequent:
            symbols = self.keys[number].key.symbols
            n = len(symbols)
            starts = np.flatnonzero(text[: max(0, len(text) - n + 1)] == symbols[0])
            for k in range(1, n):
                starts = starts[text[starts + k] == symbols[k]]
            owner = np.searchsorted(bounds, starts, side="right") - 1
            # A match that runs into the next document is none; there a key would hold its BOUNDARY.
            inside = starts + n <= bounds[owner + 1]
            for at, document in zip(starts[inside].tolist(), owner[inside].tolist(), strict=True):
                found[document].append((number, at + n - int(bounds[document])))
        return found


class _UnigramWeights(NamedTuple):
    by_symbol: NDArray[np.float64]
    keys: dict[int, Key]


def _scorer(index: Index, keys: list[ScoredKey], unigrams: Unigrams, config: RankConfig) -> _Scorer:
    alpha = config.alpha
    powers = [
        WeightedKey(
            item.weight**alpha if item.weight >= 0 else item.weight,
            len(item.key.symbols),
            frozenset(item.key.symbols),
        )
        for item in keys
    ]
    frequent = [i for i, item in enumerate(keys) if item.key.count > config.max_count]
    weights = _unigram_weights(index, unigrams, config)
    return _Scorer(index, keys, powers, frequent, weights.by_symbol, weights.keys, config)


def _unigram_weights(index: Index, unigrams: Unigrams, config: RankConfig) -> _UnigramWeights:
    if not config.unigrams or not len(unigrams.symbols):
        return _UnigramWeights(np.empty(0), {})
    weights = log_odds(unigrams.logprobs, unigrams.counts, index.n_tokens, config.smoothing)
    positive = np.flatnonzero(weights > 0.0)
    symbols = unigrams.symbols[positive]
    by_symbol = np.zeros(int(symbols.max()) + 1 if len(symbols) else 0)
    power = config.alpha if config.unigram_alpha else 1.0
    by_symbol[symbols] = weights[positive] ** power
    keys = {
        int(unigrams.symbols[i]): Key(
            (int(unigrams.symbols[i]),), float(unigrams.logprobs[i]), int(unigrams.counts[i]), (), UNIGRAM
        )
        for i in positive
    }
    return _UnigramWeights(by_symbol, keys)
