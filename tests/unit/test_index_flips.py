"""Single flipped bits in any file of an index: none crashes the process, and none is answered from unseen.

Each run is a process of its own, as a crash would end it.
"""

from __future__ import annotations

import collections
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError, SealError
from seal_ir.index.directory import LOCK
from seal_ir.index.engine import ENGINES, EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.text.symbols import BOUNDARY, TITLE_END
from tests.helpers import tiny
from tests.helpers.commands import ROOT


def answers(index: Index) -> list[Any]:
    """What an index can be asked, from every file."""
    everyone = range(index.n_documents)
    found: list[Any] = [index.documents(everyone), index.raws(everyone)]
    found += [(index.docid(number), index.number(index.docid(number))) for number in everyone]
    for stream in index.streams(everyone):
        ranges = index.find(stream[1:4].tolist())
        places = index.locate([ranges])
        found.append((ranges, places.documents.tolist(), places.ends.tolist()))
    first = index.first_symbols
    after = index.successors(first.ranges)
    found += [first.symbols.tolist(), first.ranges.tolist(), after.symbols.tolist(), after.ranges.tolist()]
    return found


def build(directory: Path, engine: EngineSpec) -> None:
    """Several segments, deletions, records and a stored field: a file of every kind."""
    documents = [
        d._replace(
            id=f"{d.id}{n}",
            raw=json.dumps({"id": f"{d.id}{n}", "contents": d.text}),
            stored=(("n", len(d.id)),),
        )
        for n in "abc"
        for d in tiny.DOCUMENTS
    ]
    tiny.build(directory, documents, 250, store_raw=True, engine=engine, store=("n:int",))
    with SealIndexer(directory) as writer:
        writer.delete(["d2a", "d3#1b"])


@contextmanager
def flipped(path: Path, at: int, bit: int) -> Iterator[None]:
    """A bit of a file flipped in a copy that takes its place: an index may have the old one mapped."""
    whole, other = path.read_bytes(), path.with_name("copy")
    other.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    other.replace(path)
    yield
    other.write_bytes(whole)
    other.replace(path)


def outcome(directory: Path, check: Any, sound: list[Any]) -> str:
    try:
        return "right" if answers(Index(directory, check=check)) == sound else "wrong"
    except SealError as error:
        assert "\n" not in str(error)
        return "told"
    except Exception as error:  # noqa: BLE001 - that is what must not come
        return repr(error)


def is_found(directory: Path) -> bool:
    try:
        verify_index(directory, lambda line: None)
    except IndexDirError:
        return True
    return False


def outcomes(engine: str, check: str, n: int, seed: int) -> dict[str, int]:
    """How often each outcome came of `n` flips at random places, and how many of them `--verify` missed."""
    chance, counts = random.Random(seed), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "index"
        build(directory, EngineSpec(engine))
        sound = answers(Index(directory))
        assert not is_found(directory)
        files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != LOCK)
        for _ in range(n):
            path = chance.choice(files)
            with flipped(path, chance.randrange(path.stat().st_size), chance.randrange(8)):
                counts[outcome(directory, check, sound)] += 1
                counts["missed by --verify"] += not is_found(directory)
    return {name: count for name, count in counts.items() if count}


def run(engine: str, check: str, n: int) -> dict[str, int]:
    pytest.importorskip(f"seal_ir._{engine}")
    command = [sys.executable, "-m", "tests.unit.test_index_flips", engine, check, str(n), "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("n", [150, 1000], ids=["some places", "many places"])
@pytest.mark.parametrize("engine", ENGINES)
def test_j2_every_flipped_bit_is_told_of_before_anything_is_answered(engine: str, n: int) -> None:
    assert run(engine, "bytes", n) == {"told": n}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_j2_flipped_bits_that_nobody_has_looked_for_give_no_crash_and_no_bare_error(engine: str) -> None:
    counts = run(engine, "sizes", 300)  # none is missed by --verify, which would be counted
    assert counts.keys() <= {"told", "right", "wrong"}
    assert counts["told"] > 150


@pytest.mark.parametrize(
    "lost",
    [[BOUNDARY, 500, 501], [BOUNDARY, TITLE_END, 500, 2], [BOUNDARY, TITLE_END, 500, 14, 501, 15]],
    ids=["no title", "a field without an end", "a field that is none"],
)
def test_a_text_that_lost_its_marks_is_told(
    tiny_index: Path, monkeypatch: pytest.MonkeyPatch, lost: list[int]
) -> None:
    index = Index(tiny_index)
    monkeypatch.setattr(Index, "streams", lambda self, numbers: [np.array(lost, np.uint32)])
    with pytest.raises(IndexDirError) as error:
        index.documents([0])
    assert f"{tiny_index}: damaged (the text of a document)" in str(error.value)


if __name__ == "__main__":
    engine, check, n, seed = sys.argv[1:]
    print(json.dumps(outcomes(engine, check, int(n), int(seed))))
