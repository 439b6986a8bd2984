"""Faults of input files say their true cause, in one line, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.config import preset
from seal_ir.config_files import from_toml
from seal_ir.errors import InputError, SealError
from seal_ir.eval.rankings import read_rankings
from seal_ir.formats.collections.collection import Collection, ReadOptions, read_ids
from seal_ir.formats.runs.trec import read_qrels, read_run
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics

LONG = "9" * 5000
MARK = "\ufeff"
RUN = "1 Q0 d1 1 1.0 t\n"
Read = Callable[[Path], object]


def documents(kind: str) -> Read:
    return lambda path: list(Collection(kind, path))


def told(read: Read, path: Path) -> str:
    with pytest.raises(SealError) as error:
        read(path)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{path}")
    assert len(text) < len(str(path)) + 300
    return text


TABLE = "d1\tTitle\tsome text\n"
WRONG_KINDS = [
    (
        "JsonCollection",
        "c.tsv",
        TABLE,
        ":1: not JSON, seen 'd1\\tTitle\\tsome text'; add --collection T",
    ),
    ("JsonCollection", "c.jsonl", TABLE, "add --collection TsvCollection, or DprTsvCollection for DPR's"),
    ("JsonCollection", "c.txt", "plain words\n", "seen 'plain words'; write one JSON object a line"),
    ("TsvCollection", "c.jsonl", '{"id": "1", "contents": "x"}\n', "or give --collection JsonCollection"),
    ("DprTsvCollection", "c.jsonl", '{"id": "1", "contents": "x"}\n', "or give --collection JsonCollection"),
    (
        "JsonCollection",
        "c.jsonl",
        "PAR1\x15\x04",
        ": is a Parquet file; documents are read from it with",
    ),
]


@pytest.mark.parametrize(("kind", "name", "text", "part"), WRONG_KINDS)
def test_i17_the_wrong_kind_of_collection_names_the_right_one(
    tmp_path: Path, kind: str, name: str, text: str, part: str
) -> None:
    (tmp_path / name).write_text(text)
    assert part in told(documents(kind), tmp_path / name)


def test_a_folder_of_tables_names_the_right_collection(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_text(TABLE)
    assert "add --collection TsvCollection" in told(documents("JsonCollection"), tmp_path)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("d2\tb", ":3: 2 columns, line 1 has 3; fill in"),
        ("d2\ta\tb\tc", ":3: 4 columns, line 1 has 3; remove surp"),
    ],
)
def test_i17_a_row_with_too_few_columns_is_not_told_to_lose_tabs(tmp_path: Path, row: str, part: str) -> None:
    (tmp_path / "a.tsv").write_text(f"{TABLE}\n{row}\n")
    text = told(documents("TsvCollection"), tmp_path / "a.tsv")
    assert part in text
    assert ("tabs" in text) == (row.count("\t") > 2)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (documents("JsonCollection"), f'{{"id": {LONG}, "contents": "x"}}\n'),
        (documents("JsonCollection"), f'[{{"id": {LONG}, "contents": "x"}}]\n'),
        (documents("JsonCollection"), f'{{"id": "1", "contents": "x", "n": -{LONG}}}\n'),
        (read_topics, f'{{"id": {LONG}, "question": "x"}}\n'),
        (read_topics, f'[{{"id": {LONG}, "question": "x"}}]\n'),
        (read_answers, f'{{"id": {LONG}, "answers": ["x"]}}\n'),
        (read_rankings, f'{{"id": {LONG}, "output": []}}\n{{"id": {LONG}, "output": []}}\n'),
        (read_qrels, f"1 0 d {LONG}\n"),
        (read_run, f"1 Q0 d 1 {LONG} t\n"),
        (lambda path: from_toml(path, preset("paper")), f"[rank]\nmax_count = {LONG}\n"),
    ],
)
def test_an_integer_of_thousands_of_digits_is_told(tmp_path: Path, read: Read, text: str) -> None:
    (tmp_path / "file").write_text(text)
    seen = told(read, tmp_path / "file")
    assert "set_int_max_str_digits" not in seen


def test_an_id_of_many_digits_is_told_to_be_quoted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f'{{"id": {LONG}, "contents": "x"}}\n')
    assert "an integer with thousands of digits; put it in quotes" in told(
        documents("JsonCollection"), tmp_path / "file"
    )
    (tmp_path / "file").write_text(f'{{"id": {LONG[:4000]}, "contents": "x"}}\n')
    assert [document.id for document in Collection("JsonCollection", tmp_path / "file")] == [LONG[:4000]]


TOP = "<top><num>1</num><title>q</title></top>\n"
MARKED: list[tuple[Read, str]] = [
    (read_run, f"{RUN}{MARK}2 Q0 d1 1 1.0 t\n"),
    (read_run, f"{RUN}2 Q0 d1 1 1.0 t{MARK}\n"),
    (read_rankings, f"{RUN}\n{MARK}{RUN}"),
    (read_qrels, f"1 0 d 1\n{MARK}2 0 d 1\n"),
    (read_qrels, f"1 0 d 1\n2 0 {MARK}d 1\n"),
    (read_topics, f"1\tq\n{MARK}2\tq\n"),
    (read_topics, f"q\t['a']\n{MARK}r\t['a']\n"),
    (read_topics, f'{{"qid": "1", "question": "q"}}\n{MARK}{{"qid": "2", "question": "q"}}\n'),
    (
        read_topics,
        f"<top><num>1</num><title>q</title></top>\n{MARK}<top><num>2</num><title>r</title></top>\n",
    ),
    (read_topics, f'{{"qid": "{MARK}1", "question": "q"}}\n'),
    (read_answers, f'{{"qid": "1", "answers": []}}\n{MARK}{{"qid": "2", "answers": []}}\n'),
    (read_ids, f"d1\n{MARK}d2\n"),
    (documents("JsonCollection"), f'{{"id": "1", "contents": "q"}}\n{MARK}{{"id": "2", "contents": "q"}}\n'),
    (documents("TsvCollection"), f"1\tq\n{MARK}2\tq\n"),
    (documents("DprTsvCollection"), f"id\ttext\ttitle\n1\ta\tb\n{MARK}id\ttext\ttitle\n2\ta\tb\n"),
]


@pytest.mark.parametrize(("read", "text"), MARKED)
def test_a_byte_order_mark_inside_a_file_is_told(tmp_path: Path, read: Read, text: str) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    seen = told(read, tmp_path / "file")
    assert "byte order mark" in seen
    assert "remove it" in seen
    (tmp_path / "file").write_text(MARK + text.replace(MARK, ""), encoding="utf-8")
    if text.count(RUN) < 2 and "title\n1" not in text:
        assert read(tmp_path / "file")


def test_a_mark_in_a_text_stays(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"d1\ta{MARK}b\n", encoding="utf-8")
    assert [document.text for document in Collection("TsvCollection", tmp_path / "a.tsv")] == [f"a{MARK}b"]


def test_a_table_among_json_is_counted_where_faults_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{TABLE}{{"id": "1", "contents": "q"}}\n')
    collection = Collection("JsonCollection", tmp_path / "a.jsonl", ReadOptions(malformed="skip"))
    assert [document.id for document in collection] == ["1"]
    assert collection.counts.malformed == 1
    with pytest.raises(InputError):
        list(Collection("JsonCollection", tmp_path / "a.jsonl"))
