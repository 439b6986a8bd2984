"""`python -m seal_ir.index --import-seal`: an index of the published system becomes an ordinary one."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.index.__main__ import main
from seal_ir.index.reader import Index
from tests.helpers import published, tiny
from tests.helpers.commands import Runner, assert_fault

pytest.importorskip("seal_ir._sdsl")

LISTS = [published.token_list(document) for document in tiny.DOCUMENTS]
LABELS = [document.id for document in tiny.DOCUMENTS]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save_tokenizer(tmp_path / "model")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    published.write(tmp_path / "corpus", LISTS, LABELS)
    return tmp_path / "corpus"


def test_the_new_index_holds_the_documents(run: Runner, tmp_path: Path, prefix: Path, model: Path) -> None:
    result = run(main, "--import-seal", prefix, "--index", tmp_path / "index", "--model", model)
    assert result.code == 0, result.err
    assert "read 7 = indexed 7 + empty 0" in result.out
    index = Index(tmp_path / "index")
    assert index.documents(range(index.n_documents)) == tiny.DOCUMENTS
    assert index.manifest.collection["kind"] == "published index"


def test_it_is_the_index_that_the_documents_themselves_give(
    run: Runner, tmp_path: Path, prefix: Path, model: Path
) -> None:
    run(main, "--import-seal", prefix, "--index", tmp_path / "index", "--model", model)
    tiny.build(tmp_path / "ordinary")
    imported, ordinary = Index(tmp_path / "index").manifest, Index(tmp_path / "ordinary").manifest
    assert imported.files == ordinary.files


def test_a_damaged_index_leaves_nothing(run: Runner, tmp_path: Path, prefix: Path, model: Path) -> None:
    path = tmp_path / "corpus.fmi"
    path.write_bytes(path.read_bytes()[:-1])
    result = run(main, "--import-seal", prefix, "--index", tmp_path / "index", "--model", model)
    assert_fault(result, 1, "corpus.fmi is not a whole csa_wt_int<>", "truncated")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["corpus.fmi", "corpus.oth", "model"]


@pytest.mark.parametrize(
    "options",
    [("--input", "x"), ("--include-ids", "x"), ("--storeRaw",), ("--duplicates", "first")],
)
def test_options_for_records_are_refused(
    run: Runner, tmp_path: Path, prefix: Path, options: tuple[str, ...]
) -> None:
    result = run(main, "--import-seal", prefix, "--index", tmp_path / "index", *options)
    assert_fault(result, 2, f"{options[0]} does not go with --import-seal")


def test_looking_at_an_index_imports_nothing(run: Runner, tmp_path: Path, prefix: Path) -> None:
    result = run(main, "--import-seal", prefix, "--index", tmp_path / "index", "--stats")
    assert_fault(result, 2, "--stats and --verify look at an index that is there")
