"""Files that other systems wrote themselves, as runs of their rows (`import` in a table file)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import is_file, shown
from seal_ir.reproduce.fields import Context, Fields
from seal_ir.reproduce.needs import Need
from seal_ir.reproduce.spec import Row, TableSpec, Topics


def read_outputs(
    fields: Fields, context: Context, topics: Sequence[Topics]
) -> tuple[dict[str, Path], Need | None]:
    """Files of a row's system by set of topics, and how to get them; none without `import`.

    Args:
        fields: the row's section.
        context: of the table.
        topics: its sets; a part of a set has the file of the whole.

    Raises:
        InputError: the section has a fault.
    """
    text = fields.text("import", "")
    if not text:
        if "get" in fields.values:
            raise InputError(f"{fields.where}: get says where the file of import is from; write import")
        return {}, None
    sets = [known for known in topics if known.source]
    if len([known for known in sets if not known.within]) > 1 and "{set}" not in text:
        raise InputError(f"{fields.where}: import is {shown(text)}; with several sets it names {{set}}")
    outputs = {known.name: Path(context.filled(fields, text, known)) for known in sets}
    shape = context.filled(fields, text.replace("{set}", "SET"))
    return outputs, Need(
        f"its output as {shape} (docs/others.md)", get=context.filled(fields, fields.text("get", ""))
    )


def with_outputs(spec: TableSpec) -> TableSpec:
    """The table with the files of other systems that are there, each as its row's run on that set.

    What is recorded and what it cost is of another run where the row has one of ours.
    """
    return replace(spec, rows=tuple(map(_with_outputs, spec.rows)))


def _with_outputs(row: Row) -> Row:
    there = {name: path for name, path in row.outputs.items() if is_file(path)}
    ours = there.keys() & row.runs.keys()
    return replace(
        row,
        runs={**row.runs, **there},
        recorded={name: found for name, found in row.recorded.items() if name not in ours},
        costs={name: found for name, found in row.costs.items() if name not in ours},
    )
