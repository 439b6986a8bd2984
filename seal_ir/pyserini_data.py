"""`python -m seal_ir.pyserini_data KIND NAME`: what Pyserini knows, as lines of JSON for a process of ours.

A record is an array: of documents id, raw, contents and title as they are stored, of topics id and text, of
judgements a line of qrels. An object is last: {"end": n}, or what went wrong as {"error"} or {"usage"}.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, SealError, UsageError, one_line
from seal_ir.formats.collections.lucene import is_lucene_index
from seal_ir.pyserini_plugin import java_class, java_error, pyserini_module
from seal_ir.structured import json_line

TIMEOUT_SECONDS = 20  # of a download that does not go on
_QUESTIONS = ("title", "question", "raw", "text", "description")
Rows = Iterator[list[Any]]


def documents(name: str) -> Rows:
    """Stored documents of a Lucene index, by directory or by Pyserini's name, in the order of their numbers.

    Raises:
        InputError: there is none, it cannot be opened, or its documents are not stored.
        UsageError: Pyserini or Java is missing.
    """
    directory = Path(name) if Path(name).is_dir() else _prebuilt(name)
    if not is_lucene_index(directory):
        raise InputError(f"{directory} holds no Lucene index")
    folder = java_class("java.nio.file.Path").of(str(directory))
    try:
        reader = java_class("org.apache.lucene.index.DirectoryReader").open(
            java_class("org.apache.lucene.store.FSDirectory").open(folder)
        )
    except java_error() as error:
        raise InputError(f"Lucene cannot open it ({_first_line(error)})") from error
    live = java_class("org.apache.lucene.index.MultiBits").getLiveDocs(reader)
    stored = reader.storedFields()
    seen = False
    for number in range(reader.maxDoc()):
        if live is not None and not live.get(number):
            continue
        document = stored.document(number)
        row = [document.get(field) for field in ("id", "raw", "contents", "title")]
        if not seen and row[1] is None and row[2] is None:
            names = sorted({field.name() for field in document.getFields()})
            raise InputError(
                f"its documents are not stored (of the first one it keeps {', '.join(names) or 'nothing'});"
                " index the collection itself, or build the Lucene index again with --storeRaw"
            )
        seen = True
        yield row
    reader.close()


def topics(name: str) -> Rows:
    """Ids and texts of topics by Pyserini's name, ids as they stand in the file.

    Raises:
        InputError: no such name, no text to ask, or the download failed.
        UsageError: Pyserini or Java is missing.
    """
    known = pyserini_module("pyserini.search._base").topics_mapping
    if name not in known:
        raise InputError("Pyserini knows no topics of that name")
    try:
        found = java_class("io.anserini.search.topicreader.TopicReader").getTopicsWithStringIds(known[name])
    except java_error() as error:
        raise InputError(f"Pyserini could not get them ({_first_line(error)}); check the network") from error
    if found is None:
        raise InputError("Pyserini could not read them")
    for qid in found.keySet().toArray():
        values = found.get(qid)
        text = next((value for key in _QUESTIONS if (value := values.get(key)) is not None), None)
        if text is None:
            raise InputError(f"topic {qid} has no text to ask, but {', '.join(values.keySet().toArray())}")
        yield [qid, text]


def qrels(name: str) -> Rows:
    """Lines of the judgements that Pyserini has under a name, split at white space.

    Raises:
        InputError: no such name, or the download failed.
        UsageError: Pyserini or Java is missing.
    """
    base = pyserini_module("pyserini.search._base")
    if name not in base.qrels_mapping:
        raise InputError("Pyserini knows no judgements of that name")
    try:
        path = Path(base.get_qrels_file(name))
        lines = path.read_text(encoding="utf-8").splitlines()
    except java_error() as error:
        raise InputError(f"Pyserini could not get them ({_first_line(error)}); check the network") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Pyserini could not read them ({one_line(error)})") from error
    yield from (line.split() for line in lines if line.strip())


READERS: dict[str, Callable[[str], Rows]] = {"documents": documents, "topics": topics, "qrels": qrels}


def _prebuilt(name: str) -> Path:
    """The directory of one of Pyserini's indexes, downloaded by it where it is not in its cache."""
    socket.setdefaulttimeout(TIMEOUT_SECONDS)
    util = pyserini_module("pyserini.util")
    try:
        return Path(util.download_prebuilt_index(name, verbose=True))
    except (OSError, ValueError, AssertionError, EOFError) as error:
        raise InputError(f"no directory, and Pyserini cannot give an index ({one_line(error)})") from error


def _first_line(error: Exception) -> str:
    """Java's message without its stack."""
    lines = str(error).splitlines() or [type(error).__name__]
    return re.sub(r"^JVM exception occurred: ([\w.$]+: )?", "", lines[0]).strip()


def main(arguments: list[str]) -> int:
    """Write the records of a kind and a name; 0, also where the last line says what went wrong."""
    kind, name = arguments
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Pyserini prints what it downloads
        n_records = 0
        try:
            for row in READERS[kind](name):
                out.write(f"{json_line(row)}\n")
                n_records += 1
            end: dict[str, object] = {"end": n_records}
        except UsageError as error:
            end = {"usage": str(error)}
        except SealError as error:
            end = {"error": str(error)}
        out.write(f"{json_line(end)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
