"""What is written comes back, whatever it is."""

import csv
import io
import json
import string
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.formats.collections.collection import Collection, Counts, ReadOptions
from seal_ir.formats.io import jsonlines
from seal_ir.formats.io.dpr_csv import quoted_rows
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.runs.pages import first_hits, fold_hits
from seal_ir.formats.runs.trec import RunWriter, read_run, strictly_decreasing, trec_order
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Document, Hit, Query
from tests.helpers.examples import examples

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
ID = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda text: text.split() == [text] and not text.startswith("\ufeff")
)
CELL = TEXT.filter(lambda text: not set("\t\n") & set(text) and not text.endswith("\r"))
FILES = examples(100)  # the disk may be slow
SCORE = st.floats(-1e37, 1e37, allow_nan=False) | st.floats(-20, 20) | st.sampled_from([0.0, 1.0, -3.5])


def documents_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Document]]:
    document = st.builds(Document, ID, text, text, st.none(), st.just(()), st.just(()))
    return st.lists(document, unique_by=lambda document: document.id, max_size=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


def check(collection: Collection, documents: list[Document]) -> None:
    full = [document for document in documents if (document.title + document.text).strip()]
    assert list(collection) == full
    assert collection.counts == Counts(len(documents), len(full), empty=len(documents) - len(full))
    assert list(collection) == full


@FILES
@given(documents_of(CELL))
def test_tsv_collection(folder: Path, documents: list[Document]) -> None:
    path = folder / "c.tsv"
    header = {"id", "title", "text"}
    documents = [
        document for document in documents if {cell.strip().lower() for cell in document[:3]} != header
    ]
    path.write_bytes("".join("\t".join(document[:3]) + "\n" for document in documents).encode())
    check(Collection("TsvCollection", path), documents)


@FILES
@given(
    documents_of(TEXT),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.integers(1, 50),
)
def test_json_collection(
    folder: Path, documents: list[Document], ascii_only: bool, indent: int | None, window: int
) -> None:
    records = [{"id": d.id, "title": d.title, "contents": f"{d.title}\n{d.text}"} for d in documents]
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in records]
    (folder / "c.jsonl").write_bytes("\n".join(lines).encode())
    (folder / "c.json").write_bytes(json.dumps(records, ensure_ascii=ascii_only, indent=indent).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonlines, "_WINDOW", window)
        for name in ("c.jsonl", "c.json"):
            check(Collection("JsonCollection", folder / name), documents)


@FILES
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y"])), max_size=8), st.booleans()
)
def test_duplicate_policies(folder: Path, rows: list[tuple[str, str]], last: bool) -> None:
    path = folder / "d.tsv"
    path.write_bytes("".join(f"{docid}\t{text}\n" for docid, text in rows).encode())
    kept = dict(rows if last else reversed(rows))
    collection = Collection("TsvCollection", path, ReadOptions(duplicates="last" if last else "first"))
    assert {document.id: document.text for document in collection} == {k: v for k, v in kept.items() if v}
    assert collection.counts.balanced
    assert collection.counts.duplicate == len(rows) - len(kept)


@FILES
@given(st.lists(st.builds(Query, ID, CELL), min_size=1, unique_by=lambda query: query.id, max_size=5))
def test_topics(folder: Path, queries: list[Query]) -> None:
    (folder / "t.tsv").write_bytes("".join(f"{query.id}\t{query.text}\n" for query in queries).encode())
    assert read_topics(folder / "t.tsv", "tsv") == queries
    lines = [json.dumps({"qid": query.id, "question": query.text}) for query in queries]
    (folder / "t.jsonl").write_bytes("\n".join(lines).encode())
    assert read_topics(folder / "t.jsonl") == queries


@FILES
@given(st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), min_size=1, max_size=5))
def test_nq_topics(folder: Path, rows: list[tuple[str, list[str]]]) -> None:
    rows = [("".join(c for c in question if c not in '\t\n"'), answers) for question, answers in rows]
    (folder / "n.txt").write_bytes(
        "".join(f"{question}\t{answers!r}\n" for question, answers in rows).encode()
    )
    expected = [Query(str(number), question) for number, (question, _) in enumerate(rows)]
    if not rows[0][0].lstrip("\ufeff").lstrip().startswith("{") and not rows[0][0].startswith("\ufeff"):
        assert read_topics(folder / "n.txt") == expected


@examples(300)
@given(st.lists(SCORE, max_size=30))
def test_printed_scores_strictly_decrease(scores: list[float]) -> None:
    texts = strictly_decreasing(scores)
    values = [float(text) for text in texts]
    singles = [struct.unpack("f", struct.pack("f", value))[0] for value in values]
    assert all(above > below for above, below in pairwise(values))
    assert all(above > below for above, below in pairwise(singles))
    assert all(set(text) <= set(string.digits + ".-") and text[-7] == "." for text in texts)
    if scores:
        assert texts[0].lstrip("-") == f"{scores[0]:.6f}".lstrip("-")


@FILES
@given(st.dictionaries(ID, st.dictionaries(ID, SCORE, min_size=1, max_size=6), max_size=3))
def test_run_keeps_our_order(folder: Path, run: dict[str, dict[str, float]]) -> None:
    ranked = {qid: sorted(scores.items(), key=lambda entry: -entry[1]) for qid, scores in run.items()}
    with RunWriter(folder / "run", tag="t") as writer:
        for qid, entries in ranked.items():
            writer.write(qid, [Hit(docid, score) for docid, score in entries])
    again = read_run(folder / "run")
    assert list(again) == list(ranked)
    for qid, entries in ranked.items():
        assert [docid for docid, _ in trec_order(again[qid])] == [docid for docid, _ in entries]


# Python's reader also ends lines at a lone CR, which is text here.
CSV_CELL = TEXT.filter(lambda text: "\r" not in text)


@FILES
@given(
    st.lists(st.lists(CSV_CELL, min_size=2, max_size=4), max_size=6),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_rows_that_csv_writes_come_back(folder: Path, rows: list[list[str]], quoting: int) -> None:
    text = io.StringIO()
    csv.writer(text, "excel-tab", quoting=quoting, lineterminator="\n").writerows(rows)
    if text.getvalue().startswith("\ufeff"):
        return
    (folder / "q.tsv").write_bytes(text.getvalue().encode())
    assert [cells for _, cells in quoted_rows(folder / "q.tsv")] == rows


@FILES
@given(st.lists(st.text('ab"\t', max_size=8).filter(lambda line: line.strip(" ")), max_size=8))
def test_every_line_is_in_one_row_or_malformed(folder: Path, lines: list[str]) -> None:
    (folder / "q.tsv").write_bytes("".join(f"{line}\n" for line in lines).encode())
    expected = 1
    for number, cells in quoted_rows(folder / "q.tsv"):
        assert number == expected
        breaks = 0 if isinstance(cells, Malformed) else sum(cell.count("\n") for cell in cells)
        expected += 1 + breaks
    assert expected == len(lines) + 1


@given(st.lists(st.sampled_from(["1#0", "1#1", "2#0", "2", "3#9#1"]), max_size=9), st.integers(1, 4))
def test_folding_is_that_of_pyserinis_writers(docids: list[str], max_hits: int) -> None:
    hits = [Hit(docid, -float(rank)) for rank, docid in enumerate(docids)]
    expected: list[tuple[str, float]] = []
    for hit in hits:  # they go down the hits and leave out pages seen before, until enough are written
        page = hit.docid.split("#")[0]
        if len(expected) < max_hits and page not in dict(expected):
            expected.append((page, hit.score))
    assert [(hit.docid, hit.score) for hit in fold_hits(hits, "#", max_hits)] == expected
    assert [hit.docid for hit in first_hits(hits)] == list(dict.fromkeys(docids))
