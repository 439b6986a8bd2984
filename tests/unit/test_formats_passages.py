"""Files of passages for readers and RAG toolkits: what stands there, and that they appear whole or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import UsageError
from seal_ir.formats.runs.others import read_ranked
from seal_ir.formats.runs.passages import PassageWriter
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS, Asked, Passage
from tests.helpers.passages import FOUND, KEY, MONT_BLANC, WORD, found, loaded, write

ASKED = Asked("1", "where")


def test_every_format_is_tried_here() -> None:
    assert tuple(FOUND) == PASSAGE_FORMATS


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_topics_without_hits_or_without_anything_are_in_the_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "p", name, (ASKED, []), (Asked("2", "who"), [MONT_BLANC]))
    assert [len(passages) for passages in found(path, name)] == [0, 1]
    assert read_ranked(path, {"1": "where", "2": "who"}).rankings == {"1": [], "2": [("12#0", 3.5)]}
    assert found(write(tmp_path / "none", name), name) == []
    assert read_ranked(tmp_path / "none").rankings == {}


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt), PassageWriter(path, name, {"1": ASKED}) as writer:
        writer.write("1", [MONT_BLANC])
        raise KeyboardInterrupt
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_topics_are_known_and_written_once(tmp_path: Path, name: str) -> None:
    with PassageWriter(tmp_path / "p", name, {"1": ASKED}) as writer:
        writer.write("1", [])
        with pytest.raises(ValueError, match="written before"):
            writer.write("1", [])
        with pytest.raises(ValueError, match="none of those asked"):
            writer.write("2", [])
    with pytest.raises(ValueError, match="inside its with block"):
        PassageWriter(tmp_path / "q", name, {"1": ASKED}).write("1", [])


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format of passages 'bert'; choose one of passages, dpr"):
        PassageWriter(tmp_path / "p", "bert", {})


def _keys(passage: Any) -> Any:
    """A passage's keys, wherever they stand."""
    places = (passage, passage.get("metadata", {}), passage.get("document_metadata", {}))
    places = (*places, passage.get("node", {}).get("metadata", {}))
    return next(place["keys"] for place in places if "keys" in place)


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_keys_are_there_and_unigrams_in_the_whole_form_only(tmp_path: Path, name: str) -> None:
    passage = MONT_BLANC._replace(keys=(KEY, WORD))
    ((written,),) = found(write(tmp_path / "p", name, (ASKED, [passage])), name)
    texts = [key["text"] for key in _keys(written)]
    assert texts == (["the Alps", "In"] if name == "passages" else ["the Alps"])
    if name == "passages":
        assert written["keys"] == [KEY.to_dict(), WORD.to_dict()]
    for key in _keys(written):
        for start, end in key["positions"]:
            assert passage.contents[start:end] == key["text"]


@pytest.mark.parametrize("name", ["flashrag", "flashrag-cache"])
@pytest.mark.parametrize("title", ["Mont Blanc", ""])
def test_flashrag_finds_the_title_in_the_first_line_and_keys_behind_it(
    tmp_path: Path, name: str, title: str
) -> None:
    begins = len(title) + 1 if title else 0
    key = replace(KEY, positions=((begins + 3, begins + 11),))
    passage = Passage("d", 0, 1.0, title, "In the Alps.", (key,))
    ((written,),) = found(write(tmp_path / "p", name, (ASKED, [passage])), name)
    head, rest = written["contents"].split("\n", 1)
    assert (head, rest) == (title, "In the Alps.")
    ((start, end),) = written["keys"][0]["positions"]
    assert written["contents"][start:end] == "the Alps"
    assert read_ranked(tmp_path / "p").texts == {"d": (title, "In the Alps.")}


def test_flashrags_cache_goes_by_questions(tmp_path: Path) -> None:
    other = MONT_BLANC._replace(docid="other")
    topics = (ASKED, [MONT_BLANC]), (Asked("2", "where"), [other]), (Asked("3", 'who "x"'), [other])
    path = write(tmp_path / "p", "flashrag-cache", *topics)
    assert [passages[0]["id"] for passages in found(path, "flashrag-cache")] == ["12#0", "other"]


@pytest.mark.parametrize(("answers", "holds"), [(None, None), (["alps"], True), (["sea"], False)])
def test_answers_where_they_are_known(tmp_path: Path, answers: list[str] | None, holds: bool | None) -> None:
    asked = Asked("1", "where", answers, None if answers is None else lambda text: answers[0] in text.lower())
    files = {name: write(tmp_path / name, name, (asked, [MONT_BLANC])) for name in PASSAGE_FORMATS}
    assert loaded(files["dpr"], "dpr")[0]["ctxs"][0].get("has_answer") is holds
    assert loaded(files["dpr"], "dpr")[0]["answers"] == (answers or [])
    assert loaded(files["flashrag"], "flashrag")[0]["golden_answers"] == (answers or [])
    assert loaded(files["passages"], "passages")[0].get("answers") == answers


@pytest.mark.parametrize("name", ["llama-index", "langchain"])
def test_further_fields_are_metadata_and_hide_nothing(tmp_path: Path, name: str) -> None:
    further = (("tags", "city"), ("tags", "river"), ("year", "1900"), ("score", "high"))
    ((written,),) = found(write(tmp_path / "p", name, (ASKED, [MONT_BLANC._replace(further=further)])), name)
    metadata = written["node"]["metadata"] if name == "llama-index" else written["metadata"]
    assert (metadata["tags"], metadata["year"], metadata["score"]) == (["city", "river"], "1900", 3.5)


@pytest.mark.slow
def test_the_toolkits_themselves_make_their_objects_of_what_stands_there(tmp_path: Path) -> None:
    """LlamaIndex and LangChain; FlashRAG and RAGatouille have no reader that runs without their models."""
    schema = pytest.importorskip("llama_index.core.schema")
    documents = pytest.importorskip("langchain_core.documents")
    files = {name: write(tmp_path / name, name, (ASKED, [MONT_BLANC])) for name in PASSAGE_FORMATS}
    ((found_node,),) = found(files["llama-index"], "llama-index")
    node = schema.TextNode.from_dict(found_node["node"])
    assert (node.id_, node.text, node.metadata["docid"]) == ("12#0", "In the Alps.", "12#0")
    assert node.get_content(schema.MetadataMode.LLM) == "title: Mont Blanc\n\nIn the Alps."
    assert schema.NodeWithScore(node=node, score=found_node["score"]).score == 3.5
    ((found_document,),) = found(files["langchain"], "langchain")
    document = documents.Document.model_validate(found_document)
    assert (document.id, document.page_content) == ("12#0", "In the Alps.")
    assert document.model_dump() == found_document
