"""The ranker's score as a differentiable function of log-probabilities, and the losses over it."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from seal_ir.rank.weights import HIGHEST_LOGPROB
from seal_ir.train.rank.evidence import Evidence, Weighing

_NOT_COUNTED = -1e9


def log_odds(logprobs: torch.Tensor, counts: torch.Tensor, weighing: Weighing) -> torch.Tensor:
    """Weights w(n, q) >= 0, as `seal_ir.rank.weights.log_odds`; float64 [n]."""
    logprobs = logprobs.double().clamp(max=HIGHEST_LOGPROB)
    corpus = (counts.double() + weighing.smoothing) / (weighing.n_tokens + weighing.smoothing)
    corpus_odds = torch.log(corpus) - torch.log1p(-corpus.clamp(max=1.0))
    return functional.relu(logprobs - torch.log(-torch.expm1(logprobs)) - corpus_odds)


def scores(evidence: Evidence, logprobs: torch.Tensor) -> torch.Tensor:
    """The candidates' scores, float64 [d]: sums of c * w^power over the parts that each has taken.

    Args:
        evidence: a question's.
        logprobs: [keys + unigrams], log P of each part under the model as it is now.
    """
    device = logprobs.device
    weighing = evidence.weighing
    counts = np.concatenate([[key.count for key in evidence.keys], evidence.unigram_counts])
    powers = weighing.powers(len(evidence.keys), len(counts))
    trusted = logprobs.double() * torch.from_numpy(evidence.trusts).to(device)
    weights = log_odds(trusted, torch.from_numpy(counts).to(device), weighing)
    raised = weights ** torch.from_numpy(powers).to(device)
    rows, parts, factors = (
        torch.from_numpy(values).to(device) for values in (evidence.rows, evidence.parts, evidence.factors)
    )
    found = torch.zeros(len(evidence.documents), dtype=torch.float64, device=device)
    return found.index_add(0, rows, raised[parts] * factors)


def cross_entropy(units: torch.Tensor, evidence: Evidence) -> torch.Tensor:
    """-log of the share of the positives in the softmax over positives and negatives.

    Args:
        units: [d], scores over the temperature.
        evidence: says which is which.
    """
    positive, counted = _sides(units, evidence)
    every = torch.logsumexp(units.masked_fill(~(positive | counted), _NOT_COUNTED), 0)
    return every - torch.logsumexp(units.masked_fill(~positive, _NOT_COUNTED), 0)


def margin(units: torch.Tensor, evidence: Evidence, least: float) -> torch.Tensor:
    """Mean over pairs of positive and negative of max(0, least - (u+ - u-)), as LTRGR (Li et al. 2023).

    A question whose candidates are all positive, as among few documents, has no pair and a loss of 0.
    """
    positive, counted = _sides(units, evidence)
    gaps = units[positive][:, None] - units[counted][None, :]
    return functional.relu(least - gaps).sum() / max(1, gaps.numel())


def _sides(units: torch.Tensor, evidence: Evidence) -> tuple[torch.Tensor, torch.Tensor]:
    return tuple(  # type: ignore[return-value]
        torch.from_numpy(values).to(units.device) for values in (evidence.positive, evidence.counted)
    )
