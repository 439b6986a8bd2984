"""Titles and further fields of any length are written whole; what a smaller setting leaves out is counted."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from seal_ir import SealSearcher
from seal_ir.config import LONGEST_STEPS, PRESETS, DecodeConfig, SearchConfig, preset
from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.errors import UsageError
from seal_ir.index import engines
from seal_ir.index.reader import Index
from seal_ir.keys.provenance import KeyProvenance
from seal_ir.records import Document
from seal_ir.search.model import fitted, left_out
from seal_ir.text.symbols import to_symbols
from tests.helpers import tiny

FIELDS = ("docid", "pseudo_queries")


def _value(n_tokens: int, first: int = 0) -> str:
    """A text of so many tokens, no two of them alike, that the tokenizer gives back."""
    letters = "qBzCxDjFvGHJKLMNPQRSTVWXZ0123456789!#$%&()*+-/:;<=>?@[]^_{}~|`YAEIOU"
    text = "".join(letters[(first + i) % len(letters)] for i in range(n_tokens - 1))  # after a blank
    assert len(tiny.tokenizer().encode_fields([text])[0]) == n_tokens
    return text


LENGTHS = (3, 14, 15, 16, 30, 63)  # without the end
DOCUMENTS = [
    *(Document(f"t{n}", _value(n), "some text", None, (("docid", _value(n)),)) for n in LENGTHS),
    Document("none", "", "more text", None, tuple(("pseudo_queries", _value(n)) for n in (40, 2))),
    Document("two", _value(3), "the rest", None, (("pseudo_queries", _value(9)), ("docid", _value(20)))),
]
TITLES = Counter([n + 1 for n in (*LENGTHS, 3)] + [1])


@pytest.fixture(scope="module", params=[1 << 30, 160], ids=["one segment", "several"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    directory = tmp_path_factory.mktemp("lengths") / "index"
    return tiny.built(directory, DOCUMENTS, request.param, fields=FIELDS)


def _searcher(index: Index, config: SearchConfig) -> SealSearcher:
    made = tiny.generator()
    fields = {"docid": "{query} docid", "pseudo_queries": "{query} asks"}
    generator = replace(made, description=replace(made.description, fields=fields))
    return SealSearcher(index.directory, generator, config=config)


def _with(config: SearchConfig, **values: Any) -> SearchConfig:
    return replace(config, decode=replace(config.decode, **values))


@pytest.mark.slow
@pytest.mark.parametrize("n_tokens", LENGTHS)
@pytest.mark.parametrize(("name", "kind"), [("genre", "title"), ("dsi", "docid"), ("intersective", "title")])
def test_i6_a_long_title_or_field_is_written_and_its_document_found(
    index: Index, name: str, kind: str, n_tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    searcher = _searcher(index, PRESETS[name])
    value = _value(n_tokens)
    marks = index.marks(kind)
    symbols = (marks.start, *to_symbols(tiny.tokenizer().encode_fields([value])[0]).tolist(), marks.end)
    (keys,) = searcher.decode([value])
    assert symbols in {key.symbols for key in keys.keys if key.kind == kind}
    assert f"t{n_tokens}" in {hit.docid for hit in searcher.search(value)}
    assert not caplog.records  # nothing is left out


def _brute(index: Index, start: int, end: int) -> Counter[int]:
    found: Counter[int] = Counter()
    for stream in index.streams(range(index.n_documents)):
        symbols, at = stream.tolist(), -1
        for place, symbol in enumerate(symbols):
            at = place if symbol == start else at
            if symbol == end:
                found[place - at] += 1
    return found


@pytest.mark.parametrize("piece", [1, 3, 1 << 17])
def test_lengths_of_values_are_those_in_the_documents(index: Index, piece: int) -> None:
    fresh = Index(index.directory)
    with patch.object(engines, "PIECE", piece):
        for name, marks in fresh.whole_fields.items():
            counts = fresh.value_lengths(name).tolist()
            assert counts[-1]
            assert {n: count for n, count in enumerate(counts) if count} == _brute(fresh, *marks)
    assert fresh.value_lengths("title")[1:].sum() == len(DOCUMENTS)
    with pytest.raises(UsageError, match="no field 'url'"):
        fresh.value_lengths("url")


@pytest.mark.parametrize("engine", ["native", "sdsl"])
def test_an_index_of_before_knows_its_longest_title_too(engine: str) -> None:
    old = Index(Path(__file__).parents[1] / "data" / f"index_v2_{engine}")
    counts = old.value_lengths("title").tolist()
    assert {n: count for n, count in enumerate(counts) if count} == _brute(old, *old.marks("title"))


def test_an_index_without_a_value_of_a_field(tmp_path: Path) -> None:
    """Nothing is written there, and nothing left out."""
    index = tiny.built(tmp_path / "index", [Document("d", "", "some text")], fields=("docid",))
    assert index.value_lengths("docid").tolist() == [0]
    assert index.value_lengths("title").tolist() == [0, 1]
    config = DecodeConfig(fields=("docid",))
    assert fitted(config, index) == replace(config, title_steps=1, field_steps=1)
    assert left_out(config, index) == []
    for name in ("genre", "dsi"):
        assert _searcher(index, preset(name)).search("some text") == []


def test_i6_what_a_smaller_setting_leaves_out_is_said_once(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    config = _with(preset("minder"), title_steps=15, field_steps=10)
    searcher = _searcher(index, config)
    searcher.search("text")
    searcher.batch_search(["text", "rest"], ["a", "b"])
    n_long = sum(n for length, n in TITLES.items() if length > 15)
    expected = [
        f"{n_long} of 7 titles are longer than 15 tokens, the end included, and cannot be written whole;"
        " [decode] title_steps = 64, in a --config file, reaches all of them",
        "1 of 3 values of field 'pseudo_queries' are longer than 10 tokens, the end included, and cannot be"
        " written whole; [decode] field_steps = 41, in a --config file, reaches all of them",
    ]
    assert [record.getMessage() for record in caplog.records] == expected
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    caplog.clear()
    encoder = SealQueryEncoder(
        index.directory, tiny.generator(), config=_with(preset("genre"), title_steps=9)
    )
    for _ in range(2):
        encoder.encode("text")
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("5 of 7 titles are longer than 9 tokens")


def test_a_value_beyond_the_default_is_said_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    n = LONGEST_STEPS + 1
    index = tiny.built(tmp_path / "index", [Document("d", _value(n), "x"), Document("e", "short", "y")])
    for name in ("intersective", "genre"):
        _searcher(index, preset(name)).search("x")
    (first, second) = [record.getMessage() for record in caplog.records]
    assert first == second
    assert first.startswith(f"1 of 2 titles are longer than {LONGEST_STEPS} tokens")
    assert f"title_steps = {n + 1}," in first
    caplog.clear()
    searcher = _searcher(index, _with(preset("genre"), title_steps=n + 1))
    assert [hit.docid for hit in searcher.search(_value(n), k=1)] == ["d"]
    assert not caplog.records


def test_the_baseline_keeps_the_papers_fifteen_and_says_what_that_leaves_out(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    assert preset("published").decode.title_steps == 15
    searcher = _searcher(index, preset("published"))
    (keys,) = searcher.decode([_value(30)])
    assert max(len(key.symbols) for key in keys.keys if key.kind == "title") <= 16
    assert [record.getMessage()[:12] for record in caplog.records] == ["4 of 7 title"]


@pytest.mark.parametrize("constrained", [True, False])
def test_steps_beyond_the_longest_value_change_no_key(tmp_path: Path, constrained: bool) -> None:
    """And no prompt: what the model does not write need not be kept free behind it."""
    documents = [
        document._replace(further=(("docid", f"{i} 0"),)) for i, document in enumerate(tiny.DOCUMENTS)
    ]
    index = tiny.built(tmp_path / "index", documents, fields=("docid",))
    longest = len(index.value_lengths("title")) - 1
    queries = ["the capital of Japan", "London " * 300]
    config = SearchConfig(decode=DecodeConfig(fields=("docid",), constrained=constrained))
    assert fitted(config.decode, index).title_steps == longest < LONGEST_STEPS
    found = [
        _searcher(index, _with(config, title_steps=steps, field_steps=steps)).decode(queries)
        for steps in (LONGEST_STEPS, 40, longest)
    ]
    for other in found[1:]:
        assert [keys.keys for keys in other] == [keys.keys for keys in found[0]]


def test_key_files_serve_a_search_whose_steps_reach_the_same_titles(tmp_path: Path) -> None:
    """So files that were made with the 15 steps of before go on to serve where no title is longer."""
    short = tiny.built(tmp_path / "short")
    long = tiny.built(tmp_path / "long", [*tiny.DOCUMENTS, Document("x", _value(20), "x")])
    before = _with(SearchConfig(), title_steps=15)
    for index, serves in ((short, True), (long, False)):
        for made_with, wanted in ((before, SearchConfig()), (SearchConfig(), before)):
            made = KeyProvenance.of(index, "stub", "float32", made_with)
            told = made.misfit(index, [wanted])
            assert told.startswith("made with title_steps = ") != serves
            assert (told == "") == serves
    made = KeyProvenance.of(short, "stub", "float32", _with(SearchConfig(), title_steps=0))
    assert made.misfit(short, [SearchConfig()]).startswith("made with title_steps = 0")
