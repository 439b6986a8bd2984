"""The stubs of the extension modules are those of what was built, and a wrong one is found."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("nanobind")

from tests.helpers.stubs import PACKAGE, declared, differences  # noqa: E402

NATIVE = (PACKAGE / "_native.pyi").read_text(encoding="utf-8")
INTS = "NDArray[np.int64]"


def test_the_stubs_are_those_of_the_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.stubs"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "name"),
    [
        ("rows: NDArray[np.int64]) -> ", "places: NDArray[np.int64]) -> ", "EngineBase.locate"),
        ("rows: NDArray[np.int64]) -> ", "rows: NDArray[np.int32]) -> ", "EngineBase.locate"),
        (
            f"def locate(self, rows: {INTS}) -> {INTS}",
            f"def locate(self, rows: {INTS}) -> None",
            "EngineBase.locate",
        ),
        ("def locate(self, rows: ", "def locate(self, more: int, rows: ", "EngineBase.locate"),
        ("def size_in_bytes(", "def n_bytes(", "EngineBase.n_bytes"),
        ("def size_in_bytes(", "def n_bytes(", "EngineBase.size_in_bytes"),
        ("    @property\n    def n_symbols", "    def n_symbols", "Engine.n_symbols"),
        ("    @staticmethod\n    def make", "    def make", "Builder.make"),
        ("class Builder:", "class Maker:", "Maker"),
        ("class Builder:", "class Maker:", "Builder"),
        ("def compact(", "def pack(", "compact"),
        ("def compact(", "VERSION: int\n\ndef compact(", "VERSION"),
        ("width: int) ->", "width: int = 2) ->", "compact"),
    ],
)
def test_a_wrong_stub_is_found(right: str, wrong: str, name: str) -> None:
    assert NATIVE.count(right) == 1
    stub = NATIVE.replace(right, wrong)
    (line,) = [line for line in differences(stub, "_native") if f" {name} is " in line]
    number = int(line.split(":")[1])
    assert number == declared(stub).get(name, ("", 1))[1]


def test_documentation_makes_no_difference() -> None:
    assert differences(NATIVE.replace("Number of rows,", "How many rows,"), "_native") == []
