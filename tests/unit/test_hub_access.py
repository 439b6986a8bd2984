"""A name of the hub without a network, or offline: one line, in seconds, that says what forbids it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from seal_ir.formats.io import hub_access
from seal_ir.formats.io.hub_access import TIMEOUT_SECONDS, unreachable
from tests.helpers.commands import ROOT

LOADS = {
    "model": "from seal_ir.lm.load import load_generator as load; load('nobody/nothing')",
    "tokenizer": (
        "from seal_ir.text.pretrained import find_model, load_tokenizer as load;"
        "load(find_model('nobody/nothing'))"
    ),
    "network": (
        "import torch; from seal_ir.text.pretrained import find_model;"
        "from seal_ir.lm.load import load_network as load;"
        "load(find_model('nobody/nothing'), torch.float32)"
    ),
    "encoder": "from seal_ir.baselines.dense.encoders import find_encoder as load; load('nobody/nothing')",
    "dataset": (
        "from pathlib import Path; from seal_ir.formats.collections.hub import read_dataset as load;"
        "list(load(Path('nobody/nothing')))"
    ),
}
# Each load in a process of its own, which finds the libraries imported.
PROGRAM = """
import json, os, sys, time
import datasets, huggingface_hub
import seal_ir.baselines.dense.encoders, seal_ir.lm.load, seal_ir.formats.collections.hub
from seal_ir.errors import SealError
for name, load in json.loads(sys.argv[1]).items():
    child = os.fork()
    if not child:
        begun = time.monotonic()
        try:
            exec(load)
        except SealError as error:
            print(json.dumps([name, time.monotonic() - begun, str(error)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def failures(loads: Iterable[str], hub: Path, **environment: str) -> dict[str, tuple[float, str]]:
    """Seconds until each load fails, and what it says."""
    own = {name: value for name, value in os.environ.items() if "OFFLINE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps({load: LOADS[load] for load in loads})],
        env=own | {"HF_HOME": str(hub), "no_proxy": "127.0.0.1"} | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    found = {name: (seconds, message) for name, seconds, message in lines}
    assert found.keys() == set(loads), done.stderr
    return found


class Hanging:
    """A server that takes connections, counts them, and never answers."""

    def __init__(self, server: socket.socket) -> None:
        self.address = f"http://127.0.0.1:{server.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        self._server = server

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                self.connections.append(self._server.accept()[0])


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Hanging(server)
        thread = threading.Thread(target=found.serve)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in found.connections:
        connection.close()


def nobody() -> str:
    """An address that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, str]]:
    return failures(LOADS, tmp_path_factory.mktemp("hub"), HF_HUB_OFFLINE="1")


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, tuple[float, str]]]:
    """An address, and how loads from there fail."""
    address = nobody()
    return address, failures(LOADS, tmp_path_factory.mktemp("hub"), HF_ENDPOINT=address)


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_e5_j6_offline_a_hub_name_is_refused_with_the_setting(
    offline: dict[str, tuple[float, str]], load: str
) -> None:
    _, message = offline[load]
    assert "nobody/nothing" in message
    assert "HF_HUB_OFFLINE=1 forbids asking the hub" in message
    assert "\n" not in message


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_e5_j6_without_a_network_a_hub_name_fails_in_seconds(
    unanswered: tuple[str, dict[str, tuple[float, str]]], load: str
) -> None:
    address, found = unanswered
    seconds, message = found[load]
    assert seconds < 15
    assert f"{address} does not answer" in message
    assert "\n" not in message


@pytest.mark.slow
def test_a_network_that_hangs_is_asked_once_and_given_up_in_seconds(tmp_path: Path, hanging: Hanging) -> None:
    ((seconds, message),) = failures(["model"], tmp_path, HF_ENDPOINT=hanging.address).values()
    assert seconds < TIMEOUT_SECONDS + 10
    assert len(hanging.connections) == 1
    assert f"{hanging.address} does not answer" in message


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"])
def test_every_setting_that_forbids_the_hub_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for other in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "true")
    assert unreachable() == f"{name}=true forbids asking the hub; unset it"


def answered(monkeypatch: pytest.MonkeyPatch, status: bytes) -> tuple[str, str]:
    """The address of a hub that answers its first question with a status, and why it cannot be asked."""
    from huggingface_hub import constants

    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        started = time.monotonic()
        told = unreachable()
        assert time.monotonic() - started < TIMEOUT_SECONDS
        thread.join()
    return address, told


@pytest.mark.parametrize("status", [b"200 OK", b"401 Unauthorized", b"404 Not Found"])
def test_a_hub_that_answers_anything_is_reachable(monkeypatch: pytest.MonkeyPatch, status: bytes) -> None:
    """Its own words about a model, such as that there is none, are better than ours."""
    assert answered(monkeypatch, status)[1] == ""


@pytest.mark.parametrize("status", [b"407 Proxy", b"429 Many", b"500 Error", b"503 Unavailable", b"504 Late"])
def test_a_hub_that_would_be_asked_again_for_a_minute_is_not(
    monkeypatch: pytest.MonkeyPatch, status: bytes
) -> None:
    """Its client tries six times where a server, or a proxy before it, answers so."""
    address, told = answered(monkeypatch, status)
    assert told == (
        f"{address} answers {status[:3].decode()}; check the network and its proxies, or try again later"
    )


def test_a_hub_whose_name_is_looked_for_in_vain_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timeout of a connection counts while the system looks for its address."""
    from huggingface_hub import constants

    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    found = threading.Event()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_access, "DEADLINE_SECONDS", 0.05)
    monkeypatch.setattr(hub_access, "_status", lambda session, endpoint: found.wait(30))
    started = time.monotonic()
    assert "does not answer (nothing in 0 s)" in unreachable()
    assert time.monotonic() - started < 10
    found.set()


@pytest.mark.slow
def test_a_model_in_the_cache_needs_no_network(tmp_path: Path, llama: Path) -> None:
    """It is loaded in seconds, with what the cache has."""
    repository = tmp_path / "hub" / "hub" / "models--some--body"
    snapshot = repository / "snapshots" / ("a" * 40)
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    snapshot.mkdir(parents=True)
    for path in llama.iterdir():
        (snapshot / path.name).write_bytes(path.read_bytes())
    program = (
        "from seal_ir.lm.load import load_generator; import time; started = time.monotonic();"
        "load_generator('some/body', 'cpu'); print(time.monotonic() - started)"
    )
    own = {name: value for name, value in os.environ.items() if "OFFLINE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=own | {"HF_HOME": str(tmp_path / "hub"), "no_proxy": "127.0.0.1", "HF_ENDPOINT": nobody()},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout.split()[-1]) < 15
