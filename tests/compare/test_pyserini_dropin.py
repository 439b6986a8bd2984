"""The blocks of docs/pyserini.md, run in order on the real Pyserini and a real JVM, and what they gave."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seal_ir.eval.answers import holds_answer
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.runs.trec import RunWriter, read_run
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Hit
from tests.helpers import tiny

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "collections" / "demo"
N_TOPICS = 12  # of the demo's; its passages are all there
Entries = list[tuple[str, float]]

# Runs the blocks in one namespace, then writes every list of hits and every dict of such lists as JSON.
DRIVER = """
import json, os, subprocess, sys
from pathlib import Path
blocks, namespace = json.loads(Path(sys.argv[1]).read_text()), {}
for kind, line, code in blocks:
    if kind == "bash":
        subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True)
    else:
        exec(compile("\\n" * line + code, "docs/pyserini.md", "exec"), namespace)

def entries(value):
    if isinstance(value, dict):
        return {key: entries(item) for key, item in value.items()}
    return [(hit.docid, hit.score) for hit in value]

def is_hits(value):
    return isinstance(value, list) and bool(value) and hasattr(value[0], "docid")

found = {
    name: entries(value) for name, value in namespace.items()
    if is_hits(value) or (isinstance(value, dict) and value and all(map(is_hits, value.values())))
}
found["weighted"] = namespace["weighted"]
found["vectors"] = [namespace["vector"], namespace["looked_up"]]
found["environment"] = sorted(os.environ)
Path(sys.argv[2]).write_text(json.dumps(found))
"""


def blocks() -> list[tuple[str, int, str]]:
    """Kind, line and code of the blocks that are run."""
    text = (ROOT / "docs" / "pyserini.md").read_text(encoding="utf-8")
    found = re.finditer(r"^```(python|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(match[1], text[: match.start(2)].count("\n"), match[2]) for match in found]


def environment(folder: Path) -> dict[str, str]:
    """Our cache and topics, our Python first, and no word about Java or OpenAI."""
    kept = {name: os.environ[name] for name in os.environ.keys() - {"JAVA_HOME", "OPENAI_API_KEY"}}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SEAL_IR_CACHE": str(folder / "cache"),
        "SEAL_IR_DATA": str(folder / "data"),
        "HF_HUB_OFFLINE": "1",
    }


def copy_demo(folder: Path) -> None:
    """The demo collection with its first few topics, by path and, through SEAL_IR_DATA, by name."""
    demo = folder / "collections" / "demo"
    demo.mkdir(parents=True)
    shutil.copy(DEMO / "corpus.jsonl", demo)
    for name in ("topics.tsv", "answers.jsonl", "qrels.trec"):
        lines = (DEMO / name).read_text(encoding="utf-8").splitlines(keepends=True)[:N_TOPICS]
        (demo / name).write_text("".join(lines), encoding="utf-8")
        kind, suffix = name.split(".")
        named = folder / "data" / kind / f"demo.{suffix}"
        named.parent.mkdir(parents=True)
        shutil.copy(demo / name, named)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the blocks were run: a checkout after `make demo`, with a small random model."""
    folder = tmp_path_factory.mktemp("pyserini")
    copy_demo(folder)
    (folder / "runs").mkdir()
    model = tiny.save_llama(folder / "model")
    command = [sys.executable, "-m", "seal_ir.index", "--input", DEMO / "corpus.jsonl", "--model", model]
    index = folder / "cache" / "indexes" / "demo"
    env = environment(folder)
    subprocess.run([*command, "--index", index], check=True, env=env, cwd=ROOT, capture_output=True)
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    (folder / "blocks.json").write_text(json.dumps(blocks()), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, folder / "driver.py", "blocks.json", "found.json"],
        cwd=folder,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "stdout.txt").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    """Hits by the names that the blocks gave them."""
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


def hybrid(dense: Entries, sparse: Entries, alpha: float) -> dict[str, float]:
    """HybridSearcher's formula."""
    one, two = dict(dense), dict(sparse)
    lowest = min(one.values()), min(two.values())
    return {docid: one.get(docid, lowest[0]) + alpha * two.get(docid, lowest[1]) for docid in {**one, **two}}


def rrf(rankings: list[list[str]], k: int = 60) -> dict[str, float]:
    """Reciprocal rank fusion as its paper has it."""
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, docid in enumerate(ranking, start=1):
            scores[docid] += 1 / (k + rank)
    return scores


def interpolated(first: Entries, second: Entries, alpha: float) -> dict[str, float]:
    """Scores spread over [0, 1], weighted and added."""
    scores: dict[str, float] = defaultdict(float)
    for entries, weight in ((first, alpha), (second, 1 - alpha)):
        values = [score for _, score in entries]
        for docid, score in entries:
            scores[docid] += weight * (score - min(values)) / (max(values) - min(values))
    return scores


def sorted_by_pyserini(entries: Entries) -> Entries:
    """Its order of equal scores is by docid."""
    return sorted(entries, key=lambda entry: (-entry[1], entry[0]))


def check_ranking(entries: Entries, expected: dict[str, float], n: int) -> None:
    """The entries are the n best of the expected scores; which of equal ones come first is free."""
    assert len(entries) == min(n, len(expected))
    assert [score for _, score in entries] == pytest.approx(sorted(expected.values(), reverse=True)[:n])
    assert dict(entries) == pytest.approx({docid: expected[docid] for docid, _ in entries})


def test_java_leaves_stdout_alone(folder: Path) -> None:
    lines = (folder / "stdout.txt").read_text(encoding="utf-8")
    assert not re.search(r"WARN|INFO|java|lucene\.", lines), lines


def test_environment_is_restored(found: Any) -> None:
    assert not {"OPENAI_API_KEY", "JAVA_HOME"} & set(found["environment"])


def test_hybrid_in_both_orders(found: Any) -> None:
    seal, bm25 = found["seal_hits"], found["bm25_hits"]
    assert len(seal) == 20
    assert {docid for docid, _ in seal} != {docid for docid, _ in bm25}
    check_ranking(found["seal_first"], hybrid(seal, bm25, 0.1), 10)
    check_ranking(found["bm25_first"], hybrid(bm25, seal, 0.1), 10)
    check_ranking(found["hybrid"]["q1"], hybrid(seal, bm25, 0.1), 10)


def test_fusion_searcher(found: Any) -> None:
    rankings = [[docid for docid, _ in found[name]] for name in ("seal_hits", "bm25_hits")]
    check_ranking(found["fused"], rrf(rankings), 1000)


def test_topics_and_batch_search(found: Any, folder: Path) -> None:
    assert list(found["results"]) == sorted(query.id for query in read_topics(DEMO / "topics.tsv")[:N_TOPICS])
    assert [docid for docid, _ in found["results"]["q1"]] == [docid for docid, _ in found["seal_hits"]]
    ours = read_run(folder / "runs" / "seal.demo.trec")
    for qid, entries in found["results"].items():
        assert [docid for docid, _ in entries] == [docid for docid, _ in ours[qid]]


def test_writers(found: Any, folder: Path) -> None:
    results = {qid: entries[:10] for qid, entries in found["results"].items()}
    trec = [
        f"{qid} Q0 {docid} {rank} {score:.6f} seal\n"
        for qid, entries in results.items()
        for rank, (docid, score) in enumerate(entries, start=1)
    ]
    msmarco = [
        f"{qid}\t{docid}\t{rank}\n"
        for qid, entries in results.items()
        for rank, (docid, _) in enumerate(entries, start=1)
    ]
    assert (folder / "runs" / "seal.trec").read_text(encoding="utf-8") == "".join(trec)
    assert (folder / "runs" / "seal.tsv").read_text(encoding="utf-8") == "".join(msmarco)
    with RunWriter(folder / "runs" / "own.trec", tag="seal") as writer:
        for qid, entries in results.items():
            writer.write(qid, [Hit(docid, score) for docid, score in entries])
    own = (folder / "runs" / "own.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    assert [line.split()[:4] for line in own] == [line.split()[:4] for line in trec]


def test_fusion_of_run_files(folder: Path) -> None:
    runs = [read_run(folder / "runs" / f"{name}.demo.trec") for name in ("seal", "bm25")]
    fused = read_run(folder / "runs" / "fused.demo.trec")
    assert list(fused) == sorted(runs[0])
    for qid, entries in fused.items():
        check_ranking(entries, rrf([[docid for docid, _ in run.get(qid, [])[:20]] for run in runs]), 20)


def test_hybrid_in_one_command(found: Any, folder: Path) -> None:
    """BM25 over the index's own documents is BM25 over the collection; the fusion is `pyserini.fusion`'s."""
    runs = folder / "runs"
    run, seal, bm25 = (read_run(runs / f"hybrid.demo{name}.trec") for name in ("", ".seal", ".bm25"))
    assert (runs / "hybrid.demo.seal.trec").read_bytes() == (runs / "seal.demo.trec").read_bytes()
    assert bm25 == {qid: entries[:20] for qid, entries in read_run(runs / "bm25.demo.trec").items()}
    theirs = read_run(runs / "fused.demo.trec")
    assert run.keys() == theirs.keys()
    for qid, entries in run.items():
        assert [docid for docid, _ in entries] == [docid for docid, _ in sorted_by_pyserini(theirs[qid])]
        assert dict(entries) == pytest.approx(dict(theirs[qid]), abs=1e-5)
    for qid, entries in found["weighted"].items():
        expected = interpolated(seal.get(qid, []), bm25[qid], 0.3)
        check_ranking([(docid, score) for docid, score in entries], expected, 40)
    (twin,) = (folder / "cache" / "lucene").iterdir()
    about = json.loads((runs / "hybrid.demo.trec.config.json").read_text(encoding="utf-8"))
    assert about["fusion"]["lucene"] == str(twin)


def test_bm25_run(found: Any, folder: Path) -> None:
    runs = folder / "runs"
    run = read_run(runs / "bm25.demo.trec")
    assert list(run) == [query.id for query in read_topics(DEMO / "topics.tsv")[:N_TOPICS]]
    assert [docid for docid, _ in run["q1"][:20]] == [docid for docid, _ in found["bm25_hits"]]
    assert [score for _, score in run["q1"][:20]] == pytest.approx(
        [score for _, score in found["bm25_hits"]], abs=1e-4
    )
    about = json.loads((runs / "lucene-demo" / "seal-ir.json").read_text(encoding="utf-8"))
    assert about["counts"].startswith("read 157 = indexed 157 ")


def test_encoding(found: Any, folder: Path) -> None:
    """The run from stored keys is the direct one; weights differ by what another batch rounds differently."""
    runs = folder / "runs"
    assert (runs / "seal.keys.trec").read_bytes() == (runs / "seal.demo.trec").read_bytes() != b""
    encoded, looked_up = found["vectors"]
    assert len(encoded) > 5  # of beam 5, at most 5 tokens long
    assert {text for text, weight in encoded.items() if weight > 0.01} <= set(looked_up)
    assert all(looked_up.get(text, 0) == pytest.approx(encoded.get(text, 0), abs=1e-3) for text in encoded)
    lines = (runs / "keys.demo" / "embeddings.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    topics = [(query.id, query.text) for query in read_topics(DEMO / "topics.tsv")[:N_TOPICS]]
    assert [(record["id"], record["contents"]) for record in records] == topics


def test_dpr_evaluation(found: Any, folder: Path) -> None:
    answers = read_answers(DEMO / "answers.jsonl")
    bodies = {document.id: document.text for document in Collection("JsonCollection", DEMO / "corpus.jsonl")}
    theirs = (folder / "runs" / "pyserini.dpr.txt").read_text(encoding="utf-8")
    ours = (folder / "runs" / "seal.dpr.eval.json").read_text(encoding="utf-8")
    for k in (1, 5, 20):
        right = [
            any(holds_answer(bodies[docid], answers[qid]) for docid, _ in entries[:k])
            for qid, entries in found["results"].items()
        ]
        accuracy = sum(right) / len(right)
        assert f"Top{k}\taccuracy: {accuracy:.4f}\n" in theirs
        values = [row["value"] for row in json.loads(ours)["rows"] if row["measure"] == f"AnswerAccuracy@{k}"]
        assert values == [pytest.approx(accuracy)]
