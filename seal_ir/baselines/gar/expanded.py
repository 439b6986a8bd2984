"""Files of expanded questions, as GAR's models or ours wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import is_file, shown
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Query

KINDS = ("answers", "titles", "sentences")  # what GAR's models write: the answer, titles, a sentence with it


def named_expansions(name: str, places: Places) -> list[Path]:
    """The files of expanded questions of named topics, one a kind, in gar/ below the data.

    They are called as Anserini calls them: `topics.nq.test.gar-t5.answers.tsv` for `nq-test`.

    Raises:
        UsageError: they are not there.
    """
    names = [f"topics.{name.replace('-', '.')}.gar-t5.{kind}.tsv" for kind in KINDS]
    if places.data is None:
        raise UsageError("give the files of expanded questions with --expansions, or set SEAL_IR_DATA")
    paths = [places.data / "gar" / file for file in names]
    absent = next((path for path in paths if not is_file(path)), None)
    if absent is not None:
        raise UsageError(f"{absent}: no such file; give the files of expanded questions with --expansions")
    return paths


def read_expanded(path: Path, topics: Sequence[Query]) -> list[Query]:
    """The expanded question of each topic, in the topics' order; the file may hold more.

    Ids join the two, and every expanded question begins with its own question (any case and white space), so
    that a file for other topics is noticed.

    Raises:
        InputError: the file cannot be read, lacks a topic, or expands another question.
    """
    expanded = {query.id: query for query in read_topics(path)}
    for topic in topics:
        if topic.id not in expanded:
            raise InputError(f"{path}: holds no topic {shown(topic.id)}; every topic needs a line")
        text, question = expanded[topic.id].text, _words(topic.text)
        if _words(text)[: len(question)] != question:
            raise InputError(
                f"{path}: topic {shown(topic.id)} is {shown(text)}, which does not begin with its question,"
                f" {shown(topic.text)}; write the id, a tab, the question and its expansion"
            )
    return [expanded[topic.id] for topic in topics]


def _words(text: str) -> list[str]:
    return text.casefold().split()
