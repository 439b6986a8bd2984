"""Collections: the rules of Pyserini's formats and the account of every record."""

import bz2
import gzip
import json
import lzma
import os
from itertools import islice
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.collection import Collection, Counts, ReadOptions, collection_kinds, read_ids
from seal_ir.formats.collections.passages import split_contents
from seal_ir.records import Document
from tests.helpers.examples import examples


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def read_json(path: Path, **options: object) -> list[Document]:
    return list(Collection("JsonCollection", path, ReadOptions(**options)))  # type: ignore[arg-type]


def read_tsv(path: Path, **options: object) -> list[Document]:
    return list(Collection("TsvCollection", path, ReadOptions(**options)))  # type: ignore[arg-type]


def refusal(kind: str, path: Path) -> str:
    with pytest.raises(InputError) as error:
        list(Collection(kind, path))
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_a1_line_breaks_in_the_text(tmp_path: Path) -> None:
    line = json.dumps({"id": "d1", "contents": "a title\nfirst line\nsecond line"})
    assert read_json(write(tmp_path / "a.jsonl", line)) == [
        Document("d1", "", "a title\nfirst line\nsecond line")
    ]
    tsv = write(tmp_path / "a.tsv", r"d1	t	one\ntwo", "d2\tt\tthree")
    assert read_tsv(tsv) == [Document("d1", "t", r"one\ntwo"), Document("d2", "t", "three")]


def test_a2_quotes_are_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tsv", 'd1\tt\t"Alpha beta', "d2\tt\tgamma", 'd3\tt\tsay "hi', 'd4\t"t"\t"He ""x"""'
    )
    assert read_tsv(path) == [
        Document("d1", "t", '"Alpha beta'),
        Document("d2", "t", "gamma"),
        Document("d3", "t", 'say "hi'),
        Document("d4", '"t"', '"He ""x"""'),
    ]


def test_a3_long_document(tmp_path: Path) -> None:
    text = "word " * 40_000 + "tail"
    assert read_tsv(write(tmp_path / "a.tsv", f"d1\tt\t{text}"))[0].text == text
    assert read_json(write(tmp_path / "a.jsonl", json.dumps({"id": "d1", "contents": text})))[0].text == text


def test_a4_byte_order_mark(tmp_path: Path) -> None:
    records = ['{"id":"d1","contents":"a"}', '{"id":"d2","contents":"b"}']
    for name, lines in (("a.jsonl", records), ("a.json", ["[" + ",".join(records) + "]"])):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
        assert [document.id for document in read_json(tmp_path / name)] == ["d1", "d2"]
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbfd1\tt\tx\nd2\tt\ty\n")
    assert [document.id for document in read_tsv(tmp_path / "a.tsv")] == ["d1", "d2"]


def test_a6_duplicate_ids_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"id":"d1","contents":"one"}', "", '{"id":"d2","contents":"two"}')
    write(tmp_path / "b.jsonl", '{"id":"d3","contents":"three"}', '{"id":"d2","contents":"four"}')
    text = refusal("JsonCollection", tmp_path)
    assert "'d2'" in text
    assert f"{tmp_path / 'a.jsonl'}:3" in text
    assert f"{tmp_path / 'b.jsonl'}:2" in text


@pytest.mark.parametrize(("policy", "texts"), [("first", ["one", "two"]), ("last", ["two", "five"])])
def test_a6_duplicate_policies_are_counted(tmp_path: Path, policy: str, texts: list[str]) -> None:
    path = write(tmp_path / "a.tsv", "d1\tone", "d2\ttwo", "d1\tthree", "d1\tfive")
    collection = Collection("TsvCollection", path, ReadOptions(duplicates=policy))  # type: ignore[arg-type]
    for _ in range(2):
        assert [document.text for document in collection] == texts
        assert collection.counts == Counts(4, 2, duplicate=2)


def test_a7_missing_contents(tmp_path: Path) -> None:
    lines = [
        '{"id":"d1"}',
        '{"id":"d2","contents":null}',
        '{"contents":"x"}',
        '{"id":"d4","contents":"fine"}',
    ]
    parts = ['no "contents"', '"contents" is None', 'no "id"']
    for index, part in enumerate(parts):
        path = write(tmp_path / f"{index}.jsonl", lines[3], lines[index])
        assert f"{path}:2: {part}" in refusal("JsonCollection", path)
    collection = Collection(
        "JsonCollection", write(tmp_path / "all.jsonl", *lines), ReadOptions(malformed="skip")
    )
    assert list(collection) == [Document("d4", "", "fine")]
    assert collection.counts == Counts(4, 1, malformed=3)
    assert [part in fault for part, fault in zip(parts, collection.faults, strict=True)] == [True] * 3


def test_a8_empty_documents_are_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tsv", "d1\t\talpha", "d2\t\t", "d3\t\tbeta", "d4\t \t\u00a0 ", "d5\ttitle only\t"
    )
    collection = Collection("TsvCollection", path)
    with pytest.raises(ValueError, match="complete pass"):
        _ = collection.counts
    assert [document.id for document in collection] == ["d1", "d3", "d5"]
    assert collection.empty_ids == ["d2", "d4"]
    assert collection.counts.balanced
    told = "read 5 = indexed 3 + empty 2 + duplicate 0 + malformed 0 + excluded 0"
    assert str(collection.counts) == told


def test_a9_empty_documents_shift_nothing(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": f"d{i}", "contents": text}) for i, text in enumerate(["alpha", "", "gamma"], 1)
    ]
    assert read_json(write(tmp_path / "a.jsonl", *lines)) == [
        Document("d1", "", "alpha"),
        Document("d3", "", "gamma"),
    ]


def test_a10_file_or_folder_and_wrong_kind(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "d1\ttext")
    assert read_tsv(path) == read_tsv(tmp_path) == [Document("d1", "", "text")]
    with pytest.raises(InputError, match=r"expected \.jsonl, \.json"):
        Collection("JsonCollection", tmp_path)
    with pytest.raises(UsageError, match="JsonCollection, TsvCollection"):
        Collection("jsonl", path)
    assert collection_kinds() == [
        "JsonCollection",
        "TsvCollection",
        "DprTsvCollection",
        "KiltCollection",
        "HFDataset",
        "LuceneIndex",
        "ir_datasets",
    ]


PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
CONTENTS = {
    ("JsonCollection", ".json"): '[\n{"id":"d1","title":"t","contents":"t\\n東京"}\n]',
    ("JsonCollection", ".jsonl"): '{"_id":"d1","title":"t","text":"東京"}\n',
    ("TsvCollection", ".tsv"): "d1\tt\t東京\n",
    ("DprTsvCollection", ".tsv"): "id\ttext\ttitle\nd1\t東京\tt\n",
    ("HFDataset", ".jsonl"): '{"docid":"d1","title":"t","text":"東京"}\n',
}


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize(("kind", "suffix"), CONTENTS)
def test_a11_same_documents_plain_and_compressed(
    tmp_path: Path, kind: str, suffix: str, packing: str
) -> None:
    content = CONTENTS[kind, suffix].encode()
    (tmp_path / "plain").mkdir()
    (tmp_path / "packed").mkdir()
    (tmp_path / "plain" / f"a{suffix}").write_bytes(content)
    (tmp_path / "packed" / f"a{suffix}{packing}").write_bytes(PACK[packing](content))
    for folder in ("plain", "packed", f"plain/a{suffix}", f"packed/a{suffix}{packing}"):
        assert list(Collection(kind, tmp_path / folder)) == [Document("d1", "t", "東京")]


@pytest.mark.parametrize("docid", ["Report,_1992", "30_1", "٣", 'a"b', "enwiki:9", "1e3", "\u200b"])
def test_a15_odd_ids_are_opaque(tmp_path: Path, docid: str) -> None:
    assert read_tsv(write(tmp_path / "a.tsv", f"{docid}\ttext"))[0].id == docid
    assert read_json(write(tmp_path / "a.jsonl", json.dumps({"id": docid, "contents": "x"})))[0].id == docid


@pytest.mark.parametrize("docid", ["My Doc", "", " d", "a\u00a0b", "a\u2028b"])
def test_a15_ids_with_white_space_are_refused(tmp_path: Path, docid: str) -> None:
    reason = "white space" if docid else "is empty"
    assert reason in refusal("TsvCollection", write(tmp_path / "a.tsv", f"{docid}\tt\ttext"))
    path = write(tmp_path / "a.jsonl", json.dumps({"id": docid, "contents": "x"}))
    assert f"{path}:1:" in refusal("JsonCollection", path)


@pytest.mark.parametrize("value", [True, 1.0, None, ["d"], {"a": 1}, "\ud800"])
def test_ids_of_other_types_are_malformed(tmp_path: Path, value: object) -> None:
    assert '"id"' in refusal(
        "JsonCollection", write(tmp_path / "a.jsonl", json.dumps({"id": value, "contents": "x"}))
    )


def test_integer_ids_become_their_digits(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", '{"id": 7, "contents": "x"}', '{"id": 12345678901234567890123, "contents": "y"}'
    )
    assert [document.id for document in read_json(path)] == ["7", "12345678901234567890123"]


@pytest.mark.parametrize(
    ("record", "title", "text"),
    [
        ({"contents": "T\nbody", "title": "T"}, "T", "body"),
        ({"contents": '"T"\nbody', "title": "T"}, "T", "body"),
        ({"contents": "T body", "title": "T"}, "T", "T body"),
        ({"contents": "U\nbody", "title": "T"}, "T", "U\nbody"),
        ({"contents": "\nbody", "title": ""}, "", "body"),
        ({"contents": '"T"\nbody', "title": ""}, "", '"T"\nbody'),
        ({"contents": '"T"\nbody\nmore'}, "T", "body\nmore"),
        ({"contents": '"T"\nbody', "title": None}, "T", "body"),
        ({"contents": '"T"'}, "", '"T"'),
        ({"contents": '""\nbody'}, "", '""\nbody'),
        ({"contents": 'say "T"\nbody'}, "", 'say "T"\nbody'),
        ({"contents": "line\nline"}, "", "line\nline"),
        ({"contents": "Lisbon\nThe capital of Portugal."}, "Lisbon", "The capital of Portugal."),
        (
            {"contents": "Lisbon\nThe capital.\nOf Portugal.", "title": None},
            "Lisbon",
            "The capital.\nOf Portugal.",
        ),
        ({"contents": "東京\n日本の首都である。"}, "東京", "日本の首都である。"),
        ({"contents": 'U2\n(See "Bono.")'}, "U2", '(See "Bono.")'),
        ({"contents": "Lisbon\nThe capital.", "title": ""}, "", "Lisbon\nThe capital."),
        ({"text": "Lisbon\nThe capital."}, "", "Lisbon\nThe capital."),
        ({"contents": "It rained.\nThe match was off."}, "", "It rained.\nThe match was off."),
        (
            {"contents": "It rained on the\nday of the match, which was off."},
            "",
            "It rained on the\nday of the match, which was off.",
        ),
        ({"contents": "Two roads diverged\nAnd sorry I."}, "", "Two roads diverged\nAnd sorry I."),
        ({"contents": "Lisbon\nPorto and Braga"}, "", "Lisbon\nPorto and Braga"),
        ({"contents": "Lisbon\n\nThe capital."}, "", "Lisbon\n\nThe capital."),
        ({"contents": " Lisbon\nThe capital."}, "", " Lisbon\nThe capital."),
        ({"contents": f"{'L' * 101}\n{'The capital. ' * 20}"}, "", f"{'L' * 101}\n{'The capital. ' * 20}"),
        ({"contents": "Lisbon\n"}, "", "Lisbon\n"),
        ({"text": "body", "title": "T"}, "T", "body"),
        ({"text": '"T"\nbody'}, "", '"T"\nbody'),
        ({"contents": "c", "text": "t"}, "", "c"),
    ],
)
def test_title_rule(tmp_path: Path, record: dict[str, object], title: str, text: str) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"id": "d", **record}))
    assert read_json(path) == [Document("d", title, text)]


@examples(100)
@given(
    st.lists(st.text('aAé.:" 日。', max_size=6), max_size=4).map("\n".join),
    st.sampled_from([None, "", "A"]),
)
def test_title_and_text_are_the_contents_again(text: str, title: str | None) -> None:
    """Whatever is taken for a title: but for DPR's quotes, and an empty line in place of an empty title."""
    found = split_contents(text, title)
    joined = f"{found[0]}\n{found[1]}" if found[0] else found[1]
    if title is None and not text.startswith('"'):
        assert joined == text
    assert text.endswith(found[1])


def test_beir_record_and_wrong_title(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"_id":"d1","title":"T","text":"body","metadata":{}}')
    assert read_json(path) == [Document("d1", "T", "body")]
    assert '"title" is 3' in refusal(
        "JsonCollection", write(tmp_path / "b.jsonl", '{"id":"a","contents":"x","title":3}')
    )
    assert "surrogate" in refusal(
        "JsonCollection", write(tmp_path / "c.jsonl", r'{"id":"a","contents":"\ud83d"}')
    )


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["d1"], ":1: 1 columns"),
        (["d1\ta\tb\tc"], ":1: 4 columns"),
        (["", "d1\ta\tb", "d2\tb"], ":3: 2 columns, line 2 has 3"),
        (["\t\t"], ":1: the id is empty"),
        (["id\ttitle\ttext", "d1\ta\tb"], ":1: is a header"),
    ],
)
def test_tsv_columns(tmp_path: Path, lines: list[str], reason: str) -> None:
    assert reason in refusal("TsvCollection", write(tmp_path / "a.tsv", *lines))


def test_include_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "d1\ta", "d2\tb", "d2\tc", "d3\t ", "d4\td")
    ids = write(tmp_path / "ids.txt", "d1", "", "d3 ", "d9")
    assert read_ids(ids) == {"d1", "d3", "d9"}
    collection = Collection("TsvCollection", path, ReadOptions(include_ids=read_ids(ids)))
    assert [document.id for document in collection] == ["d1"]
    assert collection.counts == Counts(5, 1, empty=1, excluded=3)
    assert collection.missing_ids == 1
    with pytest.raises(InputError, match=r"bad.txt:2: 2 words"):
        read_ids(write(tmp_path / "bad.txt", "a", "b c"))
    with pytest.raises(InputError, match="holds no id"):
        read_ids(write(tmp_path / "none.txt", ""))


def test_an_abandoned_pass_leaves_the_counts_alone(tmp_path: Path) -> None:
    collection = Collection("TsvCollection", write(tmp_path / "a.tsv", "d1\ta", "d2\tb"))
    assert len(list(collection)) == 2
    assert next(iter(collection)).id == "d1"
    assert collection.counts == Counts(2, 2)


@pytest.mark.parametrize("options", [{"duplicates": "newest"}, {"malformed": "ignore"}])
def test_unknown_policies_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="choose one of"):
        ReadOptions(**options)  # type: ignore[arg-type]


def test_counts_that_do_not_balance() -> None:
    assert not Counts(3, 1, empty=1).balanced


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
def test_real_corpus() -> None:
    path = Path(os.environ["SEAL_IR_DATA"]) / "corpus.jsonl.gz"
    documents = list(islice(Collection("JsonCollection", path), 1000))
    assert len({document.id for document in documents}) == 1000
    assert documents[0].id == "0#0"
    assert documents[0].title == "List of Nobel laureates in Physics"
    assert documents[0].text.startswith("The first Nobel Prize in Physics")
