"""Dense retrieval and GAR on the real Pyserini: against brute force, its own encoders and its fusion."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, DPRQuestionEncoder

from seal_ir.arrays import Floats
from seal_ir.baselines.dense.encoders import find_encoder
from seal_ir.baselines.dense.encoding import encode, load_encoder
from seal_ir.formats.runs.trec import read_run
from tests.helpers.tiny_encoders import (
    DOCUMENTS,
    QUESTIONS,
    save_dpr,
    save_sentence_encoder,
    write_collection,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]
HITS = 5
NEAR = 2e-5

# One JVM for all of it. Pyserini's own encoders, searcher and fusion are called beside our commands.
SCRIPT = """
import json
from pathlib import Path
from seal_ir.baselines.bm25.__main__ import main as bm25
from seal_ir.baselines.dense.__main__ import main as dense
from seal_ir.baselines.gar.__main__ import main as gar

topics = ["--topics", "topics.tsv"]
documents = ["--input", "docs.jsonl"]
common = [*topics, *documents, "--hits", "HITS", "--threads", "1"]
dense([*common, "--faiss", "faiss", "--encoder", "mean", "--output", "dense.trec", "--device", "cpu"])
dpr = ["--encoder", "ctx", "--query-encoder", "q", "--device", "cpu"]
dense([*common, "--faiss", "faiss-dpr", *dpr, "--output", "dpr.trec"])
gar([*common, "--lucene", "lucene", "--expansions", "one.tsv", "two.tsv", "--output", "gar.trec"])
for name in ("one", "two"):
    bm25(["--lucene", "lucene", "--topics", f"{name}.tsv", "--output", f"{name}.trec", "--threads", "1"])

from pyserini.encode import AutoDocumentEncoder, AutoQueryEncoder, DprDocumentEncoder
from pyserini.fusion import reciprocal_rank_fusion
from pyserini.search.faiss import FaissSearcher
from pyserini.trectools import TrecRun

passages = [json.loads(line) for line in Path("docs.jsonl").read_text().splitlines()]
titles, texts = [p["title"] for p in passages], [p["contents"].partition("\\n")[2] for p in passages]
contents = [f"{title}\\n{text}" if title else text for title, text in zip(titles, texts)]
questions = [line.split("\\t") for line in Path("topics.tsv").read_text().splitlines()]
searcher = FaissSearcher("faiss", AutoQueryEncoder("mean", pooling="mean", l2_norm=True))
theirs = searcher.batch_search([text for _, text in questions], [qid for qid, _ in questions], k=HITS)
mean = AutoDocumentEncoder("mean", device="cpu", pooling="mean", l2_norm=True)
context = DprDocumentEncoder("ctx", device="cpu")
fused = reciprocal_rank_fusion([TrecRun("one.trec"), TrecRun("two.trec")], rrf_k=60, depth=100, k=HITS)
rows = fused.run_data[["topic", "docid", "score"]].itertuples(index=False)
Path("found.json").write_text(json.dumps({
    "hits": {qid: [[hit.docid, float(hit.score)] for hit in hits] for qid, hits in theirs.items()},
    "mean": mean.encode(contents, max_length=24).tolist(),
    "context": context.encode(texts, titles=titles, max_length=40).tolist(),
    "fused": [[str(topic), docid, score] for topic, docid, score in rows],
}))
""".replace("HITS", str(HITS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baselines")
    write_collection(folder / "docs.jsonl", DOCUMENTS)
    save_sentence_encoder(folder / "mean")
    save_dpr(folder / "ctx", seed=1)
    save_dpr(folder / "q", questions=True, seed=2)
    topics = {str(at): text for at, text in enumerate(QUESTIONS) if text}
    extra = {"one": ["Paris", "mammal in the sea", "Thames"], "two": ["France", "Everest", "London Tokyo"]}
    for name, texts in {"topics": [""] * len(topics), **extra}.items():
        lines = [
            f"{qid}\t{text} {more}".rstrip() for (qid, text), more in zip(topics.items(), texts, strict=True)
        ]
        (folder / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


def passages(folder: Path) -> Floats:
    return encode(load_encoder(find_encoder(str(folder)), device="cpu"), DOCUMENTS)


def assert_best(run: list[tuple[str, float]], products: Floats) -> None:
    """A ranking is that of sorting all inner products, one a document."""
    number = {document.id: at for at, document in enumerate(DOCUMENTS)}
    scores = [score for _, score in run]
    np.testing.assert_allclose(scores, np.sort(products)[::-1][:HITS], atol=NEAR, rtol=1e-5)
    np.testing.assert_allclose(scores, [products[number[docid]] for docid, _ in run], atol=NEAR, rtol=1e-5)


def test_dense_is_brute_force(folder: Path, found: Any) -> None:
    network = AutoModel.from_pretrained(folder / "mean").eval()
    tokenizer = load_encoder(find_encoder(str(folder / "mean"))).tokenizer
    vectors = passages(folder / "mean")
    run = read_run(folder / "dense.trec")
    assert list(run) == ["0", "1", "2"]
    for qid, entries in run.items():
        with torch.inference_mode():
            hidden = network(**tokenizer(QUESTIONS[int(qid)], return_tensors="pt")).last_hidden_state[0]
        question = hidden.mean(dim=0).numpy()
        assert_best(entries, vectors @ (question / np.linalg.norm(question)))
        assert [docid for docid, _ in entries] == [docid for docid, _ in found["hits"][qid]]


def test_dpr_is_brute_force(folder: Path, found: Any) -> None:
    network = DPRQuestionEncoder.from_pretrained(folder / "q").eval()
    tokenizer = load_encoder(find_encoder(str(folder / "ctx"))).tokenizer
    vectors = passages(folder / "ctx")
    run = read_run(folder / "dpr.trec")
    assert list(run) == ["0", "1", "2"]
    for qid, entries in run.items():
        ids = tokenizer(QUESTIONS[int(qid)], return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            assert_best(entries, vectors @ network(ids).pooler_output[0].numpy())


def test_vectors_are_those_of_pyserinis_encoders(folder: Path, found: Any) -> None:
    np.testing.assert_allclose(passages(folder / "mean"), found["mean"], atol=NEAR)
    np.testing.assert_allclose(passages(folder / "ctx"), found["context"], atol=NEAR)


def test_gar_is_bm25_fused_by_pyserini(folder: Path, found: Any) -> None:
    run = read_run(folder / "gar.trec")
    assert set(run) == {"0", "1", "2"}
    theirs: dict[str, list[tuple[str, float]]] = {}
    for qid, docid, score in found["fused"]:
        theirs.setdefault(qid, []).append((docid, score))
    for qid, entries in run.items():
        assert [docid for docid, _ in entries] == [docid for docid, _ in theirs[qid]]
        np.testing.assert_allclose([s for _, s in entries], [s for _, s in theirs[qid]], atol=HITS * 1e-6)
    # Documents that only one of the expansions finds are in it.
    one, two = (read_run(folder / f"{name}.trec") for name in ("one", "two"))
    assert {docid for docid, _ in one["1"]} != {docid for docid, _ in two["1"]}
