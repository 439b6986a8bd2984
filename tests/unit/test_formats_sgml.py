"""TREC's topics."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Query

ROBUST = """
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in <em>crime</em>.

<narr> Narrative:
A relevant document must as a minimum identify the organization.

</top>

<top>
<num> Number: 051
<title> Topic:  Airbus
   Subsidies &amp; loans: a story

<desc> Description:
</top>
"""


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_titles_of_ad_hoc_topics(tmp_path: Path, newline: str) -> None:
    path = write(tmp_path / "topics.robust.txt", ROBUST.replace("\n", newline))
    wanted = [
        Query("301", "International Organized Crime"),
        Query("051", "Airbus Subsidies & loans: a story"),
    ]
    assert read_topics(path) == read_topics(path, "trec") == wanted


XML = """<?xml version='1.0'?>
<xml>
<TOP lang='en'>
<num>176</num><title>
AT&T & "x" &copy; &#233;
</title>
</TOP>
<top><num> q_2 </num><title>one line</title></top>
<top><num>3</num><title></title></top>
</xml>
"""
CACM = """<DOC>
<DOCNO> 1 </DOCNO>

 What articles
deal with TSS?

</DOC>
<DOC>
<DOCNO> 2 </DOCNO>
 b
</DOC>
"""


def test_other_forms(tmp_path: Path) -> None:
    assert read_topics(write(tmp_path / "xml", XML)) == [
        Query("176", 'AT&T & "x" &copy; é'),
        Query("q_2", "one line"),
        Query("3", ""),
    ]
    assert read_topics(write(tmp_path / "cacm", CACM)) == [
        Query("1", "What articles deal with TSS?"),
        Query("2", "b"),
    ]


@pytest.mark.parametrize("qid", ["30_1", "1e3", "٣", "q123", "5a8b57f2", "007"])
def test_a12_a13_ids_byte_for_byte(tmp_path: Path, qid: str) -> None:
    for form in (f"<num>{qid}</num>", f"<num> Number: {qid} \n", f"<num>number:{qid}\n"):
        assert read_topics(write(tmp_path / "t", f"<top>\n{form}<title>x\n</top>\n")) == [Query(qid, "x")]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<top>\n<num>1\n<title>a\n<top>\n", ":1: the topic is not closed before line 4"),
        ("\n<top>\n<num>1\n<title>a\n", ":2: the topic is not closed before the file's end"),
        ("<top>\n<title>a\n</top>\n", ":1: the topic has no <num>"),
        ("<top>\n<num>1\n<desc>a\n</top>\n", ":1: topic '1' has no <title>"),
        ("<top>\n<num>\n<title>a\n</top>\n", ":1: the topic id is empty"),
        ("<top>\n<num>a b\n<title>a\n</top>\n", ":1: the topic id has white space"),
        ("<top>\n<num>1\n<title>a\n</top>\n<top>\n<num>1\n<title>b\n</top>\n", ":5: topic '1' comes twice"),
        ("<xml>\n</xml>\n", "holds no topics"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, text: str, part: str) -> None:
    path = write(tmp_path / "t", text)
    with pytest.raises(InputError) as error:
        read_topics(path)
    assert f"{path}" in str(error.value)
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_there_are_no_answers_in_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without answers"):
        read_answers(write(tmp_path / "t", ROBUST))


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
@pytest.mark.parametrize(
    ("topics", "qrels", "n_topics", "n_judged", "n_judgements", "first"),
    [
        (
            "cranfield/cran.qry.xml",
            "cranfield/cranqrel.trec.txt",
            225,
            225,
            1837,
            "what similarity laws must be",
        ),
        (
            "cacm/topics.cacm.txt",
            "cacm/qrels.cacm.txt",
            64,
            52,
            796,
            "What articles exist which deal with TSS",
        ),
        ("vaswani/query-text.trec", "vaswani/qrels", 93, 93, 2083, "MEASUREMENT OF DIELECTRIC CONSTANT"),
        ("vaswani/query_light.trec", "vaswani/qrels", 20, 93, 2083, "MEASUREMENT OF DIELECTRIC CONSTANT"),
    ],
)
def test_real_collections(
    topics: str, qrels: str, n_topics: int, n_judged: int, n_judgements: int, first: str
) -> None:
    folder = Path(os.environ["SEAL_IR_DATA"]) / "trec"
    queries, grades = read_topics(folder / topics), read_qrels(folder / qrels)
    assert len(queries) == n_topics
    assert queries[0].text.startswith(first)
    assert all(query.text and "<" not in query.text for query in queries)
    assert len(grades) == n_judged
    assert sum(map(len, grades.values())) == n_judgements
