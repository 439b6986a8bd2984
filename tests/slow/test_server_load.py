"""Many clients at once on the default model: no answer is lost or wrong, and batches gain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import bench_server
from tests.helpers.commands import spawn

pytestmark = pytest.mark.slow


def test_a_server_under_load(tmp_path: Path) -> None:
    built = spawn("seal_ir.index", "--input", "collections/demo/corpus.jsonl", "--index", tmp_path / "demo")
    assert built.code == 0, built.err
    told = bench_server.main(
        ["--index", str(tmp_path / "demo"), "--clients", "16", "--seconds", "4", "--n-topics", "8"]
    )
    assert told["lost"] == told["wrong"] == told["wrong_in_the_burst"] == 0
    assert set(told["statuses_of_the_burst"]) == {200, 429}
    assert told["refused_without_retry_after"] == 0
    assert told["cpu_gain"] > 1.5  # 2 and more with 64 clients; here few batches are full
    assert told["mean_batch"] > 2
