"""`--verify` finds what opening does not, and damage that nobody has looked for never crashes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seal_ir.arrays import Symbols
from seal_ir.errors import IndexDirError, ModelError
from seal_ir.formats.collections.collection import Collection
from seal_ir.index import verify
from seal_ir.index.engine import Occurrences
from seal_ir.index.manifest import describe_files
from seal_ir.index.reader import Index
from seal_ir.index.stats import as_table, statistics
from seal_ir.index.verify import verify_index
from seal_ir.records import Document
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny
from tests.helpers.indexes import edit, part

DATA = os.environ.get("SEAL_IR_DATA")
BART = Path(DATA or "", "..", "models", "bart-tokenizer", "tokenizer.json")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "index"
    documents = [d._replace(raw=json.dumps({"id": d.id, "contents": d.text})) for d in tiny.DOCUMENTS]
    tiny.build(directory, documents, 100, store_raw=True)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "index"))


def said(directory: Path, **options: object) -> list[str]:
    lines: list[str] = []
    verify_index(directory, lines.append, **options)
    return lines


def test_a_sound_index(original: Path) -> None:
    files, documents = said(original)
    assert re.fullmatch(r"13 files, [\d,]+ bytes: every size and checksum agrees", files)
    assert (
        documents
        == "7 documents (all): ids, texts, tokens and places agree, and their raw records are theirs"
    )
    assert said(original, n_documents=3)[1].startswith("3 documents (3 of 7, seed 0)")
    assert said(original, n_documents=None) == said(original)


def test_an_index_of_a_tokenizer_that_loses_text(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, normalizers

    lower = Tokenizer.from_str(tiny.definition())
    lower.normalizer = normalizers.Lowercase()
    tiny.build(tmp_path / "index", text_tokenizer=TextTokenizer(lower.to_str()))
    assert said(tmp_path / "index")[1] == "7 documents (all): ids, texts, tokens and places agree"


def test_every_checksum_is_compared(directory: Path) -> None:
    path = part(directory, "segment-000001/texts.arrow")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(IndexDirError, match="texts.arrow: damaged, its checksum differs"):
        said(directory)


def spoiled_ids(folder: Path) -> None:
    """Two documents have changed their ids."""
    path = folder / "ids.arrow"
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    ids = table.column("id").to_pylist()
    table = table.set_column(0, "id", pa.array([ids[1], ids[0], *ids[2:]], pa.large_string()))
    path.unlink()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def spoiled_order(folder: Path) -> None:
    order = np.load(folder / "by_id.npy")
    np.save(folder / "by_id.npy", order[::-1].copy())


def spoiled_range(folder: Path) -> None:
    np.save(folder / "by_id.npy", np.load(folder / "by_id.npy") + 100)


def spoiled_raw(folder: Path) -> None:
    shutil.copy(part(folder.parent, "segment-000001/raw.arrow"), folder / "raw.arrow")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (spoiled_ids, "its id does not lead back to it|its raw record is another's"),
        (spoiled_order, "its id does not lead back to it"),
        (spoiled_range, r"by_id.npy: damaged \(document 10\d of \d"),
        (spoiled_raw, "raw.arrow: damaged|its raw record is another's"),
    ],
)
def test_files_that_do_not_belong_together(directory: Path, spoil, told: str) -> None:
    """Even where every checksum was made to agree."""
    spoil(part(directory, "segment-000000/fm.bin").parent)
    edit(directory, files=describe_files(directory))
    with pytest.raises(IndexDirError, match=told) as error:
        said(directory)
    assert "\n" not in str(error.value)
    assert "rebuild it with python -m seal_ir.index" in str(error.value)


def _other_number(index: Index, docid: str, number: int | None) -> int | None:
    return 4 if docid == "d3#1" else number


def _other_id(index: Index, numbers: list[int], documents: list[Document]) -> list[Document]:
    return [d._replace(id="x") if d.id == "d3#1" else d for d in documents]


def _other_text(index: Index, numbers: list[int], documents: list[Document]) -> list[Document]:
    return [d._replace(text=f"{d.text}!") if d.id == "d3#1" else d for d in documents]


def _other_tokens(index: Index, numbers: list[int], streams: list[Symbols]) -> list[Symbols]:
    return [symbols[:-1] if n == 3 else symbols for n, symbols in zip(numbers, streams, strict=True)]


def _other_raw(index: Index, numbers: list[int], raws: list[str | None]) -> list[str | None]:
    return ['{"id": "x", "contents": ""}' if n == 3 else raw for n, raw in zip(numbers, raws, strict=True)]


def _no_record(index: Index, numbers: list[int], raws: list[str | None]) -> list[str | None]:
    return ['{"id": "d3#1"}' if n == 3 else raw for n, raw in zip(numbers, raws, strict=True)]


def _no_places(index: Index, keys: list[object], places: Occurrences) -> Occurrences:
    return places if 3 not in places.documents else places._replace(ends=places.ends + 1)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("number", _other_number, "its id does not lead back to it"),
        ("documents", _other_id, "its id does not lead back to it"),
        ("documents", _other_text, "'d3#1': its text does not give its tokens"),
        ("streams", _other_tokens, "its stored tokens are not those of its FM-index"),
        ("raws", _other_raw, "'d3#1': its raw record is another's"),
        ("raws", _no_record, "'d3#1': its raw record is another's"),
        ("locate", _no_places, "'d3#1': its n-grams are not found where they stand"),
    ],
)
def test_one_answer_that_differs_is_found_and_told(
    original: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[..., Any], told: str
) -> None:
    answer = getattr(Index, name)
    monkeypatch.setattr(Index, name, lambda self, asked: change(self, asked, answer(self, asked)))
    with pytest.raises(IndexDirError) as error:
        said(original)
    assert str(error.value) == (f"{original}: document 3: {told}; rebuild it with python -m seal_ir.index")


def test_documents_are_drawn_by_the_seed_and_checked_in_batches(
    original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []
    raws = Index.raws

    def recorded(self: Index, numbers: list[int]) -> list[str | None]:
        asked.append(list(numbers))
        if broken and numbers[0] == 3:
            raise RuntimeError("out\nof range")
        return raws(self, numbers)

    broken = False
    monkeypatch.setattr(Index, "raws", recorded)
    monkeypatch.setattr(verify, "_BATCH", 3)
    for n_documents in (None, 7, 8):
        said(original, n_documents=n_documents)
        assert asked == [[0, 1, 2], [3, 4, 5], [6]]
        asked.clear()
    drawn = sorted(random.Random(0).sample(range(7), 4))
    assert said(original, n_documents=4)[1].startswith("4 documents (4 of 7, seed 0): ")
    assert said(original, n_documents=4, seed=5)[1].startswith("4 documents (4 of 7, seed 5): ")
    assert asked[:2] == [drawn[:3], drawn[3:]]
    assert asked[2:] != asked[:2]
    broken = True
    with pytest.raises(IndexDirError) as error:
        said(original)
    assert str(error.value) == (
        f"{original}: documents 3 to 5 cannot be read (out of range); rebuild it with python -m seal_ir.index"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ids.arrow", "by_id.npy", "texts.arrow", "tokenizer.json"])
def test_unchecked_damage_never_crashes(directory: Path, name: str) -> None:
    """Flipped bytes that a check of sizes lets through: an error or another answer, never an abort."""
    path = part(directory, name if name == "tokenizer.json" else f"segment-000000/{name}")
    whole = path.read_bytes()
    chance = random.Random(0)
    for _ in range(150):
        spoiled = bytearray(whole)
        for at in chance.choices(range(len(whole)), k=4):
            spoiled[at] = chance.randrange(256)
        path.write_bytes(spoiled)
        try:
            index = Index(directory, check="sizes")
            for number in range(index.n_documents):
                index.number(index.docid(number))
            index.documents(range(index.n_documents))
        except (IndexDirError, ModelError) as error:
            assert "\n" not in str(error)
    path.write_bytes(whole)
    assert Index(directory).documents(range(7)) == tiny.DOCUMENTS


def test_statistics(original: Path, tmp_path: Path) -> None:
    values = statistics(Index(original))
    assert json.loads(json.dumps(values)) == values
    files = {path.relative_to(original).as_posix(): path.stat().st_size for path in original.rglob("*.*")}
    assert values["bytes"] == sum(files.values()) - files["index.json"]
    assert values["file_bytes"]["ids.arrow"] == sum(
        n for name, n in files.items() if name.endswith("ids.arrow")
    )
    assert (values["n_documents"], values["raw"], values["format"], len(values["segments"])) == (
        7,
        True,
        5,
        2,
    )
    assert sum(segment["n_tokens"] for segment in values["segments"]) == values["n_tokens"]
    assert 0 < sum(values["engine_bytes"].values()) <= values["file_bytes"]["fm.bin"]
    tiny.build(tmp_path / "bare")
    assert statistics(Index(tmp_path / "bare"))["raw"] is False


def test_the_table_of_statistics(original: Path) -> None:
    values = statistics(Index(original))
    lines = as_table(values).splitlines()
    rows = {line[:12].strip(): line[13:] for line in lines[: lines.index("")]}
    assert rows["documents"] == "7"
    assert rows["raw records"] == "kept"
    assert rows["fields"] == "title, body"
    assert rows["engine"].startswith(values["engine"] + ", layout default")
    assert "GPL-3" in rows["engine"] or values["engine"] == "native"
    name, n_bytes, bits = lines[-1].rsplit(maxsplit=2)
    assert (name, int(n_bytes.replace(",", ""))) == ("all files", values["bytes"])
    assert float(bits) == pytest.approx(8 * values["bytes"] / values["n_tokens"], abs=1e-3)
    assert any(line.startswith("engine: ") for line in lines)


@pytest.mark.data
@pytest.mark.skipif(not DATA, reason="SEAL_IR_DATA is not set")
@pytest.mark.parametrize("name", ["smollm2", "bart"])
def test_round_trip_of_real_passages(name: str, tmp_path: Path) -> None:
    """A sample of the real corpus; `--verify --all` does it for a whole index."""
    if name == "bart" and not BART.is_file():
        pytest.skip("no BART tokenizer beside SEAL_IR_DATA")
    try:
        tokenizer = (
            TextTokenizer.from_file(BART) if name == "bart" else load_tokenizer(find_model(DEFAULT_MODEL))
        )
    except ModelError as error:
        pytest.skip(str(error))
    passages = list(Collection("JsonCollection", Path(DATA or "", "corpus.jsonl.gz")))[::400]
    tiny.build(tmp_path / "index", passages, 40_000, tokenizer)
    index = Index(tmp_path / "index")
    assert len(index.manifest.segments) > 1
    assert index.documents(range(len(passages))) == passages
    verify_index(tmp_path / "index", print, None)
