"""This package loads no OpenMP runtime beside those that torch and Faiss bring, in whatever order."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import seal_ir

MODULES = sorted(Path(seal_ir.__file__).parent.glob("_*.so"))
# What each import is followed by: work that its threads share.
WORK = {
    "torch": "torch.ones(300, 300) @ torch.ones(300, 300)",
    "faiss": "faiss.IndexFlatIP(8).search(numpy.ones((9, 8), numpy.float32), 1)",
    "seal_ir": "import seal_ir._native, seal_ir._rank, seal_ir.search.searcher",
}
PROGRAM = """
import os, re, numpy
before = set(os.environ)
{imports}
{work}
assert "KMP_DUPLICATE_LIB_OK" not in set(os.environ) - before
with open("/proc/self/maps") as maps:
    print(*sorted({{line.split()[-1] for line in maps if re.search(r"/lib[gi]?omp[^/]*$", line)}}))
"""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name.partition(".")[0])
def test_e3_no_module_of_ours_asks_for_an_openmp_runtime(path: Path) -> None:
    assert not re.findall(rb"lib[gi]?omp\d*\.so[\w.]*", path.read_bytes())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "order",
    [("faiss", "torch", "seal_ir"), ("torch", "seal_ir", "faiss"), ("seal_ir", "faiss", "torch")],
    ids=" ".join,
)
def test_e3_faiss_torch_and_this_package_work_in_any_order(order: tuple[str, ...]) -> None:
    pytest.importorskip("faiss")
    imports, work = (f"import {', '.join(order)}", "\n".join(WORK[name] for name in order))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(imports=imports, work=work)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all("/torch/" in path or "/faiss" in path for path in done.stdout.split()), done.stdout
