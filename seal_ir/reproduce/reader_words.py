"""Readers as tables name them: `[[reader]]` sections and --reader, `prompt --dtype bfloat16` say."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NoReturn

from seal_ir.command import check_options
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import shown
from seal_ir.reproduce.fields import Context, Fields
from seal_ir.reproduce.needs import DATA
from seal_ir.reproduce.spec import NO_DATA, Row, RunReader, Topics

# Of `python -m seal_ir.read`, what says how answers are made; the rest of it a table says itself.
_NUMBERS, _TEXTS, _FLAGS = ("contexts", "batch-size"), ("dtype", "device"), ("quote",)


def read_readers(
    table: Fields, context: Context, rows: Sequence[Row], topics: Sequence[Topics]
) -> tuple[RunReader, ...]:
    """The `[[reader]]` sections of a table file.

    Raises:
        InputError: a section has a fault, a pattern fits no row, two read the same row, or no set has a
            measure of what they write.
    """
    found = tuple(_reader(fields, context, rows, table) for fields in table.sections("reader"))
    if found and context.has_keys:
        raise InputError(f"{table.where}: [[reader]] is for tables of figures; this one is of keys")
    if found and not table.text("index", ""):
        raise InputError(f"{table.where}: 'index' is missing; a reader takes its passages from there")
    if found and not any(known.written for known in topics):
        raise InputError(f"{table.where}: no set has EM or F1 as a measure, which [[reader]] is for")
    for row in rows:
        if sum(reads(reader, row.system) for reader in found) > 1:
            raise InputError(f"{table.where}: two readers read {shown(row.system)}; give each its systems")
    return found


def reads(reader: RunReader, system: str) -> bool:
    """Whether a reader reads the runs of a row."""
    return any(fnmatchcase(system, pattern) for pattern in reader.systems or ("*",))


def reader_words(text: str) -> tuple[str, ...]:
    """A reader and its options, these in a fixed order.

    Raises:
        UsageError: it names no reader, or has other options than those of answers.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
    args = _parser().parse_args(words)
    check_options(args, **{name.replace("-", "_"): 1 for name in _NUMBERS})
    found = [args.reader]
    for name in (*_NUMBERS, *_TEXTS, *_FLAGS):
        value = getattr(args, name.replace("-", "_"))
        if value:
            found += [f"--{name}"] if name in _FLAGS else [f"--{name}", str(value)]
    return tuple(found)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("reader")
    for name in _NUMBERS:
        parser.add_argument(f"--{name}", type=int)
    for name in _TEXTS:
        parser.add_argument(f"--{name}")
    for name in _FLAGS:
        parser.add_argument(f"--{name}", action="store_true")
    return parser


def _reader(fields: Fields, context: Context, rows: Sequence[Row], table: Fields) -> RunReader:
    fields.only("reader", "systems", "needs", "tolerance")
    text, patterns, needs = fields.text("reader"), fields.texts("systems"), context.needed(fields)
    try:
        words = reader_words(context.filled(fields, text))
    except UsageError as error:
        raise InputError(f"{fields.where}: reader is {shown(text)}: {error}") from error
    for pattern in patterns:
        if not any(fnmatchcase(row.system, pattern) for row in rows):
            raise InputError(f"{fields.where}: {shown(pattern)} fits none of the table's systems")
    if any(NO_DATA in word for word in words):
        needs = (*needs, DATA)
    tolerance = fields.number("tolerance", table.number("tolerance", 0.0))
    return RunReader(words, patterns, needs, tolerance)
