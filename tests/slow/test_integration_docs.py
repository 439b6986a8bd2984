"""The code of docs/integrations.md and docs/quoting.md, run as it stands there, with the real model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io.resolve import Places
from seal_ir.index.__main__ import main as index_main

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "collections" / "demo" / "corpus.jsonl"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # other people's


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the demo index, and the user's models."""
    models = Places.from_environment().cache / "models"
    folder = tmp_path_factory.mktemp("cache")
    if models.is_dir():
        (folder / "models").symlink_to(models)
    assert index_main(["--input", str(CORPUS), "--index", str(folder / "indexes" / "demo")]) == 0
    return folder


def blocks(page: str) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S
    )


@pytest.mark.parametrize("number", range(3))
def test_retrievers(
    number: int, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("pyterrier", "langchain_core", "llama_index.core")[number : number + 1]:
        pytest.importorskip(package)
    monkeypatch.setenv("SEAL_IR_CACHE", str(cache))
    exec(blocks("integrations.md")[number], {})
    assert re.search(("seal +0?1?", "mount-etna#0", "mount-etna#0")[number], capsys.readouterr().out)


def test_quoting(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SEAL_IR_CACHE", str(cache))
    (code,) = blocks("quoting.md")
    exec(code, {})
    told = re.fullmatch(
        r"(['\"])(.+)\1: (\S+), (title|body)\[(\d+):(\d+)\], \d+ times\n", capsys.readouterr().out
    )
    assert told is not None
    documents = {one.id: one for one in Collection("JsonCollection", CORPUS)}
    one = documents[told[3]]
    assert {"title": one.title, "body": one.text}[told[4]][int(told[5]) : int(told[6])] == told[2]
