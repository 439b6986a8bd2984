"""Whatever holds texts, ids, numbers or documents is taken by position; what is none is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from seal_ir.arguments import ids, texts, whole, wholes
from seal_ir.config import DecodeConfig, RankConfig, SearchConfig
from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.errors import ArgumentError, IndexDirError, SealError, UsageError
from seal_ir.index.reader import Index
from seal_ir.records import Document, Hit, QueryKeys
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

Entries = dict[str, Callable[[Any], Any]]
QUERIES = ["the capital of Japan", "the highest mountain", "where does a whale live"]
QIDS = ["q2", "q0", "q1"]
PERMUTED = pd.DataFrame({"query": QUERIES, "qid": QIDS}, index=[2, 0, 1])
HOLDERS: dict[str, Callable[[list[str]], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "a generator": lambda values: (value for value in values),
    "keys of a dict": lambda values: dict.fromkeys(values).keys(),
    "values of a dict": lambda values: dict(enumerate(values)).values(),
    "a numpy array": np.array,
    "a numpy array of objects": lambda values: np.array(values, dtype=object),
    "a Series with a permuted index": lambda values: pd.Series(values, index=[2, 0, 1][: len(values)]),
    "a filtered Series": lambda values: pd.Series(["no", *values])[[False] + [True] * len(values)],
    "a column of a DataFrame": lambda values: pd.DataFrame({"x": values}, index=[5] * len(values))["x"],
    "a Series of pandas strings": lambda values: pd.Series(values, dtype="string"),
    "an index of pandas": pd.Index,
    "an array of Arrow": pa.array,
    "chunks of Arrow": lambda values: pa.chunked_array([[value] for value in values]),
}
NO_TEXTS: dict[str, tuple[Any, str]] = {
    "None": (None, r"None \(NoneType\)"),
    "NaN": (float("nan"), r"nan \(float\)"),
    "NA": (pd.NA, r"<NA> \(NAType\)"),
    "bytes": (b"Japan", r"b'Japan' \(bytes\)"),
    "an integer": (7, r"7 \(int\)"),
    "a list": (["Japan"], r"\['Japan'\] \(list\)"),
    "a lone surrogate": ("Jap\ud800n", r"'Jap\\ud800n'.* character 3 is a lone surrogate"),
}
NO_HOLDERS: dict[str, tuple[Any, str]] = {
    "a bare string": ("Japan", "'Japan' .* a single one; give a list"),
    "bare bytes": (b"Japan", "a single one; give a list"),
    "None": (None, r"None \(NoneType\); it must be a list"),
    "a number": (3, "must be a list"),
    "a mapping": ({"q1": "Japan"}, r"a mapping \(dict\); give its keys\(\) or its values\(\)"),
    "a set": ({"Japan", "whale"}, "no order"),
    "a DataFrame": (PERMUTED[["query"]], "DataFrame with 2 dimensions; give one column"),
    "a matrix": (np.array([["Japan"]]), "ndarray with 2 dimensions"),
    "an array without dimensions": (np.array("Japan"), "ndarray with 0 dimensions"),
}
NO_WHOLES: dict[str, Any] = {"a float": 1.0, "numpy's float": np.float64(2), "text": "3", "True": True,
                             "numpy's True": np.bool_(True), "None": None, "NaN": float("nan")}  # fmt: skip


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> SealSearcher:
    directory = tmp_path_factory.mktemp("arguments") / "index"
    tiny.build(directory)
    return SealSearcher(directory, tiny.generator(), preset="paper")


@pytest.fixture(scope="module")
def entries(searcher: SealSearcher) -> Entries:
    """Every public entry that takes several texts, and what it gives for them, comparable."""
    keys = searcher.decode(QUERIES)
    return {
        "batch_search": lambda given: list(searcher.batch_search(given, QIDS).values()),
        "ids of batch_search": lambda given: list(searcher.batch_search(QUERIES, given)),
        "decode": lambda given: [found.keys for found in searcher.decode(given)],
        "decode_counted": lambda given: [found.keys for found in searcher.decode_counted(given).queries],
        "rescore": lambda given: [found.keys for found in searcher.rescore(given, iter(keys))],
        "batch_doc": searcher.batch_doc,
    }


ENTRIES = ("batch_search", "ids of batch_search", "decode", "decode_counted", "rescore", "batch_doc")


VALUES = {entry: ["d1", "none", "d6"] if entry == "batch_doc" else QUERIES for entry in ENTRIES}


@pytest.fixture(scope="module")
def expected(entries: Entries) -> dict[str, Any]:
    """What each entry gives for lists."""
    return {entry: entries[entry](VALUES[entry]) for entry in ENTRIES}


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_i1_queries_in_any_container_go_by_position(
    entries: Entries, expected: dict[str, Any], entry: str, holder: str
) -> None:
    assert entries[entry](HOLDERS[holder](VALUES[entry])) == expected[entry]
    assert len(expected[entry]) == (2 if entry == "batch_doc" else 3)


def test_i1_a_permuted_frame_gives_each_query_its_own_hits(searcher: SealSearcher) -> None:
    found = searcher.batch_search(PERMUTED["query"], PERMUTED["qid"])
    assert found == {qid: searcher.search(query) for qid, query in zip(QIDS, QUERIES, strict=True)}
    assert len({tuple(key.symbols for key in keys.keys) for keys in searcher.decode(PERMUTED["query"])}) == 3


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("value", NO_TEXTS)
def test_i1_what_is_no_text_is_refused_with_its_place_and_value(
    entries: Entries, entry: str, value: str
) -> None:
    given, told = NO_TEXTS[value]
    if entry == "ids of batch_search" and value == "an integer":
        return  # Pyserini makes integers of ids: see below
    with pytest.raises(ArgumentError, match=rf"^(queries|qids|docids)\[1\] is {told}") as raised:
        entries[entry](["d1", given, "d6"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("holder", NO_HOLDERS)
def test_i1_what_holds_no_texts_in_order_is_refused(entries: Entries, entry: str, holder: str) -> None:
    given, told = NO_HOLDERS[holder]
    if entry == "ids of batch_search" and given is None:
        told = "need as many distinct ids, not 0"
    with pytest.raises(ArgumentError, match=rf"^(queries|qids|docids|3 queries) .*{told}"):
        entries[entry](given)


@pytest.mark.parametrize("value", NO_TEXTS)
def test_i1_a_single_query_that_is_no_text_is_refused(searcher: SealSearcher, value: str) -> None:
    given, told = NO_TEXTS[value]
    with pytest.raises(ArgumentError, match=f"^q is {told}"):
        searcher.search(given)
    encoder = SealQueryEncoder(searcher.index_dir, tiny.generator())
    with pytest.raises(ArgumentError, match=f"^query is {told}"):
        encoder.encode(given)
    assert searcher.search(np.str_(QUERIES[0])) == searcher.search(QUERIES[0])
    assert encoder.encode(np.str_(QUERIES[0])) == encoder.encode(QUERIES[0])


def test_i1_ids_may_be_integers_as_pyserini_makes_them(searcher: SealSearcher) -> None:
    found = searcher.batch_search(QUERIES, np.array([30, 10, 20]))
    assert list(found) == [30, 10, 20]
    assert [type(qid) for qid in found] == [int] * 3
    for given, told in (([1, True, 2], "True"), ([1.0, 2.0, 3.0], "1.0"), ([1, 2, np.int64(1)], "1 again")):
        with pytest.raises(ArgumentError, match=told):
            searcher.batch_search(QUERIES, given)
    with pytest.raises(ArgumentError, match="3 queries need as many distinct ids, not 0"):
        searcher.batch_search(QUERIES, q_ids=iter(()))


def test_i1_keys_that_are_none_are_refused(searcher: SealSearcher) -> None:
    keys = searcher.decode(QUERIES[:2])
    with pytest.raises(ArgumentError, match=r"^keys\[1\] is .* it must be a QueryKeys"):
        searcher.rescore(QUERIES[:2], [keys[0], keys[1].keys])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="^keys is "):
        searcher.rank(keys, 10)  # type: ignore[arg-type]
    assert isinstance(searcher.rescore(QUERIES[:2], tuple(keys))[0], QueryKeys)


@pytest.mark.parametrize("value", NO_TEXTS)
@pytest.mark.parametrize("part", ["id", "title", "text", "raw", "docid"])
def test_i1_documents_of_anything_but_text_are_not_indexed(tmp_path: Path, part: str, value: str) -> None:
    given, told = NO_TEXTS[value]
    if (part, value) == ("raw", "None"):
        return  # no record is kept
    good = Document("d1", "Paris", "in France")
    bad = good._replace(**({"further": (("docid", given),)} if part == "docid" else {part: given}))
    with pytest.raises(ArgumentError, match=rf"^documents\[1\]\.{part} is {told}"):
        tiny.build(tmp_path / "index", [good, bad], fields=("docid",))
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([("d1", "Paris", "in France")], r"documents\[0\] is .* \(tuple\); it must be a Document"),
        ("Paris", "documents is 'Paris'"),
        (None, "documents is None"),
        ({"d1": "Paris"}, "documents is a mapping"),
        ([Document("", "", "x")], "white space"),
        ([Document("a b", "", "x")], "white space"),
        ([Document("a", "", "x", further=(("url", "x"),))], "has a field 'url'"),
    ],
)
def test_i1_what_are_no_documents_are_not_indexed(tmp_path: Path, documents: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        tiny.build(tmp_path / "index", documents)
    assert not (tmp_path / "index").exists()


def test_i1_documents_may_come_from_anything_that_has_an_order(tmp_path: Path) -> None:
    frame = pd.DataFrame(tiny.DOCUMENTS).sample(frac=1, random_state=0)
    rows = (Document(row.id, np.str_(row.title), row.text) for row in frame.itertuples())
    index = tiny.built(tmp_path / "index", rows)
    assert [document.id for document in index.documents(range(7))] == frame["id"].tolist()


@pytest.mark.parametrize("value", NO_WHOLES)
def test_j4_only_integers_say_how_many_or_which(searcher: SealSearcher, tiny_index: Path, value: str) -> None:
    given = NO_WHOLES[value]
    asks: dict[str, Callable[[Any], object]] = {
        "k": lambda k: searcher.search("Japan", k),
        "k of many": lambda k: searcher.batch_search(["Japan"], ["1"], k),
        "k of rank": lambda k: searcher.rank(searcher.decode(["Japan"])[0], k),
        "threads": lambda n: searcher.batch_search(["Japan"], ["1"], threads=n),
        "batch_size": lambda n: SealSearcher(tiny_index, tiny.generator(), batch_size=n),
        "documents": lambda n: searcher.index.documents([0, n]),
        "documents of raws": lambda n: searcher.index.raws([n]),
        "document": lambda n: searcher.index.docid(n),
        "symbols": lambda n: searcher.index.find([n]),
        "beam": lambda n: DecodeConfig(beam=n),
        "max_count": lambda n: RankConfig(max_count=n),
    }
    if not isinstance(given, str):
        asks["docid"] = searcher.doc
    for name, ask in asks.items():
        with pytest.raises(UsageError, match=rf"^{name.split()[0]}(\[\d\])? is .*must be .*integer"):
            ask(given)


@pytest.mark.parametrize(
    "huge", [1 << 31, 1 << 63, 10**30, 10**5000], ids=["2^31", "2^63", "10^30", "10^5000"]
)
def test_j4_huge_numbers_are_no_traceback(searcher: SealSearcher, tiny_index: Path, huge: int) -> None:
    expected = searcher.search("the capital of Japan", k=100)
    assert searcher.search("the capital of Japan", k=huge) == expected
    assert searcher.batch_search(["the capital of Japan"], ["1"], k=huge, threads=huge) == {"1": expected}
    wide = SealSearcher(tiny_index, tiny.generator(), preset="paper", batch_size=huge)
    assert wide.batch_search(["the capital of Japan"], ["1"], k=100) == {"1": expected}
    assert searcher.doc(huge) is searcher.doc(-huge) is None
    for ask in (
        searcher.index.docid,
        lambda n: searcher.index.raws([n]),
        lambda n: searcher.index.documents([n]),
    ):
        with pytest.raises(IndexError, match="outside"):
            ask(huge)
    if huge >= 1 << 63:
        with pytest.raises(UsageError, match="beam is .*; it must be at most 9223372036854775807"):
            DecodeConfig(beam=huge)
    with pytest.raises(ArgumentError, match="k is .*; it must be at least 1"):
        searcher.search("Japan", k=-huge)


def test_j4_integers_of_any_kind_are_integers(searcher: SealSearcher) -> None:
    expected = searcher.search("the capital of Japan", k=2)
    for k in (np.int64(2), np.uint8(2), np.array(2)):
        assert searcher.search("the capital of Japan", k=k) == expected
    assert searcher.doc(np.int64(1)) == searcher.doc(1) != searcher.doc(0)
    first: Hit = expected[0]
    assert searcher.index.docid(np.int64(first.lucene_docid)) == first.docid  # type: ignore[arg-type]
    assert [d.id for d in searcher.index.documents(n for n in (1, 0))] == ["d2", "d1"]  # type: ignore[arg-type]


@pytest.mark.parametrize("docid", [1.5, True, None, b"d1", ("d1",)])
def test_j4_a_document_is_named_by_text_or_integer_only(searcher: SealSearcher, docid: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^docid is .*; it must be text or an integer"):
        searcher.doc(docid)


@pytest.mark.parametrize("config", [{"beam": 3}, DecodeConfig(), RankConfig(), "paper", [], 0])
def test_i17_settings_of_another_type_are_refused_in_one_sentence(
    searcher: SealSearcher, tiny_index: Path, config: Any
) -> None:
    asks: list[Callable[[], object]] = [
        lambda: SealSearcher(tiny_index, tiny.generator(), config=config),
        lambda: SealQueryEncoder(tiny_index, tiny.generator(), config=config),
        lambda: searcher.rank(searcher.decode(["Japan"])[0], 1, config),
    ]
    for ask in asks:
        with pytest.raises(ArgumentError, match=r"^config is .*; it must be a SearchConfig$"):
            ask()
    with pytest.raises(UsageError, match="unknown preset"):
        SealSearcher(tiny_index, tiny.generator(), preset=config if config != "paper" else {})
    for part in ("decode", "rank"):
        with pytest.raises(ArgumentError, match=rf"^{part} is \{{'beam': 3\}} \(dict\); it must be a"):
            SearchConfig(**{part: {"beam": 3}})


@pytest.mark.parametrize("value", [None, 3, b"index", "in\0dex", ["index"]])
def test_i17_an_index_directory_that_is_no_path(value: Any) -> None:
    for ask in (SealSearcher, Index):
        with pytest.raises(ArgumentError, match="^index directory is .*; it must be a path"):
            ask(value)


@pytest.mark.parametrize("value", ["q" * 241, "a/" + "\xe9" * 128 + "/b", Path("q" * 300)])
def test_an_index_directory_with_a_name_that_is_too_long(value: Any) -> None:
    for ask in (SealSearcher, Index):
        with pytest.raises(ArgumentError, match="^index directory is .*; a part of a path has at most 255 b"):
            ask(value)
    for fitting in ("q" * 240, "q" * 255 + "/b"):
        with pytest.raises(IndexDirError):
            Index(fitting)


def test_i17_a_model_of_another_type(tiny_index: Path, llama: Path) -> None:
    with pytest.raises(ArgumentError, match=r"^model is 3 \(int\); it must be a Generator"):
        SealSearcher(tiny_index, 3)  # type: ignore[arg-type]
    assert SealSearcher(tiny_index, llama).search("Japan", k=1) is not None  # type: ignore[arg-type]


def test_i17_the_name_of_a_registered_index_points_to_the_way_to_open_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for ask in (SealSearcher, SealQueryEncoder):
        with pytest.raises(
            SealError, match=r"^demo: no such directory.*SealSearcher\.from_prebuilt_index\('demo'\)"
        ):
            ask("demo")
    with pytest.raises(SealError, match="no such index directory"):
        SealSearcher("demos")


def test_texts_ids_and_numbers() -> None:
    assert texts(np.array(["a", "é", ""]), "x") == ["a", "é", ""]
    assert [type(value) for value in texts([np.str_("a")], "x")] == [str]
    assert ids(["1", 1, np.int64(2)], "x") == ["1", 1, 2]
    assert whole(np.uint64(3), "x", 3) == 3
    assert wholes([3, 10**30, -(10**30)], "x").tolist() == [3, (1 << 63) - 1, -(1 << 63)]
    assert wholes(np.array([3], dtype=np.int8), "x").dtype == np.int64
    assert wholes(iter(()), "x").shape == (0,)
