"""Opening while builds replace an index: one generation, whole, and the one that was opened stays."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError, InputError
from seal_ir.extensions import SDSL
from seal_ir.index import generations, opening
from seal_ir.index.directory import LOCK, WORKING
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from tests.helpers import tiny
from tests.helpers.commands import ROOT
from tests.helpers.generations import N_DOCUMENTS, check_whole, collection
from tests.helpers.indexes import NEW, content, refused

N_OPENS = 1000
FROZEN = Path(__file__).parents[1] / "data" / "index_v2_native"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    tiny.build(tmp_path / "index", collection("a"), store_raw=True)
    return tmp_path / "index"


REBUILD = """
import itertools, sys
from pathlib import Path
from tests.helpers import tiny
from tests.helpers.generations import collection
print("ready", flush=True)
for name in itertools.cycle("ba"):
    tiny.build(Path(sys.argv[1]), collection(name), store_raw=True, max_segment_tokens=600)
    print(name, flush=True)
"""


@pytest.mark.slow
def test_j1_every_open_under_continuous_rebuilding_gives_one_generation_whole(directory: Path) -> None:
    seen: list[str] = []
    process = subprocess.Popen(
        [sys.executable, "-c", REBUILD, str(directory)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    builds: list[str] = []
    with process.stdout as lines:
        assert lines.readline() == "ready\n"
        listener = threading.Thread(target=lambda: builds.extend(lines))
        listener.start()
        try:
            until = time.monotonic() + 120  # for the builds to keep up on a busy machine
            for at in itertools.takewhile(lambda n: n < N_OPENS or len(builds) < 4, itertools.count()):
                assert time.monotonic() < until, f"{at} opens, {len(builds)} builds"
                index = Index(directory, check="sizes" if at % 4 else "bytes")
                seen.append(check_whole(index) if at % 10 == 0 else index.docid(0)[0] + index.docid(59)[0])
                assert index.documents([7])[0].id == index.docid(7)
        finally:
            process.kill()
            process.wait()
            listener.join()
    assert set("".join(seen)) == {"a", "b"}
    assert not [pair for pair in seen if len(set(pair)) > 1]


def rebuild_after(
    monkeypatch: pytest.MonkeyPatch, name: str, directory: Path, n_times: int = 1, **options: Any
) -> list[str]:
    """Let the index be rebuilt whenever a step of opening has been taken, so many times."""
    step: Callable[..., Any] = getattr(opening, name)
    built: list[str] = []

    def then_rebuilt(*args: Any, **kwargs: Any) -> Any:
        result = step(*args, **kwargs)
        if len(built) < n_times:
            built.append("ba"[len(built) % 2])
            tiny.build(directory, collection(built[-1]), **options)
        return result

    monkeypatch.setattr(opening, name, then_rebuilt)
    return built


def test_files_that_vanish_before_any_of_them_is_opened_are_one_error(directory: Path) -> None:
    """Whichever file is next when all go: never a bare OSError, which would not be tried again."""
    moved = directory.with_name("moved")
    left = 0

    def vanish(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open" and left and str(directory) in str(arguments[0]):
            left -= 1
            if not left:
                directory.rename(moved)

    sys.addaudithook(vanish)  # which stays, and does nothing when `left` is 0
    opened = 0
    for n in itertools.count(1):
        left = n
        try:
            Index(directory, check="sizes")
        except IndexDirError:
            assert not left
            moved.rename(directory)
            opened += 1
            continue
        if left:  # there are fewer opens than that
            break
        moved.rename(directory)  # all were open by then
    left = 0
    assert opened > 2


STEPS = ["read_manifest", "check_files", "_tokenizer", "open_engine", "DocumentTable", "Stores"]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("check", ["bytes", "sizes"])
def test_j1_a_rebuild_after_any_step_of_opening(
    directory: Path, name: str, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = rebuild_after(monkeypatch, name, directory)
    index = Index(directory, check=check)
    assert built == ["b"]
    assert check_whole(index) == ("a" if name == "Stores" else "b")


def test_a_rebuild_between_looking_at_a_file_and_mapping_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped, built = np.memmap, []

    def after_rebuilding(*args: Any) -> Any:
        if not built:
            built.append("b")
            tiny.build(directory, collection("b"))
        return mapped(*args)

    monkeypatch.setattr(np, "memmap", after_rebuilding)
    index = Index(directory)
    assert built == ["b"]
    assert check_whole(index) in ("a", "b")


@pytest.mark.parametrize("name", STEPS[:-2])  # it has no stores
def test_a_rebuild_over_an_earlier_format_while_it_is_opened(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = Path(shutil.copytree(FROZEN, tmp_path / "index"))
    rebuild_after(monkeypatch, name, directory)
    assert check_whole(Index(directory)) == "b"


@pytest.mark.parametrize("n_times", [2, 7])
def test_rebuilds_there_and_back_while_it_is_opened(
    directory: Path, n_times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two the manifest is byte for byte the one that was read; its files were gone in between."""
    built = rebuild_after(monkeypatch, "read_manifest", directory, n_times)
    assert check_whole(Index(directory)) == built[-1]


def test_a_file_that_is_gone_for_a_moment_is_not_damage(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced and put back within one attempt: the manifest is the same, but it was put there anew."""
    read = opening.read_manifest

    def gone(folder: Path) -> Any:
        manifest = read(folder)
        monkeypatch.setattr(opening, "read_manifest", read)
        tiny.build(directory, collection("b"))
        monkeypatch.setattr(opening, "check_files", back)
        return manifest

    check = opening.check_files

    def back(*args: Any) -> None:
        monkeypatch.setattr(opening, "check_files", check)
        try:
            check(*args)
        finally:
            tiny.build(directory, collection("a"), store_raw=True)

    monkeypatch.setattr(opening, "read_manifest", gone)
    assert check_whole(Index(directory)) == "a"


def test_an_index_that_is_replaced_for_ever_is_given_up(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_ATTEMPTS", 3)
    rebuild_after(monkeypatch, "read_manifest", directory, 3)
    assert "replaced 3 times while it was being opened; wait" in refused(directory)


@pytest.mark.parametrize("segments", [1 << 30, 600], ids=["one segment", "several"])
def test_an_opened_index_keeps_its_generation(directory: Path, segments: int) -> None:
    """Its tokenizer too, which had not been used, and everything that is read when it is first asked for."""
    tiny.build(directory, collection("a"), segments, store_raw=True)
    raw = [document._replace(raw=json.dumps({"id": document.id})) for document in collection("b")]
    before = Index(directory)
    lower = json.loads(tiny.definition()) | {"normalizer": {"type": "Lowercase"}}
    other = tiny.TextTokenizer(json.dumps(lower))
    tiny.build(directory, raw, segments, other, store_raw=True)
    assert check_whole(Index(directory)) == "b"
    shutil.rmtree(directory)
    assert check_whole(before) == "a"
    assert before.raws(range(N_DOCUMENTS)) == [None] * N_DOCUMENTS
    assert before.tokenizer.definition == tiny.tokenizer().definition


def test_the_same_content_rebuilt_over_itself(directory: Path) -> None:
    before, opened = content(directory), Index(directory)
    tiny.build(directory, collection("a"), store_raw=True)
    assert content(directory) == before
    assert check_whole(opened) == check_whole(Index(directory)) == "a"


def test_a_rebuild_of_the_same_content_mends_damaged_files(directory: Path) -> None:
    before = content(directory)
    for name, data in before.items():
        (directory / name).write_bytes(bytes([data[0] ^ 1]) + data[1:])
    tiny.build(directory, collection("a"), store_raw=True)
    assert content(directory) == before
    verify_index(directory, lambda line: None)


def test_files_of_two_generations_never_share_a_name(directory: Path) -> None:
    first = set(read_manifest(directory).files)
    other = tiny.TextTokenizer(json.dumps(json.loads(tiny.definition()) | {"normalizer": {"type": "NFC"}}))
    tiny.build(directory, collection("b"), 1 << 30, other, store_raw=True)
    assert not first & set(read_manifest(directory).files)


def test_equal_segments_of_one_index_do_not_share_a_folder(tmp_path: Path) -> None:
    n_tokens = tiny.build(tmp_path / "index", NEW).n_tokens
    index = tiny.built(tmp_path / "index", [*NEW, *NEW], max_segment_tokens=n_tokens)
    assert index.documents([0, 1]) == [*NEW, *NEW]
    assert len({segment.name for segment in index.manifest.segments}) == 2


def test_an_index_of_an_earlier_format_is_replaced_whole(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(FROZEN, tmp_path / "index"))
    before = Index(directory)
    documents = before.documents(range(4))
    again = Index(directory)
    tiny.build(directory, NEW)
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}
    assert again.documents(range(4)) == documents


def test_a_failed_build_keeps_an_index_whose_manifest_cannot_be_read(directory: Path) -> None:
    (directory / MANIFEST).write_text("{")
    before = content(directory)
    with pytest.raises(InputError, match="no documents"):
        tiny.build(directory, [])
    assert content(directory) == before
    tiny.build(directory, NEW)
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


def test_j9_every_file_is_on_the_disk_before_the_manifest_names_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the manifest before it is renamed, and the directory after that."""
    synced: list[Path] = []
    replaced: list[tuple[Path, list[Path]]] = []
    sync, replace = generations.sync, Path.replace

    def recorded(paths: Any) -> None:
        chosen = list(paths)
        synced.extend(chosen)
        sync(chosen)

    def moved(self: Path, target: Path) -> Path:
        replaced.append((target, list(synced)))
        return replace(self, target)

    monkeypatch.setattr(generations, "sync", recorded)
    monkeypatch.setattr(Path, "replace", moved)
    manifest = tiny.build(directory, collection("b"), 600)
    working = directory / WORKING
    *_, (last, before) = replaced
    assert last == directory / MANIFEST
    assert {working / name for name in [*manifest.files, MANIFEST]} <= set(before)
    assert {directory, *((directory / name).parent for name in manifest.files)} <= set(before)
    assert synced[len(before) :] == [directory]


def test_a_file_system_that_does_not_sync_folders(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    number = errno.EINVAL
    tiny.build(directory, collection("b"))
    assert check_whole(Index(directory)) == "b"
    number = errno.EIO  # a disk that cannot write is another matter
    with pytest.raises(IndexDirError, match="cannot write the index: Input/output error"):
        tiny.build(directory, NEW)
    assert check_whole(Index(directory)) == "b"


@pytest.mark.parametrize("left", ["segment-000000-0123456789ab", WORKING, LOCK, "tokenizer.01234567.json"])
def test_j9_an_interrupted_first_build_says_that_it_is_incomplete(tmp_path: Path, left: str) -> None:
    directory = tmp_path / "index"
    if "." in left[1:] or left == LOCK:
        directory.mkdir()
        (directory / left).touch()
    else:
        (directory / left).mkdir(parents=True)
        (directory / left / "ids.arrow").touch()
    told = "incomplete, its first build is still running or was interrupted; wait for it, or run the same"
    assert f"{directory}: {told} python -m seal_ir.index command again" in refused(directory)
    with pytest.raises(IndexDirError, match=told):
        verify_index(directory, print)
    tiny.build(directory, NEW)  # leftovers do not block, and are gone
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


def test_the_sdsl_engine_never_sees_a_file_that_was_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("seal_ir._sdsl")
    tiny.build(tmp_path / "index", engine=EngineSpec(SDSL))
    path = next((tmp_path / "index").rglob("fm.bin"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    monkeypatch.setattr(opening, "open_engine", lambda *args: pytest.fail("it was opened"))
    for check in ("bytes", "sizes"):
        with pytest.raises(IndexDirError, match=r"fm.bin: damaged, its checksum differs"):
            Index(tmp_path / "index", check=check)
