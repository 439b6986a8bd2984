"""What schemathesis makes of the OpenAPI description: right, wrong and odd requests for every route."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.records import Hit
from seal_ir.server import bm25
from tests.helpers import serving, tiny
from tests.helpers.serving import KEY

pytest.importorskip("schemathesis")
HITS = [Hit("d1", 2.5), Hit("d2", 0.5)]
_RUN = "from schemathesis.cli import schemathesis; schemathesis()"


@pytest.mark.slow
@pytest.mark.parametrize("has_bm25", [False, True])
def test_f3_schemathesis_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_bm25: bool
) -> None:
    tiny.build(tmp_path / "i")
    served = serving.served(tmp_path / "i")
    if has_bm25:  # and does not write, as BM25 has nothing to say then
        monkeypatch.setattr(bm25, "search", lambda lucene, topics, _: [(each, HITS) for each in topics])
        served = replace(served, bm25=bm25.Bm25Ranking(tmp_path, served.searcher.index.manifest.to_json()))
    with serving.running(served, key=KEY, writable=not has_bm25) as url:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, "run", f"{url}/openapi.json", "--header", f"X-API-Key: {KEY}",
             "--max-examples", os.environ.get("SEAL_IR_EXAMPLES", "20"), "--seed", "1", "--no-color"],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "110"},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout, done.stdout
