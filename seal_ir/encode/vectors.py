"""A query's keys as texts with weights, and the unigrams that ranking may use."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.weights import log_odds, weigh
from seal_ir.records import QueryKeys, Unigrams
from seal_ir.text.symbols import FIRST_TOKEN

_MARGIN = 1e-9  # nats; far more than rounding, far less than what tells unigrams apart


def vector(keys: QueryKeys, index: Index, config: RankConfig) -> dict[str, float]:
    """Texts of the keys that count under `config` and their weights w(n, q), best first.

    Of keys that read alike (bytes that are no whole character, say) the one with the larger weight is there.
    Unigrams, which only fill what no key has taken, are not.
    """
    weights: dict[str, float] = {}
    for item in weigh(keys, config, index.n_tokens):  # by descending weight
        weights.setdefault(ngram_text(index, item.key.symbols), item.weight)
    return weights


def ngram_text(index: Index, symbols: tuple[int, ...]) -> str:
    """What an n-gram says: a title as `<title>Mont Blanc</title>`, all others verbatim, ` Mont Blanc`.

    A leading space is part of an n-gram of byte-level BPE: without it the tokens are others.
    """
    tokenizer = index.tokenizer
    if symbols[0] >= FIRST_TOKEN and symbols[-1] >= FIRST_TOKEN:
        return tokenizer.decode([symbol - FIRST_TOKEN for symbol in symbols])
    tags = {}
    for name, marks in index.whole_fields.items():
        tags.update({marks.start: f"<{name}>", marks.end: f"</{name}>"})
    parts = []
    for is_text, group in groupby(symbols, key=lambda symbol: symbol >= FIRST_TOKEN):
        if is_text:
            parts.append(tokenizer.decode_field([symbol - FIRST_TOKEN for symbol in group]))
        else:
            parts.extend(tags.get(symbol, "") for symbol in group)
    return "".join(parts)


def useful(unigrams: Unigrams, n_tokens: int) -> Unigrams:
    """The unigrams that have a weight under some smoothing; no ranking makes use of the others.

    P(n) = (F(n) + s) / (N + s) grows with s, so weights are largest without smoothing.
    """
    weights = log_odds(unigrams.logprobs + _MARGIN, unigrams.counts, n_tokens, 0.0)
    kept = np.flatnonzero(weights > 0.0)
    return Unigrams(unigrams.symbols[kept], unigrams.logprobs[kept], unigrams.counts[kept])
