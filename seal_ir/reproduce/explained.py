"""Tables of keys: for each question the best document of each system, and the n-grams that made its score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seal_ir.config import preset
from seal_ir.encode.vectors import ngram_text
from seal_ir.eval.grids import Grid, aligned, piped
from seal_ir.eval.tables import versions
from seal_ir.eval.texts import searched_directory
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import rank
from seal_ir.records import QUERY, Query, Ranked, ScoredKey
from seal_ir.reproduce.layout import lacking
from seal_ir.reproduce.plan import Lack
from seal_ir.reproduce.spec import Row, TableSpec, Topics
from seal_ir.search.stored import StoredKeys
from seal_ir.structured import json_file, json_line

_NOTE = (
    "share: what the key adds to the document's score (docs/scoring.md); log P: of the key given the question"
    " in the model; F: how often it occurs in the collection"
)


@dataclass(frozen=True, slots=True)
class KeyShare:
    """A key that a document's score is made of.

    Attributes:
        ngram: what it says; titles are marked, see `ngram_text`.
        kind: which prompt the model was answering.
        share: its part of the score.
        logprob: natural log of P(n|q).
        count: F(n) in the whole index.
    """

    ngram: str
    kind: str
    share: float
    logprob: float
    count: int


@dataclass(frozen=True, slots=True)
class Explained:
    """The best document of a system for a question.

    Attributes:
        system, topics: names.
        question: its id and text.
        docid, title, score: of the document; an id of "" where the system found none.
        keys: all that made the score, those with the largest shares first.
    """

    system: str
    topics: str
    question: Query
    docid: str
    title: str
    score: float
    keys: Sequence[KeyShare]


def explain(spec: TableSpec, live: Sequence[Topics], places: Places) -> list[Explained]:
    """The best documents by set, question and row; keys are those of files, and no model runs.

    Args:
        spec: a table of keys.
        live: sets whose key files are there.
        places: where the index is looked up.

    Raises:
        IndexDirError: the table's index is none of ours.
        InputError: keys cannot be read, or were made for another index.
    """
    index = Index(searched_directory(spec.index, places))
    found: list[Explained] = []
    for topics in live:
        rows = [row for row in spec.rows if topics.name in row.runs and row.runs[topics.name].is_file()]
        questions = read_topics(topics.file)
        by_row = [list(_of_row(row, topics, questions, index)) for row in rows]
        found += [explained for of_question in zip(*by_row, strict=True) for explained in of_question]
    return found


def as_text(spec: TableSpec, found: Sequence[Explained], lacks: Sequence[Lack]) -> str:
    """Each question with its documents, and under each the keys in aligned columns."""
    lines = [spec.title]
    for i, explained in enumerate(found):
        if i == 0 or found[i - 1].question != explained.question:
            lines += ["", f"{explained.question.id}: {explained.question.text}"]
        lines += ["", _heading(explained, spec.n_keys)]
        lines += aligned(_grid(explained, spec.n_keys, json_line), n_words=2) if explained.keys else []
    lines += ["", *(f"# {line}" for line in [*_notes(spec), *lacking(spec, lacks)])]
    return "\n".join(lines) + "\n"


def as_markdown(spec: TableSpec, found: Sequence[Explained], lacks: Sequence[Lack]) -> str:
    """The same as tables of GitHub's Markdown; n-grams are code, for their spaces and marks."""
    lines = [f"**{spec.title}**"]
    for i, explained in enumerate(found):
        if i == 0 or found[i - 1].question != explained.question:
            lines += ["", f"{explained.question.id}: *{explained.question.text}*"]
        lines += ["", _heading(explained, spec.n_keys), ""]
        lines += piped(_grid(explained, spec.n_keys, _code), n_words=2) if explained.keys else []
    lines += ["", " ".join(f"{note.rstrip('.')}." for note in _notes(spec))]
    lines += ["", *(f"- {line}" for line in lacking(spec, lacks))]
    return "\n".join(lines).rstrip() + "\n"


def as_json(spec: TableSpec, found: Sequence[Explained], lacks: Sequence[Lack]) -> str:
    """An object with `rows`, one for each question and system, with all keys of the document."""
    rows = [_record(explained) for explained in found]
    missing = [{"system": lack.system, "needs": list(map(str, lack.needs))} for lack in lacks]
    value = {
        "table": spec.name,
        "title": spec.title,
        "versions": versions(),
        "rows": rows,
        "missing": missing,
    }
    return json_file(value)


def _of_row(row: Row, topics: Topics, questions: Sequence[Query], index: Index) -> Iterator[Explained]:
    config = preset(row.preset)
    stored = StoredKeys(row.runs[topics.name], index, questions, [config])
    for question, keys in zip(questions, stored.decoded(questions).queries, strict=True):
        best = rank(index, keys, config.rank, 1)
        if not best:
            yield Explained(row.system, topics.name, question, "", "", 0.0, ())
            continue
        (document,) = index.documents([best[0].document])
        shares = _shares(best[0], index)
        yield Explained(row.system, topics.name, question, document.id, document.title, best[0].score, shares)


def _shares(ranked: Ranked, index: Index) -> list[KeyShare]:
    def told(item: ScoredKey) -> KeyShare:
        ngram = ngram_text(index, item.key.symbols)
        return KeyShare(ngram, item.key.kind, item.weight, item.key.logprob, item.key.count)

    return sorted(map(told, ranked.matched), key=lambda share: (-share.share, share.ngram))


def _heading(explained: Explained, n_keys: int) -> str:
    if not explained.docid:
        return f"{explained.system}: no document"
    titled = f"{explained.docid} ({explained.title})" if explained.title else explained.docid
    n = len(explained.keys)
    of = f"the first {n_keys} of {n} keys" if n > n_keys else f"{n} key{'s' * (n != 1)}"
    return f"{explained.system}: {titled}, score {explained.score:.2f}, {of}"


def _grid(explained: Explained, n_keys: int, quoted: Callable[[str], str]) -> Grid:
    rows = [
        (
            quoted(key.ngram),
            "of the question" if key.kind == QUERY else key.kind,
            f"{key.share:.2f}",
            f"{key.logprob:.2f}",
            f"{key.count:,}",
        )
        for key in explained.keys[:n_keys]
    ]
    return [("key", "kind", "share", "log P", "F"), *rows]


def _code(ngram: str) -> str:
    """The quoted n-gram as code of Markdown, whatever backticks it has."""
    text = json_line(ngram)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence}{text}{fence}"


def _notes(spec: TableSpec) -> list[str]:
    made = ", ".join(f"{name} {number}" for name, number in versions().items() if name == "seal-ir")
    return [_NOTE, *([spec.note] if spec.note else []), made]


def _record(explained: Explained) -> dict[str, Any]:
    return {
        "system": explained.system,
        "topics": explained.topics,
        "qid": explained.question.id,
        "question": explained.question.text,
        "docid": explained.docid or None,
        "title": explained.title,
        "score": explained.score,
        "keys": [asdict(key) for key in explained.keys],
    }
