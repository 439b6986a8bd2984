"""JSON collections in every layout: lines, arrays, objects over several lines."""

from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io import jsonlines
from seal_ir.records import Document


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def read_json(path: Path) -> list[Document]:
    return list(Collection("JsonCollection", path))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_json(path)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


@pytest.mark.parametrize(
    "content",
    [
        '[{"id":"d1","contents":"a"},\n {"id":"d2","contents":"b"}]',
        '\n[ {"id":"d1",\n"contents":"a"}\n,{"id":"d2","contents":"b"} ]\n\n',
        '{"id":"d1","contents":"a"}\r\n{"id":"d2","contents":"b"}\r\n',
        '{"id":"d1","contents":"a"}\n\n  {"id":"d2","contents":"b"}',
        '{\n"id": "d1",\n"contents": "a"\n}\n{\n"id": "d2",\n"contents": "b"\n}',
    ],
)
@pytest.mark.parametrize("window", [1, 7, 1 << 20])
def test_json_files_of_every_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, window: int
) -> None:
    monkeypatch.setattr(jsonlines, "_WINDOW", window)
    path = tmp_path / "a.json"
    path.write_bytes(content.encode())
    assert read_json(path) == [Document("d1", "", "a"), Document("d2", "", "b")]


def test_array_in_a_jsonl_file(tmp_path: Path) -> None:
    assert read_json(write(tmp_path / "a.jsonl", '[{"id":"d1","contents":"a"}]')) == [Document("d1", "", "a")]
    assert read_json(write(tmp_path / "b.json", "[]")) == []


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ('[{"id":"d1","contents":"a"},\n{"id":"d2" "contents":"b"}]', 2, "not JSON"),
        ('[{"id":"d1","contents":"a"}\n{"id":"d2","contents":"b"}]', 2, "expected"),
        ('[{"id":"d1","contents":"a"}\n', 2, "expected"),
        ('[{"id":"d1","contents":"a"}]\n[]', 2, "after the array"),
        ('[\n\n{"id":"d1","contents":"a}]', 3, "not JSON"),
        ('[\n"d1", 3]', 2, "object is needed"),
        ('{"id":"d1","contents":"a"}\n{"id":"d2",', 2, "not JSON"),
        ("[" * 100_000, 1, "not JSON"),
        ('{"id":"d1","contents":NaN}', 1, '"contents" is nan'),
    ],
)
def test_broken_json_names_the_line(tmp_path: Path, content: str, line: int, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode())
    text = refusal(path)
    assert f"{path}:{line}:" in text
    assert reason in text


def test_invalid_utf8_in_an_array_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[\n{"id":"d1","contents":"caf\xe9"}]')
    assert f"{path}:2: not UTF-8" in refusal(path)


def test_a_syntax_fault_in_a_large_array_is_found_without_reading_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonlines, "_WINDOW", 100)
    path = write(tmp_path / "a.json", '[{"id" "d"},', *['{"id":"d","contents":"x"},'] * 1000)
    scanner_reads: list[int] = []
    grow = jsonlines._Scanner._grow
    monkeypatch.setattr(jsonlines._Scanner, "_grow", lambda self: (scanner_reads.append(1), grow(self))[1])
    refusal(path)
    assert len(scanner_reads) == 1
