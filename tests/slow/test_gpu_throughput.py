"""The throughput script on a toy model: it runs without a GPU when told to, and says so when not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.bench.gpu_throughput import main
from tests.helpers import tiny
from tests.helpers.commands import Runner

pytestmark = pytest.mark.slow


def test_a_toy_model_on_a_cpu(tmp_path: Path, call: Runner) -> None:
    tiny.build(tmp_path / "index")
    arguments = ("--index", tmp_path / "index", "--device", "cpu", "--small", "--queries", 2)
    result = call(main, *arguments, "--beam", 3, "--output", tmp_path / "rows.json")
    assert result.code == 0, result.err
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert json.loads(result.out) == row
    assert row["queries"] == 2 and row["queries_per_second"] > 0
    assert set(row["shares"]) == {"model", "read", "constraint", "other", "rank"}
    assert 0.5 < sum(row["shares"].values()) <= 1.01
    assert 0.0 <= row["overlap_at_20_with_float32"] <= 1.0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_one_line_says_so(tmp_path: Path, call: Runner) -> None:
    result = call(main, "--index", tmp_path)
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1 and "no CUDA device" in result.err
