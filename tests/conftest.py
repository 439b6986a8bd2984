"""What several test files share: an index of a few documents, and an environment of its own."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

from seal_ir.formats.io.resolve import Places
from tests.helpers import tiny
from tests.helpers.commands import Runner
from tests.helpers.stubbed import Stubbed, stubbed_commands
from tests.helpers.tables import write_data

REAL = {"slow", "compare"}  # folders of tests; their slow ones need the pretrained model or Pyserini's files
# No deadlines: a busy machine is no fault. `make test-fast` takes a fifth of the examples.
hypothesis.settings.register_profile("full", deadline=None)
hypothesis.settings.register_profile("fast", deadline=None, max_examples=20)
# A mutant is killed by any example, the smallest is not looked for, and the same are tried each time.
hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    max_examples=20,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.load_profile("full")


def pytest_configure() -> None:
    """Workers that run side by side have one core each; torch reads this when it is first imported."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE")


def pytest_collection_finish() -> None:
    """What was imported stays; passing over it at each collection of garbage takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where sdsl-lite was not there to build `_sdsl`, what asks for that engine is skipped."""
    report = yield
    if report.failed and find_spec("seal_ir._sdsl") is None and call.excinfo is not None:
        told = f"{call.excinfo.value!r}"
        if "the sdsl engine was not built here" in told or "No module named 'seal_ir._sdsl'" in told:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, "Skipped: seal_ir._sdsl was not built")
    return report


@pytest.fixture(autouse=True)
def _own_cache(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test but slow ones in the folders of real models uses the user's cache, or asks a hub."""
    if request.node.get_closest_marker("slow") and request.path.parent.name in REAL:
        return
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def tiny_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an index of `tiny.DOCUMENTS`; tests must not change it."""
    directory = tmp_path_factory.mktemp("shared") / "index"
    tiny.build(directory)
    return directory


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small causal model with random weights; tests must not change it."""
    return tiny.save_llama(tmp_path_factory.mktemp("shared") / "llama")


@pytest.fixture(scope="session")
def long_llama(llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with room for prompts with examples, whose tokens are bytes mostly."""
    folder = tmp_path_factory.mktemp("shared") / "llama"
    shutil.copytree(llama, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = 2048  # rotary: no weight depends on it
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def training_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the training set of tests/helpers/training.py; tests must not change it."""
    from tests.helpers import training

    return training.make_set(tmp_path_factory.mktemp("shared") / "set")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Where tables find their files: the data of tests/helpers/tables.py, below the test's own folder."""
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data")))
    return Places.from_environment()


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> Stubbed:
    """Encode and search without torch, on the echo model; says what was loaded, and watches batches."""
    return stubbed_commands(monkeypatch)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    """Runs a command's `main` in this process."""
    return Runner(monkeypatch, capsys)
