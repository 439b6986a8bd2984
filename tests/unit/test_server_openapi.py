"""What schemathesis makes of the OpenAPI description: right, wrong and odd requests for every route."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import serving, tiny
from tests.helpers.serving import KEY

pytest.importorskip("schemathesis")
_RUN = "from schemathesis.cli import schemathesis; schemathesis()"


@pytest.mark.slow
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    tiny.build(tmp_path / "i")
    with serving.running(serving.served(tmp_path / "i"), key=KEY, writable=True) as url:
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
