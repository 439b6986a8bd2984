"""What several test files share: an index of a few documents, and an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiny
from tests.commands import Runner
from tests.stubbed import Stubbed, stubbed_commands


@pytest.fixture(autouse=True)
def _own_cache(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fast test reads or writes the user's cache, or asks a hub; slow ones need the model in there."""
    if request.node.get_closest_marker("slow"):
        return
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def tiny_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an index of `tiny.DOCUMENTS`; tests must not change it."""
    directory = tmp_path_factory.mktemp("shared") / "index"
    tiny.build(directory)
    return directory


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> Stubbed:
    """Encode and search without torch, on the echo model; says what was loaded, and watches batches."""
    return stubbed_commands(monkeypatch)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    """Runs a command's `main` in this process."""
    return Runner(monkeypatch, capsys)
