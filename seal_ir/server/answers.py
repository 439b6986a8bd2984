"""Answers in JSON, and the shapes that the OpenAPI description gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from seal_ir.errors import SealError, one_line
from seal_ir.index.indexer import Duplicates
from seal_ir.server.failures import RequestError, status_of
from seal_ir.structured import json_line


class JsonAnswer(Response):
    """JSON, whatever documents hold: what is no number is null, half a surrogate pair is escaped."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return json_line(content, compact=True).encode()


def failure(error: SealError) -> JsonAnswer:
    """The answer to a request that is at fault, or cannot be answered."""
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    return error_answer(status_of(error), one_line(error), headers)


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JsonAnswer:
    """An answer with an error."""
    return JsonAnswer({"error": message}, status, dict(headers or {}))


class ErrorAnswer(BaseModel):
    """What went wrong, in one line."""

    error: str


class AskedQuery(BaseModel):
    """The query."""

    text: str


class KeyAnswer(BaseModel):
    """A key of a document, or of a query."""

    text: str
    kind: str
    weight: float
    share: float
    fraction: float
    count: int
    logprob: float
    positions: list[tuple[int, int]]
    further: list[tuple[str, int, int, int]]


class HighlightAnswer(BaseModel):
    """A piece of contents that keys took."""

    start: int
    end: int
    share: float


class Candidate(BaseModel):
    """A ranked document; from `contents` on only where `explain` is true, BM25's with `contents` alone."""

    docid: str
    score: float
    rank: int = Field(ge=1)
    doc: Any
    contents: str | None = None
    keys: list[KeyAnswer] | None = None
    rounding: float | None = None
    highlights: list[HighlightAnswer] | None = None


class SearchAnswer(BaseModel):
    """A ranking, best first."""

    api: str
    index: str
    query: AskedQuery
    candidates: list[Candidate]


class ExplanationAnswer(BaseModel):
    """Why a document ranks where it does, or does not."""

    api: str
    index: str
    version: int
    query: str
    docid: str
    status: Literal["ranked", "beyond_k", "not_candidate", "no_keys", "outside_filter", "deleted", "unknown"]
    reason: str
    k: int
    preset: str
    rank: int | None
    would_rank: int | None
    score: float | None
    last_score: float | None
    n_candidates: int | None
    rounding: float
    keys: list[KeyAnswer]
    unused: list[KeyAnswer]
    lacking: list[KeyAnswer]
    n_lacking: int
    contents: str | None
    decoding: dict[str, Any] | None
    highlights: list[HighlightAnswer]


class TraceAnswer(BaseModel):
    """How the model wrote a query's keys."""

    api: str
    index: str
    query: AskedQuery
    preset: str
    decoding: dict[str, Any]


class DocumentAnswer(BaseModel):
    """A document."""

    api: str
    index: str
    docid: str
    doc: Any


class IndexAnswer(BaseModel):
    """An index that is served."""

    name: str
    documents: int
    segments: int
    model: str
    presets: list[str]
    bm25: bool


class RefreshAnswer(BaseModel):
    """Whether an index has changed, and how many documents it holds."""

    index: str
    changed: bool
    documents: int


class ChangeAnswer(BaseModel):
    """How many documents an index holds after a change."""

    index: str
    documents: int


class StateAnswer(BaseModel):
    """How a server is."""

    status: str


class _NewDocument(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str = Field(pattern=r"^\S+$", description="Its id, without white space.")


class NewContents(_NewDocument):
    """A document whose contents begin with a line that is its title."""

    contents: str


class NewText(_NewDocument):
    """A document with a text, and perhaps a title."""

    title: str = ""
    text: str


class Additions(BaseModel):
    """Documents to add."""

    docs: list[NewContents | NewText] = Field(min_length=1)
    duplicates: Duplicates = Field(
        "error", description="Where an id is there already: refuse all, keep the first, or the last."
    )
