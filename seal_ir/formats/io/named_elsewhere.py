"""Topics and judgements that other packages know by name: fetched once, and kept in the cache as files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.ir_datasets_access import dataset_name, judgements_of, queries_of
from seal_ir.formats.io.pyserini_records import pyserini_records
from seal_ir.structured import json_line

_NAME = re.compile(r"\w[\w.-]*")
_TABLES = Path("search", "_base.py")  # of Pyserini: the source of its tables of names
_ALIASES = re.compile(r"(msmarco-(v1-)?passage|dl19-passage|dl20-passage)[.-]")  # made when it is imported


def topics_elsewhere(name: str, cache: Path) -> Path | None:
    """File of the topics that Pyserini has under a name; None where it has none, or is not installed.

    Raises:
        InputError: it could not give them.
    """
    if not _in_pyserini(name):
        return None
    target = cache / "topics" / "pyserini" / f"{name}.jsonl"
    if not target.is_file():
        rows = pyserini_records("topics", name)
        _keep(target, (json_line({"qid": qid, "question": text}) for qid, text in rows))
    return target


def judgements_elsewhere(name: str, cache: Path) -> Path | None:
    """File of the judgements that Pyserini has under a name; None where it has none, or is not installed.

    Raises:
        InputError: it could not give them.
    """
    if not _in_pyserini(name, judged=True):
        return None
    target = cache / "qrels" / "pyserini" / f"{name}.trec"
    if not target.is_file():
        _keep(target, (" ".join(row) for row in pyserini_records("qrels", name)))
    return target


def ir_dataset_topics(name: str, cache: Path) -> Path:
    """File of the queries of `ir_datasets:NAME`.

    Raises:
        InputError: there is no such dataset, it has no queries, or the download failed.
        MissingPackageError: ir_datasets is not installed.
    """
    target = cache / "topics" / "ir_datasets" / f"{_file_name(name)}.jsonl"
    if not target.is_file():
        _keep(target, (json_line({"qid": qid, "question": text}) for qid, text in queries_of(name)))
    return target


def ir_dataset_judgements(name: str, cache: Path) -> Path | None:
    """File of the judgements of `ir_datasets:NAME`; None where it has none.

    Raises:
        InputError: there is no such dataset, or the download failed.
        MissingPackageError: ir_datasets is not installed.
    """
    target = cache / "qrels" / "ir_datasets" / f"{_file_name(name)}.trec"
    if not target.is_file():
        lines = judgements_of(name)
        if lines is None:
            return None
        _keep(target, lines)
    return target


def _file_name(name: str) -> str:
    return quote(dataset_name(name), safe="")


def _keep(target: Path, lines: Iterable[str]) -> None:
    with atomic_writer(target) as file:
        file.writelines(f"{line}\n" for line in lines)


def _in_pyserini(name: str, judged: bool = False) -> bool:
    """Whether Pyserini may know a name: looked up in its source, as to import it takes ten seconds."""
    if not _NAME.fullmatch(name):
        return False
    try:
        spec = find_spec("pyserini")
    except ValueError:  # put out of reach
        return False
    for folder in (spec.submodule_search_locations or []) if spec else []:
        try:
            source = Path(folder, _TABLES).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return True
        topics, mapped, judgements = source.partition("\nqrels_mapping")
        if not mapped:
            return True
        table = judgements if judged else topics
        return f"'{name}':" in table or (not judged and _ALIASES.match(name) is not None)
    return False
