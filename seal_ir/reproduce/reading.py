"""Table files (eval/*.toml) read into what they mean; docs/eval.md describes them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from seal_ir.config import PRESETS
from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.placeholders import context_of
from seal_ir.reproduce.sections import all_topics, row_of, steps_of
from seal_ir.reproduce.spec import TableSpec
from seal_ir.reproduce.values import Fields


def read_table(path: Path, results: Path, places: Places) -> TableSpec:
    """The table of a TOML file; nothing is written, and no topics are read.

    Raises:
        InputError: the file cannot be read, or is no table.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # of TOML, of UTF-8, or of a number that is too long
        raise InputError(f"{path}: not a table: {error}") from error
    table = Fields(str(path), values).only(
        *("title", "note", "source", "index", "measures", "baseline", "compare", "tolerance", "keys"),
        *("need", "topics", "step", "row"),
    )
    folder, n_keys = results / path.stem, _n_keys(table)
    context = context_of(table, path, folder, places, has_keys=n_keys > 0)
    topics = all_topics(table, context)
    steps = tuple(step for fields in table.sections("step") for step in steps_of(fields, context, topics))
    made = frozenset(path for step in steps for path in step.makes)
    tolerance = table.number("tolerance", 0.0)
    rows = tuple(row_of(fields, context, topics, made, tolerance) for fields in table.sections("row"))
    spec = TableSpec(
        name=path.stem,
        title=table.text("title"),
        note=table.text("note", ""),
        source=table.text("source", ""),
        folder=folder,
        index=context.filled(table, table.text("index", "")),
        baseline=table.text("baseline", ""),
        compare=table.texts("compare"),
        topics=topics,
        steps=steps,
        rows=rows,
        n_keys=n_keys,
    )
    _check(table, spec)
    _check_keys(table, spec)
    return spec


def _n_keys(table: Fields) -> int:
    n = table.number("keys", 0.0)
    if "keys" in table.values and (n < 1 or n != int(n)):
        raise InputError(f"{table.where}: keys is {n:g}; how many of a document are shown, at least 1?")
    return int(n)


def _check_keys(table: Fields, spec: TableSpec) -> None:
    """Refuses a table of keys that has figures too, and presets where they are not asked for, or unknown."""
    if spec.n_keys and (spec.baseline or any(topics.measures for topics in spec.topics) or not spec.index):
        raise InputError(f"{table.where}: a table of keys has an index, and neither measures nor baseline")
    for number, row in enumerate(spec.rows, start=1):
        if spec.n_keys and row.runs and row.preset not in PRESETS:
            known = ", ".join(PRESETS)
            raise InputError(f"{table.where}: [[row]] {number}: preset is {shown(row.preset)}; use {known}")
        if row.preset and not spec.n_keys:
            raise InputError(
                f"{table.where}: [[row]] {number}: preset is for tables of keys; name it in a step"
            )


def _check(table: Fields, spec: TableSpec) -> None:
    """Refuses a table without rows, rows that come twice, and comparisons with systems unknown."""
    systems = [row.system for row in spec.rows]
    if not systems:
        raise InputError(f"{table.where}: 'row' is missing; write [[row]] with system and run")
    twice = [system for system in systems if systems.count(system) > 1]
    if twice:
        raise InputError(f"{table.where}: two rows are called {shown(twice[0])}; names differ")
    for system in (spec.baseline, *spec.compare):
        if system and system not in systems:
            raise InputError(f"{table.where}: {shown(system)} is compared, but no row is called so")
    if spec.compare and not spec.baseline:
        raise InputError(f"{table.where}: 'baseline' is missing; compare names what is compared with it")
