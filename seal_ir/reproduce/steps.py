"""The steps of a table performed, each a process of its own, and how long each took."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from seal_ir.errors import SealError, one_line
from seal_ir.formats.io.files import atomic_writer
from seal_ir.reproduce.plan import Plan, stale
from seal_ir.reproduce.spec import Step, TableSpec
from seal_ir.structured import json_file, load_json


def perform_steps(spec: TableSpec, plan: Plan, *, fresh: bool, threads: int) -> dict[str, float]:
    """Performs the steps of a plan that are stale, or all.

    Args:
        spec: the table, whose folder keeps the timings.
        plan: its steps, in order.
        fresh: perform those too that are not stale.
        threads: of each step's command, unless it says how many itself.

    Returns:
        The seconds of all that were ever performed, by command.

    Raises:
        SealError: a step failed or did not write its files, or the timings are damaged.
    """
    timings = _timings(spec)
    for step in plan.steps:
        if fresh or stale(step, spec):
            timings[str(step)] = _perform(step, threads)
            _save_timings(spec, timings)
    return timings


def _perform(step: Step, threads: int) -> float:
    """Runs a step, whose number of threads is `threads` by default; returns the seconds it took."""
    sys.stderr.write(f"$ {step}\n")
    started = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}  # see `default_threads`
    code = subprocess.run(step.command, stdout=sys.stderr, env=environment, check=False).returncode
    if code != 0:
        raise SealError(f"exit code {code} from: {step}")
    missing = [path for path in step.makes if not path.exists()]
    if missing:
        raise SealError(f"{missing[0]}: not there after the command that makes it: {step}")
    seconds = time.monotonic() - started
    sys.stderr.write(f"# {seconds:.0f} s\n")
    return seconds


def _timings(spec: TableSpec) -> dict[str, float]:
    """Seconds of the steps that were performed before, by command."""
    path = spec.folder / "steps.json"
    try:
        return {str(name): float(seconds) for name, seconds in load_json(path).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, OverflowError) as error:
        raise SealError(f"{path}: no timings ({one_line(error, 200)}); remove it") from error


def _save_timings(spec: TableSpec, timings: dict[str, float]) -> None:
    with atomic_writer(spec.folder / "steps.json") as file:
        file.write(json_file(timings))
        file.write("\n")
