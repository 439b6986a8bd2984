"""Passages in the shapes that readers and RAG toolkits read: a topic's hits with texts, keys and places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from seal_ir.records import UNIGRAM, HitKey
from seal_ir.structured import json_line

Json = dict[str, Any]


class Passage(NamedTuple):
    """A hit with its text, as it is written for others.

    Attributes:
        docid: the document, or the page that it stands for.
        number: the document's number in the index; -1 for none.
        score: higher is better.
        title: "" for none.
        text: without the title.
        keys: what made the score, in the order in which it was taken; () where that is another system's.
        further: names and values of the document's further fields.
    """

    docid: str
    number: int
    score: float
    title: str
    text: str
    keys: tuple[HitKey, ...] = ()
    further: tuple[tuple[str, str], ...] = ()

    @property
    def contents(self) -> str:
        """Title, a line feed and the text; the text alone where there is no title. Places are in it."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Asked(NamedTuple):
    """A topic as it is written beside its passages.

    Attributes:
        qid: its id.
        question: its text.
        answers: gold answers; None where none are known.
        holds: whether a passage's text holds one of them; None where none are known.
    """

    qid: str
    question: str
    answers: Sequence[str] | None = None
    holds: Callable[[str], bool] | None = None


class Shape(NamedTuple):
    """How a file of passages is written.

    Attributes:
        entry: of a topic and its passages, best first, what is written, without the line's end.
        around: what begins and ends the file, where it is one JSON value with entries between commas; None
            for JSON lines.
    """

    entry: Callable[[Asked, Sequence[Passage]], str]
    around: tuple[str, str] | None = None


def _ours(asked: Asked, passages: Sequence[Passage]) -> Json:
    """All that is known: every key with all its numbers, as `python -m seal_ir.explain` has them."""
    found = [
        {
            "rank": rank,
            "docid": passage.docid,
            "score": passage.score,
            "title": passage.title,
            "text": passage.text,
            "contents": passage.contents,
            "keys": [key.to_dict() for key in passage.keys],
        }
        for rank, passage in enumerate(passages, start=1)
    ]
    known = {} if asked.answers is None else {"answers": list(asked.answers)}
    return {"id": asked.qid, "question": asked.question, **known, "passages": found}


def _dpr(asked: Asked, passages: Sequence[Passage]) -> Json:
    """As DPR's retriever writes it and Fusion-in-Decoder reads it: scores are strings there."""
    contexts: list[Json] = []
    for passage in passages:
        context: Json = {
            "id": passage.docid,
            "title": passage.title,
            "text": passage.text,
            "score": str(passage.score),
        }
        if asked.holds is not None:
            context["has_answer"] = asked.holds(passage.text)
        contexts.append({**context, "keys": _keys(passage)})
    answers = list(asked.answers or ())
    return {"id": asked.qid, "question": asked.question, "answers": answers, "ctxs": contexts}


def _flashrag(asked: Asked, passages: Sequence[Passage]) -> Json:
    """An item of FlashRAG's data sets, its passages where its pipelines put them."""
    return {
        "id": asked.qid,
        "question": asked.question,
        "golden_answers": list(asked.answers or ()),
        "output": {"retrieval_result": [_flashrag_document(passage) for passage in passages]},
    }


def _flashrag_document(passage: Passage) -> Json:
    """FlashRAG takes the first line of contents for the title, whether there is one or not."""
    return {
        "id": passage.docid,
        "title": passage.title,
        "text": passage.text,
        "contents": f"{passage.title}\n{passage.text}",
        "score": passage.score,
        "keys": _keys(passage, moved=0 if passage.title else 1),
    }


def _flashrag_cache(asked: Asked, passages: Sequence[Passage]) -> str:
    """A member of the object that FlashRAG's retrievers read with `use_retrieval_cache`."""
    documents = [_flashrag_document(passage) for passage in passages]
    return f"{json_line(asked.question)}: {json_line(documents)}"


def _ragatouille(asked: Asked, passages: Sequence[Passage]) -> Json:
    """What `search` of RAGatouille returns, beside its query."""
    results = [
        {
            "content": passage.contents,
            "score": passage.score,
            "rank": rank,
            "document_id": passage.docid,
            "passage_id": passage.number,
            "document_metadata": {"title": passage.title, "keys": _keys(passage)},
        }
        for rank, passage in enumerate(passages, start=1)
    ]
    return {"id": asked.qid, "query": asked.question, "results": results}


def _llama_index(asked: Asked, passages: Sequence[Passage]) -> Json:
    """Text nodes with scores, as our retriever for LlamaIndex makes them; models see the title only."""
    nodes = []
    for rank, passage in enumerate(passages, start=1):
        metadata = _metadata(passage, rank)
        unread = [name for name in metadata if name != "title" or not passage.title]
        node = {
            "id_": passage.docid,
            "text": passage.text,
            "metadata": metadata,
            "excluded_embed_metadata_keys": unread,
            "excluded_llm_metadata_keys": unread,
            "class_name": "TextNode",
        }
        nodes.append({"node": node, "score": passage.score, "class_name": "NodeWithScore"})
    return {"id": asked.qid, "query": asked.question, "nodes": nodes}


def _langchain(asked: Asked, passages: Sequence[Passage]) -> Json:
    """Documents of LangChain, as our retriever makes them."""
    documents = [
        {
            "id": passage.docid,
            "metadata": _metadata(passage, rank),
            "page_content": passage.text,
            "type": "Document",
        }
        for rank, passage in enumerate(passages, start=1)
    ]
    return {"id": asked.qid, "query": asked.question, "documents": documents}


def _metadata(passage: Passage, rank: int) -> Json:
    further: dict[str, list[str]] = {}
    for name, value in passage.further:
        further.setdefault(name, []).append(value)
    known: Json = {"docid": passage.docid, "title": passage.title, "score": passage.score, "rank": rank}
    others = {name: values[0] if len(values) == 1 else values for name, values in further.items()}
    return {**others, **known, "keys": _keys(passage)}


def _keys(passage: Passage, moved: int = 0) -> list[Json]:
    """What a reader may quote: keys and their places, without unigrams; places `moved` characters on."""
    return [
        {
            "text": key.text,
            "kind": key.kind,
            "share": key.share,
            "positions": [[start + moved, end + moved] for start, end in key.positions],
        }
        for key in passage.keys
        if key.kind != UNIGRAM
    ]


def _line(entry: Callable[[Asked, Sequence[Passage]], Json]) -> Callable[[Asked, Sequence[Passage]], str]:
    return lambda asked, passages: json_line(entry(asked, passages))


SHAPES = {
    "passages": Shape(_line(_ours)),
    "dpr": Shape(_line(_dpr), ("[", "]")),
    "flashrag": Shape(_line(_flashrag)),
    "flashrag-cache": Shape(_flashrag_cache, ("{", "}")),
    "ragatouille": Shape(_line(_ragatouille)),
    "llama-index": Shape(_line(_llama_index)),
    "langchain": Shape(_line(_langchain)),
}
PASSAGE_FORMATS = tuple(SHAPES)
