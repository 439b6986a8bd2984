"""Building a Faiss index of encoded passages: as Pyserini's, stopped and gone on with, refused."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from seal_ir.arrays import Floats
from seal_ir.baselines.built_from import read_about
from seal_ir.baselines.dense import building
from seal_ir.baselines.dense.building import build
from seal_ir.baselines.dense.encoders import (
    find_encoder,
)
from seal_ir.baselines.dense.encoding import (
    PassageEncoder,
    encode,
    load_encoder,
)
from seal_ir.baselines.dense.index_dir import check_about, is_faiss_index
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.records import Document
from tests.helpers.tiny_encoders import (
    DOCUMENTS,
    HIDDEN,
    collection,
    save_sentence_encoder,
)

needs_faiss = pytest.mark.skipif(
    find_spec("faiss") is None, reason="faiss is not installed (extra `pyserini`)"
)


BLOCK = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_sentence_encoder(tmp_path_factory.mktemp("encoders") / "mean")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> PassageEncoder:
    return load_encoder(find_encoder(str(folder)), device="cpu")


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@needs_faiss
def test_index_is_pyserinis(tmp_path: Path, encoder: PassageEncoder) -> None:
    import faiss

    n = build(collection(tmp_path), tmp_path / "index", encoder, {"encoder": "tiny"}, BLOCK)
    assert n == len(DOCUMENTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "index"]
    directory = tmp_path / "index"
    assert is_faiss_index(directory)
    assert (directory / "docid").read_text(encoding="utf-8").split("\n") == [*(d.id for d in DOCUMENTS), ""]
    index = faiss.read_index(str(directory / "index"))
    assert (index.ntotal, index.d, index.metric_type) == (n, HIDDEN, faiss.METRIC_INNER_PRODUCT)
    vectors = encode(encoder, DOCUMENTS)
    np.testing.assert_allclose(index.reconstruct_n(0, n), vectors, atol=2e-6)
    queries = encode(encoder, DOCUMENTS[::3])
    scores, found = index.search(queries, 5)
    products = queries @ vectors.T
    for row, best in enumerate(found):
        np.testing.assert_allclose(scores[row], products[row][best], atol=2e-6)
        np.testing.assert_allclose(scores[row], np.sort(products[row])[::-1][:5], atol=2e-6)
    about = read_about(directory)
    assert about["encoder"] == "tiny"
    assert (about["n_documents"], about["dtype"], about["pooling"]) == (n, "float32", "mean")
    assert about["counts"].startswith(f"read {n} = indexed {n} ")


@needs_faiss
def test_a_stopped_build_goes_on(
    tmp_path: Path,
    encoder: PassageEncoder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    build(collection(tmp_path), tmp_path / "whole", encoder, {}, BLOCK)
    encoded: list[str] = []

    def counting(encoder: PassageEncoder, documents: list[Document]) -> Floats:
        if len(encoded) == 2 * BLOCK:
            raise KeyboardInterrupt
        encoded.extend(document.id for document in documents)
        return encode(encoder, documents)

    monkeypatch.setattr(building, "encode", counting)
    with pytest.raises(KeyboardInterrupt):
        build(collection(tmp_path), tmp_path / "parts", encoder, {}, BLOCK)
    assert not (tmp_path / "parts").exists()
    assert len(list((tmp_path / ".parts.vectors").iterdir())) == 2
    encoded[:] = ["earlier"]
    capsys.readouterr()
    (tmp_path / ".parts.vectors" / "leftover.tmp").touch()
    build(collection(tmp_path), tmp_path / "parts", encoder, {}, BLOCK)
    assert encoded[1:] == [document.id for document in DOCUMENTS[2 * BLOCK :]]
    assert f"{2 * BLOCK} of {len(DOCUMENTS)} documents are encoded already\n" in capsys.readouterr().err
    assert files_below(tmp_path / "parts") == files_below(tmp_path / "whole")
    assert not list(tmp_path.glob(".*"))


@needs_faiss
def test_only_what_has_changed_is_encoded_again(
    tmp_path: Path, encoder: PassageEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(encoder: PassageEncoder, documents: list[Document]) -> Floats:
        if documents[0].id == DOCUMENTS[2 * BLOCK].id:
            raise KeyboardInterrupt
        return encode(encoder, documents)

    monkeypatch.setattr(building, "encode", stopping)
    with pytest.raises(KeyboardInterrupt):
        build(collection(tmp_path), tmp_path / "index", encoder, {}, BLOCK)
    encoded: list[str] = []

    def noting(encoder: PassageEncoder, documents: list[Document]) -> Floats:
        encoded.extend(document.id for document in documents)
        return encode(encoder, documents)

    monkeypatch.setattr(building, "encode", noting)
    changed = [d._replace(text="Tokyo") if n == BLOCK else d for n, d in enumerate(DOCUMENTS)]
    build(collection(tmp_path, changed), tmp_path / "index", encoder, {}, BLOCK)
    assert encoded == [document.id for document in DOCUMENTS[BLOCK:]]
    import faiss

    index = faiss.read_index(str(tmp_path / "index" / "index"))
    np.testing.assert_allclose(index.reconstruct(BLOCK), encode(encoder, [changed[BLOCK]])[0], atol=2e-6)


@needs_faiss
def test_refusals(tmp_path: Path, encoder: PassageEncoder) -> None:
    documents = collection(tmp_path)
    target = tmp_path / "mine"
    target.mkdir()
    (target / "notes.txt").touch()
    with pytest.raises(UsageError, match="holds files that are not an index"):
        build(documents, target, encoder, {}, BLOCK)
    assert [path.name for path in target.iterdir()] == ["notes.txt"]
    (tmp_path / "empty.jsonl").write_text('{"id": "a", "contents": " "}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"no documents to encode \(read 1 = indexed 0 \+ empty 1"):
        build(Collection("JsonCollection", tmp_path / "empty.jsonl"), tmp_path / "new", encoder, {}, BLOCK)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        build(documents, tmp_path / "file" / "index", encoder, {}, BLOCK)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "empty.jsonl", "file", "mine"]


def test_faiss_is_missing(tmp_path: Path, encoder: PassageEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"a dense index needs Faiss \(.*pip install 'seal-ir\[pyserini\]'"):
        build(collection(tmp_path), tmp_path / "index", encoder, {}, BLOCK)


def test_check_about(tmp_path: Path) -> None:
    check_about(tmp_path, {"encoder": "x"})  # of unknown origin
    (tmp_path / "seal-ir.json").write_text(json.dumps({"encoder": "x", "dtype": "float32"}), encoding="utf-8")
    check_about(tmp_path, {"encoder": "x"})
    with pytest.raises(UsageError, match="built with dtype 'float32', not 'bfloat16'; name another --faiss"):
        check_about(tmp_path, {"encoder": "x", "dtype": "bfloat16"})
    (tmp_path / "seal-ir.json").write_text("[", encoding="utf-8")
    with pytest.raises(IndexDirError, match="damaged"):
        read_about(tmp_path)
