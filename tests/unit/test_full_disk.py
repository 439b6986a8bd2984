"""A real disk that is full, at each page and each file that a change may lack: what was there stays."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.helpers.commands import ROOT
from tests.helpers.filling import BLOCKS, CHANGES, FILES, can_mount, command


@pytest.fixture(scope="module", autouse=True)
def _mounting() -> None:
    if not can_mount():
        pytest.skip("this system lets no process mount a disk of its own")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "sdsl"])
@pytest.mark.parametrize("limit", [BLOCKS, FILES])
@pytest.mark.parametrize("kind", CHANGES)
def test_a_disk_that_fills_leaves_the_last_commit_and_one_sentence(
    kind: str, limit: str, engine: str
) -> None:
    done = subprocess.run(command(kind, engine, limit), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failed"] >= 5
    for line in found["said"]:
        assert line.startswith(("DISK/index: cannot write the index: ", "the index cannot be written: "))
        assert re.search(
            r"No space left on device$|room on its disk\?$|is full|full\?$|cannot be written to$", line
        )
