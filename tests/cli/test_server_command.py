"""`python -m seal_ir.server`: what it refuses before it serves, and a process from its start to its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from seal_ir.config import preset
from seal_ir.errors import SealError
from seal_ir.server.__main__ import main
from seal_ir.server.options import key_of, parsed
from seal_ir.server.served import ServedIndex, opened, tried
from tests.helpers import serving, tiny
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.stubbed import Stubbed


@contextmanager
def process(*arguments: object, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own, and its URL."""
    command = [sys.executable, "-m", "tests.helpers.stubbed_server", "--port", "0", *map(str, arguments)]
    started = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stderr is not None
        lines = iter(started.stderr.readline, "")
        url = next((found[0] for line in lines if (found := re.search(r"http://\S+(?=/ )", line))), None)
        assert url is not None
        yield url, started
    finally:
        started.kill()
        started.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_from_its_start_to_its_end(tiny_index: Path, number: signal.Signals) -> None:
    with process("--index", tiny_index, f"other={tiny_index}", "--preset", "paper", "lm") as (url, started):
        names = [each["name"] for each in httpx.get(f"{url}/v1/indexes").json()]
        assert names == ["index", "other"]
        for name in names:
            found = httpx.get(f"{url}/v1/{name}/search", params={"query": "the capital", "preset": "lm"})
            assert found.json()["candidates"]
        started.send_signal(number)
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (0, None, "")


@pytest.mark.slow
def test_the_key_of_the_environment_and_requests_that_are_logged(tiny_index: Path) -> None:
    key = {"SEAL_IR_API_KEY": serving.KEY}
    options = ("--index", f"tiny={tiny_index}", "--preset", "paper", "--log-requests")
    with process(*options, **key) as (url, started):
        assert httpx.get(f"{url}/v1/tiny/doc/d1").status_code == 401
        assert httpx.get(f"{url}/v1/tiny/doc/d1", headers={"X-API-Key": serving.KEY}).status_code == 200
        started.send_signal(signal.SIGTERM)
        _, err = started.communicate(timeout=60)
    assert err.count('"GET /v1/tiny/doc/d1 HTTP/1.1"') == 2
    assert serving.KEY not in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--index", "nowhere/at/all"], "nowhere/at/all"),
        (["--index", "unknown"], "unknown: neither an index directory nor a registered index"),
        (["--index", "INDEX", "--port", "70000"], "--port is 70000"),
        (["--index", "INDEX", "--port", "-1"], "--port is -1"),
        (["--index", "INDEX", "--preset", "best"], "unknown preset 'best'"),
        (["--index", "INDEX", "--batch-size", "0"], "batch_size is 0"),
        (["--index", "INDEX", "--timeout", "nan"], "timeout_s is nan"),
        (["--index", "INDEX", "--refresh", "-1"], "--refresh is -1"),
        (["--index", "INDEX", "--writable"], "--writable needs a key"),
        (["--index", "INDEX", "--writable", "--mcp", "stdio"], "--writable does not go with --mcp stdio"),
        (["--index", "INDEX", "--key-file", "none.key"], "--key-file none.key: cannot read the key"),
        (["--index", "INDEX", "--host", "host.invalid"], "cannot listen on host.invalid"),
        (["--index", "INDEX", "indexes=INDEX"], "'indexes' is no name for a route"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    call: Runner, stubbed: Stubbed, tiny_index: Path, arguments: list[str], told: str
) -> None:
    result = call(main, *[each.replace("INDEX", str(tiny_index)) for each in arguments])
    assert_fault(result, 2 if "nowhere" not in told else 1, told)


def test_two_indexes_of_one_name(call: Runner, stubbed: Stubbed, tmp_path: Path) -> None:
    for name in ("a", "b"):
        tiny.build(tmp_path / name / "i")
    result = call(main, "--index", tmp_path / "a/i", tmp_path / "b/i")
    assert_fault(result, 2, "is called 'i' too; give NAME=")


def test_e9_a_port_that_is_taken(call: Runner, stubbed: Stubbed, tiny_index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = call(main, "--index", tiny_index, "--port", taken.getsockname()[1])
    assert_fault(result, 2, "Address already in use; choose another --port")
    assert not stubbed.loaded  # before anything that takes time


@pytest.mark.parametrize("text", ["", "two words", "ключ", "\x00"])
def test_a_key_that_no_header_holds(
    call: Runner, stubbed: Stubbed, tiny_index: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "key").write_text(text, encoding="utf-8")
    result = call(main, "--index", tiny_index, "--key-file", tmp_path / "key")
    assert_fault(result, 2, "a key is printable ASCII without white space, and not empty")


def test_what_is_not_installed_is_named(
    call: Runner, stubbed: Stubbed, tiny_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seal_ir.server.__main__.find_spec", lambda name: None if name == "mcp" else 1)
    result = call(main, "--index", tiny_index)
    assert_fault(result, 2, "mcp is not installed; get it with: pip install 'seal-ir[server]'")


def test_a_preset_that_does_not_fit_fails_before_it_is_served(tiny_index: Path) -> None:
    searcher = serving.served(tiny_index).searcher
    index = ServedIndex("tiny", "tiny", searcher, {"minder": preset("minder")})
    with pytest.raises(SealError, match="pseudo_queries"):
        tried([index])


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1", ""), ("::1", ""), ("0.0.0.0", "others can reach")])
def test_a_server_that_is_open_to_others_says_so(
    host: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEAL_IR_API_KEY", raising=False)
    assert key_of(parsed(["--index", "any", "--host", host])) is None
    err = capsys.readouterr().err
    assert told in err
    assert bool(told) == bool(err)
    monkeypatch.setenv("SEAL_IR_API_KEY", serving.KEY)
    assert key_of(parsed(["--index", "any", "--host", host])) == serving.KEY
    assert capsys.readouterr().err == ""


def test_indexes_of_one_model_share_it(tiny_index: Path, stubbed: Stubbed) -> None:
    first, second = opened({"a": tiny_index, "b": tiny_index}, {"lm": preset("lm")})
    assert first.searcher.generator is second.searcher.generator
    assert len(stubbed.loaded) == 1
