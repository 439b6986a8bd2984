"""DPR's files: passages and questions with csv quoting, questions in JSON."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection, Counts, ReadOptions
from seal_ir.formats.io import dpr_csv as quoted
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Document, Query

HEADER = "id\ttext\ttitle"


def write(path: Path, *lines: str, newline: str = "\n") -> Path:
    path.write_bytes("".join(f"{line}{newline}" for line in lines).encode())
    return path


def passages(path: Path) -> list[Document]:
    return list(Collection("DprTsvCollection", path))


def refusal(path: Path, topics_format: str | None = None) -> str:
    with pytest.raises(InputError) as error:
        passages(path) if topics_format is None else read_topics(path, topics_format)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a2_doubled_quotes_are_decoded_in_this_format(tmp_path: Path, newline: str) -> None:
    path = write(
        tmp_path / "psgs_w100.tsv",
        HEADER,
        'd4\t"He said ""hi"""\tT',
        'd5\tsay "hi\t"A ""title"""',
        'd6\t"a\tb"\t',
        newline=newline,
    )
    collection = Collection("DprTsvCollection", path)
    assert list(collection) == [
        Document("d4", "T", 'He said "hi"'),
        Document("d5", 'A "title"', 'say "hi'),
        Document("d6", "", "a\tb"),
    ]
    assert collection.counts == Counts(3, 3)


def test_a2_a_lone_quote_swallows_no_rows(tmp_path: Path) -> None:
    rows = ['d1\t"Alpha beta\tt', "d2\tgamma\tt", 'd3\tsay "hi\tt', 'd4\t"He said ""hi"""\tt', 'd5\t"end\tt']
    path = write(tmp_path / "a.tsv", HEADER, *rows)
    assert f"{path}:2: a quote opens a cell" in refusal(path)
    collection = Collection("DprTsvCollection", path, ReadOptions(malformed="skip"))
    assert [document.id for document in collection] == ["d2", "d3", "d4"]
    assert collection.counts == Counts(5, 3, malformed=2)


def test_a1_quoted_line_breaks_stay_in_one_document(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", HEADER, 'd1\t"one', "", 'two ""three"""\tt', "d2\tfour\tt")
    assert passages(path) == [Document("d1", "t", 'one\n\ntwo "three"'), Document("d2", "t", "four")]


def test_a_quote_that_stays_open_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quoted, "_MAX_LINES", 5)
    path = write(tmp_path / "a.tsv", 'd0\t"open\tt', *(f"d{i}\tx\tt" for i in range(1, 20)), 'd20\t"x"\tt')
    collection = Collection("DprTsvCollection", path, ReadOptions(malformed="skip"))
    assert [document.id for document in collection] == [f"d{i}" for i in range(1, 21)]


def test_a3_long_passages(tmp_path: Path) -> None:
    text = 'a "word" ' * 25_000 + "tail"
    doubled = text.replace('"', '""')
    assert passages(write(tmp_path / "a.tsv", HEADER, f'd1\t"{doubled}"\tT')) == [Document("d1", "T", text)]


def test_a4_byte_order_mark_before_the_header(tmp_path: Path) -> None:
    assert passages(write(tmp_path / "a.tsv", f"\ufeff{HEADER}", "1\tx\tT")) == [Document("1", "T", "x")]


def test_header_is_optional_and_orders_the_columns(tmp_path: Path) -> None:
    assert passages(write(tmp_path / "a.tsv", "1\tx\tT")) == [Document("1", "T", "x")]
    assert passages(write(tmp_path / "b.tsv", "id\ttitle\ttext", "1\tT\tx")) == [Document("1", "T", "x")]


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("1\tx", "2 columns ('1\\tx'); write id, text, title"),
        ("1\tx\tT\tmore", "4 columns"),
        ("a b\tx\tT", "the id has white space"),
        ("\tx\tT", "the id is empty"),
        ('1\t"x" y\tT', "a quote opens a cell"),
    ],
)
def test_faulty_rows(tmp_path: Path, row: str, part: str) -> None:
    path = write(tmp_path / "a.tsv", HEADER, "0\tx\tT", row)
    assert f"{path}:3: {part}" in refusal(path)


def test_rows_are_those_of_pythons_csv(tmp_path: Path) -> None:
    rows = [
        ["1", 'a "b" c', "T"],
        ["2", "", ""],
        ["3", '"', '""'],
        ["4", 'x\n"y"\tz', "T"],
        ["5", "'q'", " lead"],
    ]
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        text = io.StringIO()
        csv.writer(text, "excel-tab", quoting=quoting, lineterminator="\n").writerows(rows)
        (tmp_path / "a.tsv").write_bytes(text.getvalue().encode())
        assert passages(tmp_path / "a.tsv") == [
            Document(i, title, body) for i, body, title in rows if i != "2"
        ]


def test_questions_with_csv_quoting(tmp_path: Path) -> None:
    path = write(
        tmp_path / "nq-test.qa.csv",
        "who sings\t['Ann', \"B's\"]",
        'which\t"[\'C\', ""D\'s""]"',
        "\"who said\"\t['Z']",
        "",
        "\"two\nlines\"\t['19\\d\\d']",
    )
    assert read_topics(path, "dpr-csv") == [
        Query("0", "who sings"),
        Query("1", "which"),
        Query("2", "who said"),
        Query("3", "two\nlines"),
    ]
    assert read_answers(path, "dpr-csv") == {
        "0": ["Ann", "B's"],
        "1": ["C", "D's"],
        "2": ["Z"],
        "3": [r"19\d\d"],
    }


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("q", "not a question"),
        ("q\tx", "not a question"),
        ("q\t['x', 3]", "not a question"),
        ("q\t['x']\tmore", "not a question"),
        ("\"q\" r\t['x']", "a quote opens a cell"),
    ],
)
def test_faulty_questions(tmp_path: Path, row: str, part: str) -> None:
    path = write(tmp_path / "q.csv", "a\t['x']", row)
    assert f"{path}:2: {part}" in refusal(path, "dpr-csv")


@pytest.mark.parametrize("indent", [None, 2])
def test_json_questions(tmp_path: Path, indent: int | None) -> None:
    records = [
        {"question": "who", "answers": ["x", "Zürich"], "positive_ctxs": [{"title": "t", "text": "[{"}]},
        {"question": "what", "answers": [], "ctxs": []},
    ]
    path = tmp_path / "nq-dev.json"
    path.write_bytes(json.dumps(records, indent=indent, ensure_ascii=False).encode())
    for name in ("auto", "dpr-json"):
        assert read_topics(path, name) == [Query("0", "who"), Query("1", "what")]
        assert read_answers(path, name) == {"0": ["x", "Zürich"], "1": []}


def test_a12_ids_of_json_questions_are_kept(tmp_path: Path) -> None:
    records = [{"id": qid, "question": "q", "answers": []} for qid in ("30_1", "1e3", "٣")]
    path = write(tmp_path / "a.json", json.dumps(records))
    assert [query.id for query in read_topics(path)] == list(read_answers(path)) == ["30_1", "1e3", "٣"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[\n{"question":"a","answers":[]},\n{"answers":[]}]', ":3: no question"),
        ('[\n{"question":"a","answers":[]},\n{"id":"1","question":"b","answers":[]}]', ":3: some records"),
        ('[\n{"id":"1","question":"a"},\n{"id":"1","question":"b"}]', ":3: topic '1' comes twice"),
        ('[\n{"question":"a"},\n3]', ":3: a JSON object is needed"),
        ('[{"question":"a"}', "not JSON"),
        ("[]", "holds no topics"),
    ],
)
def test_faulty_json(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode())
    assert part in refusal(path, "auto")


@pytest.mark.parametrize(
    ("answers", "part"), [("[3]", "answer 3 is not a string"), ("null", '"answers" is None')]
)
def test_faulty_json_answers(tmp_path: Path, answers: str, part: str) -> None:
    path = write(tmp_path / "a.json", "[", f'{{"question":"a","answers":{answers}}}]')
    with pytest.raises(InputError) as error:
        read_answers(path)
    assert f"{path}:2: {part}" in str(error.value)


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
def test_real_questions() -> None:
    data = Path(os.environ["SEAL_IR_DATA"])
    sample = data / "train" / "dpr-biencoder-sample.json"
    queries, answers = read_topics(sample), read_answers(sample)
    assert [query.id for query in queries] == ["0", "1", "2", "3", "4"]
    assert queries[0].text == "who sings does he love me with reba"
    assert answers["0"] == ["Linda Davis"]
    nq = data / "topics" / "topics.nq.test.txt"
    assert read_topics(nq, "dpr-csv") == read_topics(nq)
    assert read_answers(nq, "dpr-csv") == read_answers(nq)
