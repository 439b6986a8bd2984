"""Topics and answers: TSV, Anserini's NQ format, JSON lines; what the format is."""

import bz2
import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import TOPICS_FORMATS, detect_format, read_topics, resolve_format
from seal_ir.records import Query


def write(path: Path, *lines: str, newline: str = "\n") -> Path:
    path.write_bytes("".join(f"{line}{newline}" for line in lines).encode())
    return path


def refusal(path: Path, topics_format: str = "auto") -> str:
    with pytest.raises(InputError) as error:
        read_topics(path, topics_format)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_a2_quotes_in_topics_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", '1\t"Alpha beta', "2\tgamma", '3\tsay "hi', '4\t"a ""b"""')
    assert [query.text for query in read_topics(path)] == ['"Alpha beta', "gamma", 'say "hi', '"a ""b"""']


def test_a4_byte_order_mark(tmp_path: Path) -> None:
    assert read_topics(write(tmp_path / "t.tsv", "\ufeff1\tq")) == [Query("1", "q")]
    assert read_topics(write(tmp_path / "t.jsonl", '\ufeff{"qid":"1","question":"q"}')) == [Query("1", "q")]


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}
TOPICS = {
    "tsv": "0\tq\n",
    "nq": "q\t['x']\n",
    "jsonl": '{"qid": "0", "question": "q", "answers": ["x"]}\n',
    "dpr-json": '[{"question": "q", "answers": ["x"]}]',
    "dpr-csv": "q\t\"['x']\"\n",
    "kilt": '{"id": "0", "input": "q", "output": [{"answer": "x"}]}\n',
    "map-json": '{"0": {"title": "q", "answers": ["x"]}}',
    "trec": "<top>\n<num> Number: 0\n<title> q\n</top>\n",
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", TOPICS)
def test_a11_every_format_plain_and_compressed(tmp_path: Path, name: str, suffix: str) -> None:
    plain, packed = tmp_path / "topics", tmp_path / f"topics{suffix}"
    plain.write_bytes(TOPICS[name].encode())
    packed.write_bytes(PACK[suffix](TOPICS[name].encode()))
    assert set(TOPICS) | {"auto", "default"} == set(TOPICS_FORMATS)
    for path in (plain, packed):
        assert read_topics(path, name) == [Query("0", "q")]
        assert detect_format(path) == ("nq" if name == "dpr-csv" else name)
        if name not in ("tsv", "trec"):
            assert read_answers(path) == read_answers(path, name) == {"0": ["x"]}


@pytest.mark.parametrize("qid", ["30_1", "1e3", "٣", "q123", "5a8b57f2", "007", "1.0"])
def test_a12_a13_ids_byte_for_byte(tmp_path: Path, qid: str) -> None:
    assert read_topics(write(tmp_path / "t.tsv", f"{qid}\tq"))[0].id == qid
    record = json.dumps({"qid": qid, "question": "q"})
    assert read_topics(write(tmp_path / "t.jsonl", record))[0].id == qid


def test_a14_other_scripts_and_empty_queries(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "1\t东京 大学", "2\tПривет", "3\t", "4\t   ")
    assert [query.text for query in read_topics(path)] == ["东京 大学", "Привет", "", "   "]


def test_file_order_and_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "9\ta", "", "10\tb", "1\tc", newline="\r\n")
    assert read_topics(path) == [Query("9", "a"), Query("10", "b"), Query("1", "c")]


def test_nq_format_whatever_the_name(tmp_path: Path) -> None:
    path = write(
        tmp_path / "topics.txt",
        "who sings\t['Ann', \"B's\"]",
        'which\t"[\'C\', ""D \'s""]"',
        '"who said ""x"""\t[\'Z\']',
        '"kept"\t[]',
        newline="\r\n",
    )
    assert read_topics(path) == [
        Query("0", "who sings"),
        Query("1", "which"),
        Query("2", 'who said "x"'),
        Query("3", '"kept"'),
    ]
    assert read_answers(path) == {"0": ["Ann", "B's"], "1": ["C", "D 's"], "2": ["Z"], "3": []}


def test_nq_lines_of_a_csv_writer_that_quotes_all(tmp_path: Path) -> None:
    path = write(tmp_path / "t", '"who said ""x"""\t"[\'x\']"', '"what"\t"[""D\'s""]"', '"\t"[]"')
    assert [query.text for query in read_topics(path)] == ['who said "x"', "what", '"']
    assert read_answers(path) == {"0": ["x"], "1": ["D's"], "2": []}


def test_nq_answers_that_are_regular_expressions(tmp_path: Path) -> None:
    assert read_answers(write(tmp_path / "t", r"when" "\t" r"['19\d\d']")) == {"0": [r"19\d\d"]}


def test_nq_numbers_are_line_numbers(tmp_path: Path) -> None:
    assert [query.id for query in read_topics(write(tmp_path / "t", "a\t['x']", "", "b\t['y']"))] == [
        "0",
        "2",
    ]


@pytest.mark.parametrize("cell", ["['x'", "[x]", "['x', 3]", "('x',)", "{'x'}", "[" * 5000 + "]" * 5000])
def test_what_is_no_list_of_strings_is_tsv(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "t", f"1\t{cell}")
    assert read_topics(path) == [Query("1", cell)]
    assert "not a question, a tab and a Python list" in refusal(path, "nq")


def test_nq_form_can_be_read_as_tsv_on_request(tmp_path: Path) -> None:
    assert read_topics(write(tmp_path / "t", "1\t['x']"), "tsv") == [Query("1", "['x']")]


@pytest.mark.parametrize("key", ["question", "title", "text", "input", "query"])
@pytest.mark.parametrize("id_key", ["id", "qid", "_id"])
def test_jsonl_keys(tmp_path: Path, key: str, id_key: str) -> None:
    path = write(tmp_path / "t", json.dumps({id_key: "a", key: "q"}), json.dumps({id_key: 7, key: ""}))
    assert read_topics(path) == [Query("a", "q"), Query("7", "")]


def test_jsonl_without_ids_is_numbered_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t", '{"question":"a","answers":["x"]}', '{"question":"b","answers":[]}')
    assert read_topics(path) == [Query("0", "a"), Query("1", "b")]
    assert read_answers(path) == {"0": ["x"], "1": []}
    assert ":2: some records" in refusal(
        write(tmp_path / "u", '{"question":"a"}', '{"id":"1","question":"a"}')
    )


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["1\ta", "2\tb", "1\tc"], ":3: topic '1' comes twice, first at"),
        (["a b\tq"], ":1: the topic id has white space"),
        (["\tq"], ":1: the topic id is empty"),
        (["1\ta\tb"], ":1: 3 columns"),
        (["1\ta", "2"], ":2: 1 columns"),
        (["no tab here"], ":1: no tab"),
        (["", ""], "is blank"),
        (['{"id":"1","question":"a"}', "{"], ":2: not JSON"),
        (['{"id":"1","body":"a"}'], ":1: no question"),
        (['{"id":"1","question":null}'], '"question" is None'),
        (['{"id":"1 2","question":"a"}'], '"id" has white space'),
        ([r'{"id":"1","question":"\udc00"}'], "must be a string"),
        (["a\t['x']", "b\tc"], ":2: not a question"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, lines: list[str], part: str) -> None:
    assert part in refusal(write(tmp_path / "t", *lines))


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="auto, default, tsv, nq, jsonl"):
        read_topics(write(tmp_path / "t", "1\tq"), "csv")
    assert "holds no topics" in refusal(write(tmp_path / "e", ""), "tsv")


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["1\tq"], "without answers"),
        (['{"qid":"1"}'], 'no "answers"'),
        (['{"qid":"1","answers":"x"}'], "\"answers\" is 'x'"),
        (['{"qid":"1","answers":["x",3]}'], "answer 3 is not a string"),
        (['{"qid":"1","answers":[]}', '{"qid":"1","answers":[]}'], ":2: topic '1' comes twice"),
    ],
)
def test_faulty_answers(tmp_path: Path, lines: list[str], part: str) -> None:
    path = write(tmp_path / "a", *lines)
    with pytest.raises(InputError) as error:
        read_answers(path)
    assert part in str(error.value)
    assert f"{path}:" in str(error.value)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"id":"1","question":"q"}', "jsonl"),
        ('{"id":"1","input":"q","question":"q"}', "jsonl"),
        ('{"qid":"1","input":"q"}', "jsonl"),
        ('{"broken', "jsonl"),
        ('{"id":"1","input":"q"}', "kilt"),
        ('  {"id":"1","input":"q","output":[]}', "kilt"),
        ("[", "dpr-json"),
        ("[]", "dpr-json"),
        ('[{"question":"q"', "dpr-json"),
        ("<top>", "trec"),
        ("<TOP lang='bn'>", "trec"),
        ("<DOC>", "trec"),
        ("<?xml version='1.0'?>", "trec"),
        ("who\t['x']", "nq"),
        ("[x]\t['x']", "nq"),
        ('"q"\t"[\'x\']"', "nq"),
        ("[1]\tq", "tsv"),
        ("\t[", "tsv"),
        ("<topic>\tq", "tsv"),
        ('"1"\t"q"', "tsv"),
    ],
)
def test_the_format_is_told_by_the_first_line(tmp_path: Path, line: str, name: str) -> None:
    path = write(tmp_path / "topics.tsv", "", line)
    assert detect_format(path) == resolve_format(path, "auto") == resolve_format(path, "default") == name
    assert resolve_format(path, "tsv") == "tsv"


def test_answers_of_nq_open(tmp_path: Path) -> None:
    path = write(tmp_path / "a", '{"question": "q", "answer": ["x"]}', '{"question": "r", "answer": []}')
    assert read_answers(path) == {"0": ["x"], "1": []}
    assert "answer '\\ud83d' is not" in refusal_of_answers(
        write(tmp_path / "c", r'{"qid":"1","answers":["\ud83d"]}')
    )


def refusal_of_answers(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_answers(path)
    return str(error.value)


def test_answers(tmp_path: Path) -> None:
    path = write(tmp_path / "a", '{"qid": "30_1", "question": "q", "answers": ["x", "Zürich"]}')
    assert read_answers(path) == {"30_1": ["x", "Zürich"]}


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
def test_real_topics() -> None:
    data = Path(os.environ["SEAL_IR_DATA"])
    tsv = read_topics(data / "topics" / "nq-test.tsv")
    nq = read_topics(data / "topics" / "topics.nq.test.txt")
    assert len(tsv) == 3610
    assert tsv == nq
    assert len(read_topics(data / "topics" / "topics.dpr.nq.test.txt")) == 3610
    answers = read_answers(data / "answers" / "nq-test.jsonl")
    with_repeats = read_answers(data / "topics" / "topics.nq.test.txt")
    assert answers == {qid: list(dict.fromkeys(strings)) for qid, strings in with_repeats.items()}
