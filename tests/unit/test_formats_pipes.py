"""A pipe is as good as a file: every reader, whatever it looks at first and however often it reads."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from seal_ir.config import preset
from seal_ir.config_files import from_toml
from seal_ir.convert.nq_examples import example_files, read_examples
from seal_ir.convert.overlap import read_overlap
from seal_ir.errors import InputError
from seal_ir.eval.rankings import read_rankings
from seal_ir.formats.collections.collection import Collection, ReadOptions, read_ids
from seal_ir.formats.io import inputs as module
from seal_ir.formats.io.files import is_file, iter_lines, open_text
from seal_ir.formats.io.folders import find_documents
from seal_ir.formats.io.inputs import KeptPipe, open_file, rereadable
from seal_ir.formats.runs.trec import read_qrels, read_run
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.predictions import read_predictions
from seal_ir.formats.topics.questions import excluded_questions, paired_questions
from seal_ir.formats.topics.reading import datapoint_inputs, detect_format, read_topics
from tests.helpers.piping import Piped, pipes

PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}
SIZES = {"small": 3, "large": 5000}  # records: far below 512 bytes, and beyond 64 KB, which a pipe holds


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Piped]:
    with pipes(tmp_path) as make:
        yield make


def _lines(form: str) -> Callable[[int], bytes]:
    return lambda n: "".join(f"{form.replace('@', str(i))}\n" for i in range(n)).encode()


def _array(n: int) -> bytes:
    return json.dumps([{"question": f"q {i}", "answers": [f"a {i}"]} for i in range(n)], indent=1).encode()


def _documents(kind: str, **options: Any) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        collection = Collection(kind, path, ReadOptions(**options))
        return [tuple(document) for document in collection], str(collection.counts), len(list(collection))

    return read


def _text(path: Path) -> str:
    with open_text(path) as stream:
        return stream.read()


def _pretty(n: int) -> bytes:
    return json.dumps({"id": "0", "contents": "words " * n}, indent=2).encode()


KILT = (
    '{"id": "t@", "input": "question @", "output": [{"answer": "a", "provenance": [{"wikipedia_id": "@"}]}]}'
)
RECORD = '{"id": "d@", "title": "Title @", "contents": "some text @"}'
READERS: dict[str, tuple[Callable[[int], bytes], Callable[[Path], object]]] = {
    "run": (_lines("1 Q0 d@ 1 -@ tag"), read_run),
    "rankings": (_lines("1 Q0 d@ 1 -@ tag"), read_rankings),
    "rankings of kilt": (_lines(KILT), read_rankings),
    "qrels": (_lines("1 0 d@ 1"), read_qrels),
    "qrels of kilt": (_lines(KILT), read_qrels),
    "topics, tsv": (_lines("t@\tquestion @"), read_topics),
    "topics, nq": (_lines("question @\t['an answer']"), read_topics),
    "topics, jsonl": (_lines('{"qid": "@", "question": "q @"}'), read_topics),
    "topics, kilt": (_lines(KILT), read_topics),
    "topics, array": (_array, read_topics),
    "topics, trec": (_lines("<top><num>@</num><title>q @</title></top>"), read_topics),
    "format": (_lines(KILT), detect_format),
    "inputs": (_lines(KILT), lambda path: datapoint_inputs(path, [])),
    "answers": (_lines('{"qid": "@", "answers": ["a"]}'), read_answers),
    "answers, nq": (_lines("question @\t['an answer']"), read_answers),
    "predictions": (_lines('{"qid": "@", "answer": "a"}'), read_predictions),
    "predictions of kilt": (_lines(KILT), read_predictions),
    "ids": (_lines("d@"), read_ids),
    "documents": (_lines(RECORD), _documents("JsonCollection")),
    "last of equal documents": (_lines(RECORD), _documents("JsonCollection", duplicates="last")),
    "documents, kept": (_lines(RECORD), _documents("JsonCollection", keep_raw=True)),
    "documents, pretty": (_pretty, _documents("JsonCollection")),
    "documents, tsv": (_lines("d@\tTitle\ttext @"), _documents("TsvCollection")),
    "documents, dpr": (_lines('@\t"text ""@"""\tTitle'), _documents("DprTsvCollection")),
    "documents, kilt": (
        _lines('{"wikipedia_id": "@", "wikipedia_title": "Title @", "text": ["Title @", "text @"]}'),
        _documents("KiltCollection"),
    ),
    "overlap": (_lines('{"id": "@", "labels": ["question_overlap"]}'), read_overlap),
    "pairs": (
        _lines('{"question": "q @", "positive_ids": ["d@"]}'),
        lambda path: list(paired_questions(path)),
    ),
    "excluded": (_lines("t@\tquestion @"), lambda path: excluded_questions([path])),
    "nq examples": (
        _lines(
            '{"example_id": "@", "question_text": "q", "document_url": "https://x.org/wiki/A",'
            ' "document_text": "a"}'
        ),
        lambda path: [example.qid for file in example_files(path) for example in read_examples(file)],
    ),
    "settings": (
        lambda n: b"[rank]\nbeta = 0.5\n" + b"# x\n" * n,
        lambda path: from_toml(path, preset("paper")),
    ),
    "lines": (_lines("line @"), lambda path: list(iter_lines(path))),
    "text": (_lines("line @"), _text),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fifo", "fd"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", READERS)
def test_i2_every_reader_takes_a_pipe_for_a_file(
    tmp_path: Path, piped: Piped, name: str, size: str, how: str
) -> None:
    make, read = READERS[name]
    content = make(SIZES[size])
    file = tmp_path / ("file.json" if "pretty" in name else "file")
    file.write_bytes(content)
    expected = read(file)
    assert expected
    assert read(piped(content, how)) == expected


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pack", PACK)
def test_every_compression_comes_through_a_pipe(piped: Piped, pack: str, size: str) -> None:
    content = _lines("1 Q0 d@ 1 -@ tag")(SIZES[size])
    run = read_rankings(piped(PACK[pack](content), "fd"))
    assert run == {"1": [f"d{i}" for i in range(SIZES[size])]}


@pytest.mark.parametrize("pack", [name for name in PACK if name != "plain"])
def test_a_pipe_that_is_cut_short_is_told(piped: Piped, pack: str) -> None:
    packed = PACK[pack](os.urandom(90_000).hex().encode())[:-20]
    with pytest.raises(InputError, match="damaged or truncated"):
        list(iter_lines(piped(packed, "fd")))


def test_stdin_is_read_by_its_name() -> None:
    program = (
        "from pathlib import Path; from seal_ir.eval.rankings import read_rankings;"
        "print(len(read_rankings(Path('/dev/stdin'))['1']))"
    )
    content = _lines("1 Q0 d@ 1 -@ tag")(5000)
    done = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"5000\n"), done.stderr


def test_stdin_may_be_a_socket() -> None:
    """As below some servers and remote shells; a socket cannot be opened by its name."""
    ours, theirs = socket.socketpair()
    program = (
        "from pathlib import Path; from seal_ir.formats.runs.trec import read_run;"
        "print(len(read_run(Path('/dev/stdin'))['1']))"
    )
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        ours.sendall(_lines("1 Q0 d@ 1 -@ tag")(100))
        ours.shutdown(socket.SHUT_WR)
        assert process.communicate(timeout=60)[0] == b"100\n"


def test_what_came_out_of_a_pipe_is_read_side_by_side(piped: Piped) -> None:
    path = rereadable(piped(b"0123456789" * 10_000, "fifo"))
    assert isinstance(path, KeptPipe)
    assert rereadable(path) is path
    with open_file(path) as first, open_file(path) as second:
        assert first.read(7) == b"0123456"
        assert second.read(3) == b"012"
        assert first.read(3) == b"789"
        assert first.seek(-1, os.SEEK_END) == 99_999
        assert first.read() == b"9"
    assert is_file(path)
    assert find_documents(path, (".jsonl",)).paths == [path]


def test_a_pipe_without_room_for_its_content_is_told(piped: Piped, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    with pytest.raises(InputError, match=r"fifo0: its content cannot be kept .*No space left.* set TMPDIR"):
        rereadable(piped(b"small", "fifo"))


def test_a_file_is_no_pipe(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    assert not isinstance(rereadable(path), KeptPipe)
    assert not isinstance(rereadable(tmp_path), KeptPipe)
    assert not is_file(tmp_path)
    assert not is_file(tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be read"):
        list(iter_lines(tmp_path))
