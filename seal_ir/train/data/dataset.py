"""A training set on disk: Arrow files in parts, written so that work can stop and go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.files import atomic_writer, shown
from seal_ir.structured import json_file
from seal_ir.train.data.examples import Example

Item = TypeVar("Item")
SETTINGS, SUMMARY = "settings.json", "prepared.json"
PART_ITEMS = 8192
_AGAIN = "remove the folder and make the set again with `python -m seal_ir.train data`"
_MENDED = f"remove it, and {SUMMARY} beside it, and run the same `python -m seal_ir.train data` again"
_SCHEMA = pa.schema(
    [
        ("group", pa.int64()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("field", pa.string()),
        ("kind", pa.string()),
    ]
)


def open_directory(directory: Path, settings: dict[str, Any]) -> bool:
    """Claim a directory for a training set; whether it is complete already.

    Raises:
        InputError: its settings cannot be read.
        UsageError: it belongs to a set of other settings, or cannot be written.
    """
    path = directory / SETTINGS
    text = json_file(settings)
    if path.is_file() and part_files(directory):
        if _text(path) != text:
            raise UsageError(
                f"{directory}: holds a training set of other settings or inputs (see {SETTINGS});"
                " name another --output, or remove this one"
            )
        return (directory / SUMMARY).is_file()
    if directory.is_dir() and not path.is_file() and any(directory.iterdir()):
        raise UsageError(f"{directory}: is not empty and holds no training set; name another --output")
    with atomic_writer(path) as file:
        file.write(text)
    return False


def write_parts(
    directory: Path,
    items: Iterable[Item],
    examples_of: Callable[[Item, np.random.Generator], list[Example]],
    seed: int,
) -> None:
    """Write the examples of all items in order; parts that are there already are not made again.

    The examples of an item depend on the seed and its number only. `group` is that number.

    Raises:
        UsageError: the directory cannot be written.
    """
    numbered = enumerate(items)
    for number in range(1 << 31):
        part = list(islice(numbered, PART_ITEMS))
        if not part:
            return
        path = directory / f"part-{number:05d}.arrow"
        if not path.is_file():
            _write_part(path, _rows(part, examples_of, seed))


def finish(directory: Path, counts: dict[str, Any], fields: Sequence[str] = ()) -> dict[str, Any]:
    """Count what was written and mark the set as complete.

    Args:
        directory: of the set.
        counts: more to keep in its summary.
        fields: further fields that it was made for, each of which must have an example.

    Returns:
        What is in `prepared.json`: the counts given, and examples and groups by kind and field.

    Raises:
        InputError: there is no example in it, or none of a field; or a part is damaged.
    """
    examples: dict[str, int] = {}
    n_groups = 0
    for path in part_files(directory):
        table = _table(path)
        n_groups += len(table.column("group").unique())
        names = zip(table.column("kind").to_pylist(), table.column("field").to_pylist(), strict=True)
        for kind, field in names:
            examples[f"{kind} {field}"] = examples.get(f"{kind} {field}", 0) + 1
    for field in fields:
        if not any(name.partition(" ")[2] == field for name in examples):
            raise InputError(
                f"{directory}: the sources gave no value of the field {shown(field)} to learn; check its name"
                " in the collection, and that values are strings"
            )
    if not examples:
        raise InputError(f"{directory}: the sources gave no example; check that they hold text")
    summary = {**counts, "groups": n_groups, "examples": examples}
    with atomic_writer(directory / SUMMARY) as file:
        file.write(json_file(summary))
    return summary


def part_files(directory: Path) -> list[Path]:
    """The Arrow files of a set, in order."""
    return sorted(directory.glob("part-*.arrow"))


def further_fields(directory: Path) -> tuple[str, ...]:
    """The further fields that a set was made with, as its settings say; older sets have none.

    Raises:
        InputError: the settings cannot be read.
    """
    path = directory / SETTINGS
    found = _object(path, "settings of a training set").get("fields", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise InputError(f'{path}: "fields" is {shown(found)}; it must be a list of names')
    return tuple(found)


def load_dataset(directory: Path) -> Any:
    """The set as a memory-mapped `datasets.Dataset` with the columns group, source, target, field, kind.

    Raises:
        InputError: no complete set is there, or a part is missing or damaged.
    """
    if not (directory / SUMMARY).is_file():
        raise InputError(
            f"{directory}: no complete training set; make it with `python -m seal_ir.train data`"
        )
    paths = part_files(directory)
    expected = _object(directory / SUMMARY, "summary of a training set").get("examples")
    n_found = sum(_table(path).num_rows for path in paths)
    counts = expected.values() if isinstance(expected, dict) else ()
    n_expected = sum(count for count in counts if type(count) is int)
    if n_found != n_expected or not paths:
        raise InputError(
            f"{directory}: its parts hold {n_found:,} examples, {SUMMARY} says {n_expected:,}; {_AGAIN}"
        )
    from datasets import Dataset, concatenate_datasets

    return concatenate_datasets([Dataset.from_file(str(path)) for path in paths])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); {_AGAIN}") from error


def _object(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in a file that says `what`."""
    try:
        values = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no {what}: {error}; {_AGAIN}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: no {what}: holds {shown(values)}; {_AGAIN}")
    return values


def _table(path: Path) -> Any:
    """A part, mapped, its offsets and its UTF-8 checked: what is cut shows here and not as a crash later."""
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            if reader.schema != _SCHEMA:
                raise ValueError(f"its columns are {', '.join(reader.schema.names)}")
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: cut or damaged ({reason}); {_MENDED}") from error
    return table


def _rows(
    part: list[tuple[int, Item]],
    examples_of: Callable[[Item, np.random.Generator], list[Example]],
    seed: int,
) -> Iterator[tuple[int, Example]]:
    for group, item in part:
        for example in examples_of(item, np.random.default_rng([seed, group])):
            yield group, example


def _write_part(path: Path, rows: Iterator[tuple[int, Example]]) -> None:
    listed = list(rows)
    columns: list[Any] = [[group for group, _ in listed]]
    columns += [[example[i] for _, example in listed] for i in range(len(Example._fields))]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)
    temporary = path.with_suffix(".tmp")
    with writing(path):
        try:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, _SCHEMA) as writer:
                writer.write_table(table)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
