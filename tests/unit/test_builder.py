"""How a build goes through its segments, and what it says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import workers
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.segments import build_segment
from seal_ir.records import Document
from tests.helpers import tiny


def test_one_thread_builds_here_and_tells_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PROGRAM", ("/nonexistent",))
    told: list[tuple[str, int]] = []
    options = BuildOptions(max_segment_tokens=100, threads=1)
    manifest = build_index(
        tiny.DOCUMENTS, tmp_path / "i", tiny.tokenizer(), tiny.about, options, lambda *what: told.append(what)
    )
    assert (manifest.library, read_manifest(tmp_path / "i").library) == ("", "")
    assert [call for call in told if call[0] == "tokenising"] == [("tokenising", 7)]
    assert told[-1] == ("computing checksums", 7)
    phases = {what.partition(":")[0]: n for what, n in told[:-1] if what != "tokenising"}
    assert phases == {
        f"building segment-{number:06d} of {part.n_tokens:,} tokens": part.n_documents
        for number, part in enumerate(manifest.segments)
    }


def test_processes_are_told_how_much_has_been_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, int]] = []

    def start(self: Any, folder: Path, temporary: Path, size: Any, n_read: int, told: Any) -> None:
        started.append((folder.name, n_read))
        build_segment(folder, temporary, EngineSpec(), told)

    monkeypatch.setattr(workers.Workers, "start", start)
    manifest = tiny.build(tmp_path / "i", max_segment_tokens=70, threads=2)
    reads, total = [], 0
    for number, part in enumerate(manifest.segments):
        total += part.n_documents
        reads.append((f"segment-{number:06d}", total))
    assert started == reads
    assert len(reads) > 2
    assert Index(tmp_path / "i").documents(range(7)) == tiny.DOCUMENTS


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexDirError) as error:
        tiny.build(tmp_path / "file" / "below")
    assert str(error.value) == f"{tmp_path / 'file' / 'below'}: cannot write the index: File exists"


def test_records_and_texts_are_written_in_batches(tmp_path: Path) -> None:
    """As docs/format.md says: a look-up decompresses 128 records."""
    lower = tiny.TextTokenizer(
        tiny.definition().replace('"normalizer":null', '"normalizer":{"type":"Lowercase"}')
    )
    documents = [Document(f"d{n}", "", "S", f'{{"id": "d{n}"}}') for n in range(1030)]
    index = tiny.built(tmp_path / "index", documents, text_tokenizer=lower, store_raw=True)
    assert index.raws([0, 127, 128, 1029]) == [documents[n].raw for n in (0, 127, 128, 1029)]
    assert [d.text for d in index.documents([0, 1029])] == ["S", "S"]
    (folder,) = (tmp_path / "index").glob("segment-*")
    for name, n_batches in (("raw.arrow", 9), ("texts.arrow", 2), ("ids.arrow", 1)):
        with pa.ipc.open_file(pa.memory_map(str(folder / name))) as reader:
            assert reader.num_record_batches == n_batches
    shutil.rmtree(tmp_path / "index")
