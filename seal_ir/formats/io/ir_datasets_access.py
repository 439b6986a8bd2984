"""The package ir_datasets, where it is installed: its datasets by `ir_datasets:NAME`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from seal_ir.errors import InputError, MissingPackageError, one_line, shown

PREFIX = "ir_datasets:"
_QUESTIONS = ("text", "title", "query")


def is_ir_dataset(name: str) -> bool:
    """Whether a name is of this form."""
    return name.startswith(PREFIX)


def dataset_name(name: str) -> str:
    """The package's own name of a dataset."""
    return name.removeprefix(PREFIX)


def dataset_with(name: str, part: str) -> Any:
    """A dataset that has "docs", "queries" or "qrels".

    Raises:
        InputError: there is none of that name, or it has no such part.
        MissingPackageError: the package is not installed.
    """
    dataset = _loaded(name)
    if not getattr(dataset, f"has_{part}")():
        raise InputError(f"{PREFIX}{dataset_name(name)}: this dataset has no {part}")
    return dataset


def told(name: str, iterator: Iterator[Any]) -> Iterator[Any]:
    """The items, with whatever goes wrong while they are fetched as one line.

    Raises:
        InputError: a download failed, or a file is damaged.
    """
    try:
        yield from iterator
    except Exception as error:  # noqa: BLE001 - of many packages and formats
        raise InputError(
            f"{PREFIX}{dataset_name(name)}: ir_datasets cannot give it ({one_line(error, 200)})"
        ) from error


def queries_of(name: str) -> Iterator[tuple[str, str]]:
    """Ids and texts of a dataset's queries.

    Raises:
        InputError: see `dataset_with` and `told`; a query has no text.
        MissingPackageError: the package is not installed.
    """
    for query in told(name, dataset_with(name, "queries").queries_iter()):
        text = next(
            (value for key in _QUESTIONS if isinstance(value := getattr(query, key, None), str)), None
        )
        if text is None:
            raise InputError(
                f"{PREFIX}{dataset_name(name)}: query {shown(query.query_id)} has no text to ask"
            )
        yield str(query.query_id), text


def judgements_of(name: str) -> Iterator[str] | None:
    """Lines of a dataset's judgements in TREC's form; None where it has none.

    Raises:
        InputError: see `dataset_with` and `told`.
        MissingPackageError: the package is not installed.
    """
    dataset = _loaded(name)
    if not dataset.has_qrels():
        return None
    qrels = told(name, dataset.qrels_iter())
    return (f"{one.query_id} 0 {one.doc_id} {one.relevance}" for one in qrels)


def _loaded(name: str) -> Any:
    try:
        package = importlib.import_module("ir_datasets")
    except ImportError as error:
        missing = f"{PREFIX}{dataset_name(name)}: it needs the package ir_datasets ({error});"
        raise MissingPackageError(f"{missing} pip install 'seal-ir[ir-datasets]'") from error
    try:
        return package.load(dataset_name(name))
    except KeyError as error:
        raise InputError(f"{PREFIX}{dataset_name(name)}: ir_datasets knows no such dataset") from error
