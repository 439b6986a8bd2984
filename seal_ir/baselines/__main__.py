"""`python -m seal_ir.baselines`: make the runs of a table and print it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from seal_ir.baselines.tables import Row, Step, TableSpec, read_table, stale
from seal_ir.command import run
from seal_ir.errors import SealError
from seal_ir.formats.files import atomic_writer
from seal_ir.formats.named import Places


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seal_ir.baselines", description="Make the runs of a table, measure and print them."
    )
    add = parser.add_argument
    add("--table", type=Path, required=True, help="table file, such as eval/demo.toml")
    add("--output", type=Path, default=Path("runs/eval"), help="folder of runs and results (%(default)s)")
    add("--fresh", action="store_true", help="make runs again that are there already")
    return parser


def main(arguments: list[str]) -> int:
    """Make the runs, measure them, write OUTPUT/TABLE.json and .md; 0 when every row is there."""
    args = _parser().parse_args(arguments)
    spec = read_table(args.table, args.output, Places.from_environment())
    for step in spec.steps:
        if args.fresh or stale(step, spec):
            _perform(step)
    rows = [row for row in spec.rows if row.run.is_file()]
    absent = [row.system for row in spec.rows if not row.run.is_file()]
    if not rows:
        raise SealError(f"{args.table}: no row of this table can be made here")
    measured = _measure(spec, rows)
    _write(spec, rows, measured, args.output)
    for system in absent:
        print(f"left out: {system}", file=sys.stderr)
    return 0


def _perform(step: Step) -> None:
    """Run a step, or say what it lacks."""
    words = " ".join(step.command[1:])
    if step.missing:
        print(f"skipped, needs {' and '.join(step.missing)}: python {words}", file=sys.stderr)
        return
    print(f"$ python {words}", file=sys.stderr)
    started = time.monotonic()
    code = subprocess.run(step.command, stdout=sys.stderr, check=False).returncode
    if code != 0:
        raise SealError(f"exit code {code} from: python {words}")
    print(f"# {time.monotonic() - started:.0f} s", file=sys.stderr)


def _measure(spec: TableSpec, rows: list[Row]) -> dict[str, Any]:
    """The figures of `seal_ir.eval` for all rows."""
    target = spec.folder / "figures.json"
    command = [sys.executable, "-m", "seal_ir.eval", "--topics", str(spec.topics_file), "--index", spec.index]
    command += ["--answers", spec.topics, "--qrels", spec.topics, "--output", str(target)]
    command += ["--measures", *spec.measures, "--run", *(str(row.run) for row in rows)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SealError(f"exit code {done.returncode} from: {' '.join(command)}")
    return dict(json.loads(target.read_text(encoding="utf-8")))


def _write(spec: TableSpec, rows: list[Row], measured: dict[str, Any], output: Path) -> None:
    """`TABLE.json`: one record a figure, with the command that made its run; `TABLE.md`, also printed."""
    row_of = {
        name: row
        for name, about in measured["systems"].items()
        for row in rows
        if str(row.run) == about["run"]
    }
    records = [
        {**record, "system": row_of[record["system"]].system, "command": row_of[record["system"]].command}
        for record in measured["rows"]
    ]
    about = {name: measured[name] for name in ("n_topics", "n_answered", "matching", "level", "versions")}
    with atomic_writer(output / f"{spec.name}.json") as file:
        json.dump({"table": spec.name, "title": spec.title, **about, "rows": records}, file, indent=2)
        file.write("\n")
    text = _markdown(spec, rows, records, measured)
    with atomic_writer(output / f"{spec.name}.md") as file:
        file.write(text)
    sys.stdout.write(text)


def _markdown(
    spec: TableSpec, rows: list[Row], records: list[dict[str, Any]], measured: dict[str, Any]
) -> str:
    labels = list(dict.fromkeys(str(record["measure"]) for record in records))
    values = {(record["system"], record["measure"]): record["value"] for record in records}
    n = {str(record["measure"]): record["n"] for record in records}
    head = [_label(label) for label in labels]
    lines = [f"**{spec.title}**", "", f"| system | {' | '.join(head)} |", "|---|" + "---:|" * len(head)]
    lines += [
        f"| {row.system} | {' | '.join(f'{values[row.system, label]:.3f}' for label in labels)} |"
        for row in rows
    ]
    over = ", ".join(f"{label} over {n[name]}" for name, label in zip(labels, head, strict=True))
    versions = ", ".join(f"{name} {number}" for name, number in measured["versions"].items())
    lines += [
        "",
        f"{measured['n_topics']} questions; answers matched by {measured['matching']}. {over}. {versions}.",
    ]
    return "\n".join(lines) + "\n"


def _label(measure: str) -> str:
    """How tables call a measure: accuracy@k, hits@k, R-precision."""
    name, _, cutoff = measure.partition("@")
    named = {"AnswerAccuracy": "accuracy", "Success": "hits", "Rprec": "R-precision"}.get(name, name)
    return f"{named}@{cutoff}" if cutoff else named


if __name__ == "__main__":
    run(main)
