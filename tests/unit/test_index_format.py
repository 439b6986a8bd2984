"""The files of docs/format.md, made by hand, and an index of an earlier day: both open and answer."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest

from seal_ir.index import tiers
from seal_ir.index.engine import ENGINES, EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import NEWEST_FORMAT
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny
from tests.helpers.indexes import content, edit, part
from tests.helpers.small_words import CORPORA, DEFINITION, DOCUMENTS, PLAIN, WITH_FIELDS, Corpus, symbols_of

FROZEN = sorted(Path(__file__).parents[1].glob("data/index_v*"))
STRING = pa.large_string()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def arrow(columns: dict[str, tuple[pa.DataType, list[object]]], rows: int, compression: str | None) -> bytes:
    schema = pa.schema([pa.field(name, kind) for name, (kind, _) in columns.items()])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, schema, options=options) as writer:
        table = pa.table([pa.array(values, kind) for kind, values in columns.values()], schema=schema)
        for batch in table.to_batches(max_chunksize=rows):
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def npy(numbers: list[int]) -> bytes:
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    return (
        bytes.fromhex("93 4E 55 4D 50 59 01 00 76 00")
        + (head + " " * (117 - len(head)) + "\n").encode("ascii")
        + struct.pack(f"<{len(numbers)}q", *numbers)
    )


def by_hand(engine: bytes, tokens: bytes, spec: EngineSpec, corpus: Corpus) -> dict[str, bytes]:
    """Every file of an index of `DOCUMENTS`, by its name; those of streams have tests of their own."""
    n_tokens = sum(map(len, corpus.streams))
    ids = [document.id for document in DOCUMENTS]
    lost = [2]  # the one with two spaces
    parts = {
        "by_id.npy": npy([3, 1, 0, 2]),  # "B" < "a" < "b" < "\u00e9"
        "fm.bin": engine,
        "ids.arrow": arrow({"id": (STRING, ids)}, 65_536, None),
        "raw.arrow": arrow({"raw": (STRING, [d.raw for d in DOCUMENTS])}, 128, "zstd"),
        "texts.arrow": arrow(
            {
                "document": (pa.int64(), lost),
                "title": (STRING, [DOCUMENTS[n].title for n in lost]),
                "text": (STRING, [DOCUMENTS[n].text for n in lost]),
            },
            1024,
            None,
        ),
        "tokens.bin": tokens,
    }
    sums = "".join(f"{name} {sha256(data)}\n" for name, data in parts.items())
    segment = f"segment-000000-{sha256(sums.encode())[:12]}"
    files = {f"{segment}/{name}": data for name, data in parts.items()}
    files[f"tokenizer.{sha256(DEFINITION.encode())[:8]}.json"] = DEFINITION.encode()
    manifest = {
        "format": 5,
        "model": "tiny",
        "tokenizer": sha256(DEFINITION.encode()),
        "fields": ["title", "body", *corpus.fields],
        "library": "sdsl-lite 2.1.1, GPL-3.0-or-later" if spec.name == "sdsl" else "",
        "segments": [
            {
                "name": segment,
                "engine": spec.name,
                "layout": spec.layout,
                "n_documents": 4,
                "n_tokens": n_tokens,
            }
        ],
        "files": {name: {"size": len(data), "sha256": sha256(data)} for name, data in files.items()},
        "collection": {"kind": "test"},
        "n_documents": 4,
        "n_tokens": n_tokens,
    }
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    manifest["checksum"] = sha256(canonical.encode("ascii"))
    return files | {"index.json": (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()}


@pytest.fixture(scope="module", params=[PLAIN, WITH_FIELDS], ids=["plain", "fields"])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    return cast(Corpus, request.param)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    directory = tmp_path_factory.mktemp("built") / "index"
    tokenizer = TextTokenizer(DEFINITION)
    tiny.build(directory, corpus.documents, text_tokenizer=tokenizer, store_raw=True, fields=corpus.fields)
    return directory


def test_files_made_by_hand_are_those_of_a_build_and_open(
    built: Path, corpus: Corpus, tmp_path: Path
) -> None:
    (segment,) = Index(built).manifest.segments
    expected = content(built)
    spec = EngineSpec(segment.engine, segment.layout)
    streams = (expected[f"{segment.name}/{name}"] for name in ("fm.bin", "tokens.bin"))
    files = by_hand(*streams, spec, corpus)
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    verify_index(tmp_path, print, None)
    check_answers(Index(tmp_path, check="bytes"), corpus)
    assert files == expected


def test_deletions_made_by_hand_are_those_of_a_writer_and_are_followed(
    built: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)  # the segment is not rewritten
    written, made = (Path(shutil.copytree(built, tmp_path / name)) for name in ("written", "made"))
    with SealIndexer(written) as writer:
        writer.delete(["a"])
    data = npy([1])
    name = f"deleted.{sha256(data)[:12]}.npy"
    (made / name).write_bytes(data)
    known = json.loads((made / "index.json").read_text(encoding="utf-8"))
    n_tokens = len(corpus.streams[1])
    known["segments"][0]["deleted"] = {"file": name, "n_documents": 1, "n_tokens": n_tokens}
    edit(
        made,
        segments=known["segments"],
        files=dict(sorted((known["files"] | {name: {"size": 136, "sha256": sha256(data)}}).items())),
        collection={"kind": "test", "added": 0, "deleted": 1},
        n_documents=3,
        n_tokens=known["n_tokens"] - n_tokens,
    )
    assert json.loads((made / "index.json").read_text()) == json.loads((written / "index.json").read_text())
    assert (made / name).read_bytes() == (written / name).read_bytes()
    verify_index(made, print, None)
    index = Index(made)
    left = [0, 2, 3]
    assert [stream.tolist() for stream in index.streams(range(3))] == [corpus.streams[n] for n in left]
    assert [d.id for d in index.documents(range(3))] == [DOCUMENTS[n].id for n in left]
    assert index.number("a") is None
    for text, places in corpus.places.items():
        found = index.locate([index.find(symbols_of(text))])
        expected = sorted((left.index(n), end) for n, end in places if n in left)
        assert sorted(zip(found.documents.tolist(), found.ends.tolist(), strict=True)) == expected


def test_stored_fields_made_by_hand_are_those_of_a_build(built: Path, corpus: Corpus, tmp_path: Path) -> None:
    columns: dict[str, tuple[pa.DataType, list[object]]] = {
        "year": (pa.int64(), [2001, None, -1, None]),
        "lang": (STRING, ["en", "\u00e9", None, ""]),
        "score": (pa.float64(), [0.5, None, None, 2.0]),
        "open": (pa.bool_(), [True, False, None, None]),
    }
    rows = zip(*(values for _, values in columns.values()), strict=True)
    known = [
        tuple((name, value) for name, value in zip(columns, row, strict=True) if value is not None)
        for row in rows
    ]
    documents = [d._replace(stored=row) for d, row in zip(corpus.documents, known, strict=True)]  # type: ignore[arg-type]
    store = ("year:int", "lang", "score:float", "open:bool")
    options = {"store_raw": True, "fields": corpus.fields, "store": store}
    tokenizer = TextTokenizer(DEFINITION)
    tiny.build(tmp_path / "index", documents, text_tokenizer=tokenizer, **options)  # type: ignore[arg-type]
    values = json.loads((tmp_path / "index" / "index.json").read_text(encoding="utf-8"))
    assert values["stored"] == {"year": "int", "lang": "string", "score": "float", "open": "bool"}
    path = part(tmp_path / "index", "segment-000000/stored.arrow")
    assert path.read_bytes() == arrow(columns, 65_536, None)
    plain = Path(shutil.copytree(built, tmp_path / "made"))
    (segment,) = (segment["name"] for segment in values["segments"])
    named = json.loads((plain / "index.json").read_text(encoding="utf-8"))["segments"][0]["name"]
    shutil.move(plain / named, plain / segment)
    shutil.copy(path, plain / segment)
    edit(plain, **{name: values[name] for name in ("segments", "files", "stored")})
    verify_index(plain, print, None)
    check_answers(Index(plain), corpus)
    (table,) = Index(plain).stored_tables()
    assert table.drop_columns("id").to_pydict() == {name: column for name, (_, column) in columns.items()}
    text = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    assert "`stored.arrow`" in text
    assert "`stored`" in text


@pytest.mark.slow
def test_the_array_of_numbers_is_numpys_own(built: Path, tmp_path: Path) -> None:
    path = part(built, "segment-000000/by_id.npy")
    assert np.load(path).tolist() == [3, 1, 0, 2]
    for n in (1, 12_345_678):
        np.save(tmp_path / "n.npy", np.zeros(n, "<i8"))
        assert (tmp_path / "n.npy").read_bytes()[:128] == npy([0] * n)[:128]


def test_the_documentation_names_every_file_and_key(built: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    values = json.loads((built / "index.json").read_text(encoding="utf-8"))
    names = {*values, *values["segments"][0], *(name.rpartition("/")[2] for name in values["files"])}
    names = {re.sub(r"(?<=tokenizer\.)[0-9a-f]{8}", "FFFFFFFF", name) for name in names}
    assert not [name for name in names if f"`{name}`" not in text and f"  {name} " not in text]
    assert f"Format {NEWEST_FORMAT}." in text


def test_there_is_a_frozen_index_of_every_written_format_and_engine() -> None:
    assert NEWEST_FORMAT in CORPORA
    written = {f"index_v{version}_{engine}" for version in CORPORA for engine in ENGINES}
    assert {path.name for path in FROZEN} == written


@pytest.mark.parametrize("directory", FROZEN, ids=lambda path: path.name)
def test_a_frozen_index_gives_the_answers_of_its_day(directory: Path) -> None:
    """Never made anew: what an earlier version wrote must open. Made by `tests.helpers.small_words`."""
    manifest = json.loads((directory / "index.json").read_text(encoding="utf-8"))
    assert directory.name == f"index_v{manifest['format']}_{manifest['segments'][0]['engine']}"
    pytest.importorskip(f"seal_ir._{manifest['segments'][0]['engine']}")
    verify_index(directory, print, None)
    check_answers(Index(directory, check="bytes"), CORPORA[manifest["format"]])


def check_answers(index: Index, corpus: Corpus) -> None:
    assert (index.n_documents, index.n_tokens) == (4, sum(map(len, corpus.streams)))
    assert index.documents(range(4)) == [document._replace(raw=None) for document in corpus.documents]
    assert index.raws(range(4)) == [document.raw for document in DOCUMENTS]
    assert [index.number(docid) for docid in ("b", "a", "\u00e9", "B", "c")] == [0, 1, 2, 3, None]
    assert [stream.tolist() for stream in index.streams(range(4))] == corpus.streams
    assert list(index.whole_fields) == ["title", *corpus.fields]
    for text, places in {**corpus.places, "[UNK] [UNK]": [(3, 6), (3, 7)], "is the": []}.items():
        found = index.locate([index.find(symbols_of(text))])
        pairs = zip(found.documents.tolist(), found.ends.tolist(), strict=True)
        assert sorted(pairs) == places
    first = index.first_symbols
    counts = (first.ranges[..., 1] - first.ranges[..., 0]).sum(axis=1)
    assert dict(zip(first.symbols.tolist(), counts.tolist(), strict=True)) == corpus.counts


def test_the_tokenizer_made_by_hand_is_canonical() -> None:
    assert TextTokenizer(DEFINITION).definition == DEFINITION
