"""What holds for every C++ source: its folder is its namespace, and one class maps files into memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"
SOURCES = sorted(path for path in CPP.rglob("*.[ch]pp") if path.parent.name != "tests")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(CPP).as_posix())
def test_a_source_is_in_the_namespace_of_its_folder(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    own = "seal" if path.parent == CPP else f"seal::{path.parent.name}"
    opened = set(re.findall(r"^namespace (\S+) \{", text, re.MULTILINE))
    assert opened == (set() if path.name == "bindings.cpp" else {own})


def test_one_class_maps_files_into_memory() -> None:
    mapping = [path.relative_to(CPP).as_posix() for path in SOURCES if "mmap(" in path.read_text("utf-8")]
    assert mapping == ["mapping.cpp"]


def test_only_the_folder_of_sdsl_knows_it() -> None:
    """So that the other two modules build where sdsl-lite is not: here its headers would be found."""
    known = {path.parent.name for path in SOURCES if re.search(r"#include .*sdsl", path.read_text("utf-8"))}
    assert known == {"sdsl"}
    makefile = (CPP.parent / "CMakeLists.txt").read_text(encoding="utf-8")
    linked = re.findall(r"target_link_libraries\((\w+)[^)]*(?:SDSL|sdsl)", makefile)
    assert linked == ["seal_sdsl_core"]
    assert re.findall(r"seal_module\((\w+) seal_sdsl_core", makefile) == ["_sdsl"]
