"""What the doctor finds, as values, and as lines to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from seal_ir.errors import one_line

State = Literal["ok", "absent", "broken"]
OK: State = "ok"
ABSENT: State = "absent"
BROKEN: State = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        section: what it belongs to.
        name: what was looked at.
        state: it works; it is not there, and not everybody needs it; or it is needed and does not work.
        told: what was seen.
        mend: the command, or what else, that changes it; "" where there is nothing to mend.
    """

    section: str
    name: str
    state: State
    told: str
    mend: str = ""


Check = Callable[[], Iterable[Finding]]


def examined(checks: Mapping[str, Check]) -> Iterator[Finding]:
    """What all checks find, by section. One that fails is a finding itself, after what it had found."""
    for section, check in checks.items():
        try:
            yield from check()
        except Exception as error:  # noqa: BLE001 - whatever is wrong here, the rest is looked at
            yield Finding(
                section, "check", BROKEN, f"could not be made: {type(error).__name__}: {one_line(error)}"
            )


def as_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """The findings under the names of their sections, and after what is wrong how to mend it."""
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            yield section
        yield f"  {finding.state:7}{finding.name:22} {finding.told}"
        if finding.mend:
            yield f"{'':9}-> {finding.mend}"
