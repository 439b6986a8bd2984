"""The packages that seal-ir wants, its own extension modules, and the place that it runs from."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

from seal_ir.doctor.findings import ABSENT, BROKEN, OK, Finding
from seal_ir.errors import one_line
from seal_ir.extensions import INSTALL, NATIVE, RANK, SDSL

PROBE_SECONDS = 120
_DEVELOPERS = ("dev",)  # extras that no user needs


def program() -> Iterator[Finding]:
    """This package and its Python."""
    yield Finding("seal-ir", "version", OK, f"{version('seal-ir')}, in {Path(__file__).parents[1]}")
    yield Finding("seal-ir", "Python", OK, f"{platform.python_version()}, {sys.executable}")
    yield Finding("seal-ir", "system", OK, platform.platform())
    for name in (NATIVE, RANK, SDSL):
        yield extension_module(name)


def extension_module(name: str) -> Finding:
    """A built module, imported by a process of its own: one for another processor ends its process."""
    fault = probed(f"import seal_ir._{name}; print('null')")[1]
    if not fault:
        return Finding("seal-ir", f"seal_ir._{name}", OK, "works")
    optional = name == SDSL
    told = "not built, and only needed for comparisons" if optional else fault
    return Finding("seal-ir", f"seal_ir._{name}", ABSENT if optional else BROKEN, told, INSTALL[name])


def probed(program: str) -> tuple[Any, str]:
    """What a program in a process of its own prints as JSON, and why it does not; one of the two is empty."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return json.loads(done.stdout.strip().splitlines()[-1]), ""
        told = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        return None, one_line(told[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        return None, one_line(error)


def required() -> Iterator[Finding]:
    """What seal-ir depends on, and of its extras which are complete."""
    from packaging.requirements import Requirement

    wanted = [Requirement(text) for text in requires("seal-ir") or ()]
    for one in wanted:
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            fault = _fault(one.name, one)
            state = BROKEN if fault else OK
            mend = f"pip install '{one.name}{one.specifier}'" if fault else ""
            yield Finding("packages", one.name, state, fault or version(one.name), mend)
    for extra in metadata("seal-ir").get_all("Provides-Extra") or ():
        if extra not in _DEVELOPERS:
            own = [one for one in wanted if one.marker and one.marker.evaluate({"extra": extra})]
            own = [one for one in own if one.marker and not one.marker.evaluate({"extra": ""})]
            faults = [f"{one.name} {fault}" for one in own if (fault := _fault(one.name, one))]
            mend = f"pip install 'seal-ir[{extra}]'" if faults else ""
            told = "; ".join(faults) or ", ".join(f"{one.name} {version(one.name)}" for one in own)
            yield Finding("extras", extra, ABSENT if faults else OK, told, mend)


def _fault(name: str, wanted: Any) -> str:
    """What is wrong with an installed package; "" where nothing is."""
    try:
        seen = version(name)
    except PackageNotFoundError:
        return "is not installed"
    fits = wanted.specifier.contains(seen, prereleases=True)
    return "" if fits else f"is {seen}, where {wanted.specifier} is needed"
