"""Reading next-token distributions: the same numbers in the host's memory and where a model is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seal_ir.lm.next_tokens import DeviceTokens, HostTokens, next_tokens
from seal_ir.lm.protocols import NextTokens

KINDS = ["host", "device"]


def _logits(
    n_rows: int, n_vocabulary: int, levels: int = 0, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    logits = torch.randn(n_rows, n_vocabulary, generator=torch.Generator().manual_seed(n_vocabulary)) * 3
    return (logits.mul(levels).round() / levels if levels else logits).to(dtype)


def _following(kind: str, logits: torch.Tensor) -> NextTokens:
    following = next_tokens(logits) if kind == "host" else DeviceTokens(logits)
    assert isinstance(following, HostTokens) == (kind == "host")
    return following


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_log_softmax_in_float32(kind: str, dtype: torch.dtype) -> None:
    logits = _logits(20, 1000, dtype=dtype)
    expected = torch.log_softmax(logits.float(), -1).numpy()
    rng = np.random.default_rng(0)
    rows, tokens = rng.integers(0, 20, 300), rng.integers(0, 1000, 300)
    following = _following(kind, logits)
    read = following.read(rows, tokens, np.array([19, 3]), 5)
    assert read.logprobs.dtype == read.top_logprobs.dtype == np.float32
    assert np.array_equal(read.logprobs, expected[rows, tokens])
    assert np.array_equal(following.whole(np.array([2, 0])), expected[[2, 0]])
    assert following.n_vocabulary == 1000


@pytest.mark.parametrize("levels", [0, 1], ids=["distinct", "ties"])
@pytest.mark.parametrize(
    ("n_vocabulary", "k"), [(7, 7), (50, 1), (50, 49), (1000, 5), (4096, 64), (4097, 448)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_tokens_are_the_best_and_come_best_first(
    kind: str, n_vocabulary: int, k: int, levels: int
) -> None:
    logits = _logits(11, n_vocabulary, levels)
    expected = torch.log_softmax(logits, -1).numpy()
    rows = np.array([4, 0, 10, 9, 8])
    nothing = np.empty(0, np.int64)
    read = _following(kind, logits).read(nothing, nothing, rows, k)
    assert read.top_tokens.shape == read.top_logprobs.shape == (5, k)
    assert read.top_tokens.dtype == np.int64
    for row, tokens, logprobs in zip(rows, read.top_tokens, read.top_logprobs, strict=True):
        assert len(set(tokens.tolist())) == k
        assert np.array_equal(logprobs, expected[row, tokens])
        assert np.array_equal(logprobs, np.sort(expected[row])[::-1][:k])


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_read_of_nothing(kind: str) -> None:
    nothing = np.empty(0, np.int64)
    following = _following(kind, _logits(3, 50))
    read = following.read(nothing, nothing, nothing, 4)
    assert (len(read.logprobs), read.top_tokens.shape) == (0, (0, 4))
    assert following.whole(nothing).shape == (0, 50)


def test_a_row_that_is_not_a_number_is_no_crash() -> None:
    logits = _logits(2, 300)
    logits[1, 5] = torch.nan
    read = next_tokens(logits).read(np.array([0, 1]), np.array([3, 3]), np.array([0, 1]), 4)
    assert np.isfinite(read.logprobs).tolist() == [True, False]
    assert np.isnan(read.top_logprobs[1]).all() and np.isfinite(read.top_logprobs[0]).all()
