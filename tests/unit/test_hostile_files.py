"""Readers on files that nobody wrote in good faith; `python -m tests.fuzz` does the same for minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.contract import BrokenContractError, check
from tests.fuzz.mutations import mutated
from tests.fuzz.reader import Reader
from tests.fuzz.readers import READERS
from tests.fuzz.runs import Prepared, changed, named, prepared, regressions
from tests.helpers.examples import examples

NEEDED = {
    "published-side-file": "seal_ir._sdsl",
    "published-index": "seal_ir._sdsl",
    "HFDataset": "datasets",
    "dense-index": "faiss",
    "server": "mcp",
}


@pytest.fixture(scope="module")
def ready(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    if request.param.name in NEEDED:
        pytest.importorskip(NEEDED[request.param.name])
    with prepared(request.param, tmp_path_factory.mktemp("valid")) as ready:
        yield ready


@pytest.mark.slow
@pytest.mark.parametrize("ready", READERS, ids=lambda reader: reader.name, indirect=True)
@examples(60)
@given(seed=st.integers(0, 2**32))
def test_a_hostile_file_is_read_or_refused_in_one_line(ready: Prepared, seed: int) -> None:
    name, content = changed(ready, Random(seed))
    check(ready.reader, ready.folder, name, content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "path"),
    [pytest.param(*case, id="/".join(case[1].parts[-3:])) for case in regressions()],
)
def test_a_file_that_once_broke_a_reader(reader: str, path: Path, tmp_path: Path) -> None:
    if reader in NEEDED:
        pytest.importorskip(NEEDED[reader])
    with prepared(named(reader), tmp_path) as ready:
        check(ready.reader, ready.folder, path.name.replace("+", "/"), path.read_bytes())


def refuses(path: Path) -> None:
    if path.read_bytes() != b"valid":
        raise ValueError("two\nlines")


def test_the_harness_notices_what_it_looks_for(tmp_path: Path) -> None:
    closed: list[Path] = []
    reader = Reader("own", lambda folder: {"a.txt": b"valid"}, refuses, alone=True, close=closed.append)
    with prepared(reader, tmp_path) as ready:
        with pytest.raises(BrokenContractError, match="ValueError"):
            check(reader, tmp_path, "a.txt", b"other")
        assert (tmp_path / "a.txt").read_bytes() == b"valid"
        assert len({mutated(b"valid\n", Random(seed)) for seed in range(50)}) > 20
        assert ready.names == ["a.txt"]
        assert closed == []
    assert closed == [tmp_path]
