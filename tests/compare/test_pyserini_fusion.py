"""Our fusion of two runs against Pyserini's: the same documents, order and scores, to the last bit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.formats.runs.trec import read_run
from seal_ir.search.fusion import Entry, Fusion, best, fuse

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]

N_CASES = 40
K = 15  # entries that are kept

# Pyserini's own functions on its own reading of the files. What is normalised there is the whole file, so the
# files are cut to the depth first.
SCRIPT = """
import json, sys
from pathlib import Path
from pyserini.fusion import interpolation, reciprocal_rank_fusion
from pyserini.trectools import RescoreMethod, TrecRun

found = []
for case in json.loads(Path("cases.json").read_text()):
    runs = [TrecRun(case[name]) for name in ("first", "second")]
    if case["method"] == "rrf":
        fused = reciprocal_rank_fusion(runs, rrf_k=case["rrf_k"], depth=case["depth"], k=case["k"])
    else:
        for run in runs:
            kept = run.run_data.groupby("topic", sort=False).head(case["depth"])
            run.run_data = kept.reset_index(drop=True)
            run.rescore(RescoreMethod.NORMALIZE)
        fused = interpolation(runs, alpha=case["alpha"], k=case["k"])
    rows = fused.run_data[["topic", "docid", "score"]]
    found.append([[topic, docid, score.hex()] for topic, docid, score in rows.itertuples(index=False)])
Path("found.json").write_text(json.dumps(found))
"""


def random_run(random_: random.Random, path: Path) -> None:
    """Some topics are missing, lists are 1 to 30 long, many scores are equal or negative."""
    lines = []
    for topic in random_.sample([f"t{i}" for i in range(8)], random_.randint(1, 8)):
        docids = random_.sample([f"d{i}" for i in range(40)], random_.choice([1, 2, 5, 30]))
        span = random_.choice([1, 4, 400])
        scores = sorted((random_.randint(-span, span) / 4 for _ in docids), reverse=True)
        for rank, (docid, score) in enumerate(zip(docids, scores, strict=True), start=1):
            lines.append(f"{topic} Q0 {docid} {rank} {score} random\n")
    path.write_text("".join(lines), encoding="utf-8")


def fused(case: dict[str, object]) -> list[list[str]]:
    """Topic, docid and score of each entry, by our reader and our fusion."""
    runs = [read_run(Path(str(case[name]))) for name in ("first", "second")]
    fusion = Fusion(str(case["method"]), float(str(case["alpha"])), int(str(case["rrf_k"])))
    depth = int(str(case["depth"]))
    rows: list[list[str]] = []
    for topic in sorted(runs[0].keys() | runs[1].keys()):
        first, second = (best(run.get(topic, []), depth) for run in runs)
        rows += [[topic, docid, score.hex()] for docid, score in fuse(first, second, fusion)[:K]]
    return rows


def test_random_runs(tmp_path: Path) -> None:
    random_ = random.Random(7)
    cases: list[dict[str, object]] = []
    for i in range(N_CASES):
        paths = [tmp_path / f"{i}.{name}.trec" for name in ("first", "second")]
        for path in paths:
            random_run(random_, path)
        case: dict[str, object] = dict(zip(("first", "second"), map(str, paths), strict=True))
        case["method"] = ("rrf", "interpolation")[i % 2]
        case["alpha"] = random_.choice([0.0, 0.1, 0.3, 0.5, 1.0])
        cases.append(
            case | {"rrf_k": random_.choice([0, 1, 60]), "depth": random_.choice([1, 10, 100]), "k": K}
        )
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    ties = 0
    for case, theirs in zip(cases, found, strict=True):
        ours = fused(case)
        assert ours == theirs, case
        ties += len(ours) - len({(topic, score) for topic, _, score in ours})
    assert ties > 100  # equal sums were among them


def test_its_command_on_the_files(tmp_path: Path) -> None:
    """`python -m pyserini.fusion` writes what we compute, in the spelling that docs/pyserini.md shows."""
    random_ = random.Random(8)
    paths = [tmp_path / f"{name}.trec" for name in ("first", "second")]
    for path in paths:
        random_run(random_, path)
    target = tmp_path / "fused.trec"
    command = [sys.executable, "-m", "pyserini.fusion", "--runs", *map(str, paths), "--output", str(target)]
    command += ["--method", "rrf", "--rrf.k", "60", "--depth", "20", "--k", str(K)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    theirs: list[tuple[str, Entry]] = [
        (t, entry) for t, entries in read_run(target).items() for entry in entries
    ]
    case = {"first": paths[0], "second": paths[1], "method": "rrf", "alpha": 0, "rrf_k": 60, "depth": 20}
    ours = [(topic, (docid, float.fromhex(score))) for topic, docid, score in fused(case)]
    assert sorted(theirs) == sorted(ours)
