"""`python -m seal_ir doctor`: look at this installation, and say what is missing and what mends it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib.metadata import version

from seal_ir.command import CommandParser, run
from seal_ir.doctor import files, machine, packages
from seal_ir.doctor.findings import Check, as_lines, examined
from seal_ir.structured import json_file

CHECKS: dict[str, Check] = {
    "seal-ir": packages.program,
    "packages": packages.required,
    "machine": machine.computing,
    "machine: Java": machine.java,
    "files": files.cache,
    "indexes": files.indexes,
    "models": files.models,
    "models: hub": files.hub,
}


def main(arguments: list[str]) -> int:
    """Look; 0, whatever is found."""
    parser = CommandParser(
        prog="python -m seal_ir.doctor",
        description="Say which versions, devices, indexes and models are here, what is missing, and what"
        " mends it. It changes nothing, and asks no network.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    args = parser.parse_args(arguments)
    findings = examined(CHECKS)
    if args.json:
        values = {"version": version("seal-ir"), "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(json_file(values))
        return 0
    for line in as_lines(findings):  # as they come: torch takes seconds
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    run(main)
