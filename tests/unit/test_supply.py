"""requirements-dev.lock fits pyproject.toml, and the audit cannot pass where it has seen nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers import audit
from tests.helpers.audit import Fault, refused
from tests.helpers.commands import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PIN = re.compile(r"^([\w.-]+)==(\S+?)(?: ; (.+?))? \\$", re.MULTILINE)
HASHES = re.compile(r"--hash=sha256:[0-9a-f]{64}")
VERSIONS = ("3.11", "3.12", "3.13")
NOT_LOCKED = {"torch"}  # which build of it depends on the machine


def locked(version: str) -> dict[str, str]:
    """The pinned version of each package, for a version of Python on Linux."""
    here = {"python_version": version, "python_full_version": f"{version}.7", "sys_platform": "linux"}
    found: dict[str, str] = {}
    for name, pinned, marker in PIN.findall(audit.LOCK.read_text(encoding="utf-8")):
        if not marker or Marker(marker).evaluate(here):
            assert canonicalize_name(name) not in found, f"{name} is pinned twice"
            found[canonicalize_name(name)] = pinned
    return found


def wanted() -> Iterable[Requirement]:
    """What `make install` asks for."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = re.search(r"^EXTRAS := (.+)$", makefile, re.MULTILINE)
    build = re.search(r"^BUILD := (.+)$", makefile, re.MULTILINE)
    assert extras
    assert build
    texts = [*PROJECT["project"]["dependencies"], *build[1].replace("'", "").split()]
    for extra in extras[1].split():
        texts += PROJECT["project"]["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lock_fits_what_pyproject_asks_for(version: str) -> None:
    """If not: `make lock`."""
    pins = locked(version)
    asked = [one for one in wanted() if one.name not in NOT_LOCKED]
    assert len(asked) > 40
    assert not [str(one) for one in asked if canonicalize_name(one.name) not in pins]
    assert not [str(one) for one in asked if not one.specifier.contains(pins[canonicalize_name(one.name)])]
    assert not NOT_LOCKED & pins.keys()
    assert not [name for name in pins if name.startswith(("nvidia-", "triton"))]


def test_every_locked_package_has_checksums() -> None:
    entries = re.split(r"^(?=\S)", audit.LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    pinned = [entry for entry in entries if entry and not entry.startswith("#")]
    assert len(pinned) > 200
    assert not [
        entry.partition(" ")[0] for entry in pinned if not PIN.match(entry) or not HASHES.search(entry)
    ]


def test_pythons_that_are_named_are_those_that_pyproject_allows() -> None:
    assert PROJECT["project"]["requires-python"] == f">={VERSIONS[0]}"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Fault] | OSError]:
    """What pip-audit says of the release that has faults, and of the lock."""
    said: dict[str, list[Fault] | OSError] = {"faulty": [Fault("jinja2", "3.1.2", "CVE-1")], "lock": []}

    def looked_up(requirements: Iterable[str]) -> list[Fault]:
        answer = said["faulty" if list(requirements) == [audit.FAULTY] else "lock"]
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(audit, "find_spec", lambda name: name)
    monkeypatch.setattr(audit, "looked_up", looked_up)
    return said


@pytest.mark.parametrize("answer", [[], OSError("no network")])
def test_where_nothing_can_be_looked_up_one_sentence_says_so(
    answers: dict[str, list[Fault] | OSError],
    answer: list[Fault] | OSError,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers["faulty"] = answer
    answers["lock"] = [Fault("x", "1", "CVE-2")]
    assert audit._told_faults() == []
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("audit: faults were not looked up (")


def test_a_known_fault_fails_the_audit_unless_it_was_accepted(
    answers: dict[str, list[Fault] | OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers["lock"] = [Fault("x", "1", "CVE-2"), Fault("y", "2", "CVE-3")]
    monkeypatch.setitem(audit.ACCEPTED_FAULTS, "CVE-3", "not reached")
    (told,) = audit._told_faults()
    assert told.startswith("x 1 has CVE-2")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("MIT", False),
        ("LGPL-2.1-only", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("AGPL-3.0", True),
        ("CC-BY-NC-4.0", True),
        ("unknown", True),
        ("MPL-2.0 AND MIT", False),
    ],
)
def test_licences_that_ask_something_of_users(told: str, expected: bool) -> None:
    assert refused(told) == expected
