"""Weights of keys. Natural logarithms throughout; N is the index's number of tokens, F(n) a key's count."""

from __future__ import annotations

import numpy as np

from seal_ir.arrays import Doubles, Ints

# A probability that float32 rounds to 1 says "at least 1 - 2^-24", not "certain": the odds stay finite.
_HIGHEST_LOGPROB = -(2.0**-24)


def log_odds(logprobs: Doubles, counts: Ints, n_tokens: int, smoothing: float) -> Doubles:
    """Weights w(n, q) >= 0 of the LM+FM scoring function.

    The paper's equation 2: w = max(0, log [ P(n|q) (1 - P(n)) / (P(n) (1 - P(n|q))) ]) with
    P(n) = (F(n) + s) / (N + s).

    Args:
        logprobs: log P(n|q), float [n]; -inf gives weight 0.
        counts: F(n) >= 1, int [n].
        n_tokens: N.
        smoothing: s.
    """
    corpus = (counts + smoothing) / (n_tokens + smoothing)
    logprobs = np.minimum(logprobs, _HIGHEST_LOGPROB)
    with np.errstate(divide="ignore"):  # a corpus of one token has P(n) = 1, whose odds are infinite
        corpus_odds = np.log(corpus) - np.log1p(-np.minimum(corpus, 1.0))
    model_odds = logprobs - np.log(-np.expm1(logprobs))
    weights: Doubles = np.maximum(0.0, model_odds - corpus_odds)
    return weights
