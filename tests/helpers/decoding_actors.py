"""Workers of a Ray cluster whose actors decode with the echo model of tiny.py, and say what they do.

`setup` is called in each by Ray. In the folder of the environment's `SEAL_IR_TEST_ACTORS` a line of `loads`
is a model that was loaded, one of `batches` a batch that was begun, each with its process; the first process
that begins a batch while there is a file `die` removes that and is gone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from seal_ir.errors import ModelError
from seal_ir.lm.protocols import Generator
from tests.helpers.commands import ROOT
from tests.helpers.stubbed import Stubbed, without_torch

FOLDER = "SEAL_IR_TEST_ACTORS"
MISSING = "no-such-model"


def environment(folder: Path) -> dict[str, Any]:
    """What `ray.init` takes as `runtime_env`."""
    return {
        "env_vars": {FOLDER: str(folder), "PYTHONPATH": str(ROOT)},
        "worker_process_setup_hook": "tests.helpers.decoding_actors.setup",
    }


def setup() -> None:
    folder = Path(os.environ[FOLDER])
    stubbed = Stubbed()
    stubbed.before_batch = lambda n: _begin(folder)

    def load(name: str, device: str | None, dtype: str | None) -> Generator:
        if name == MISSING:
            raise ModelError(f"{name}: there is no such model")
        _add(folder / "loads", f"{name} {device} {dtype}")
        return stubbed.load_generator(name, device, dtype)

    without_torch(load)


def processes(file: Path) -> list[int]:
    """Of each line, the process that wrote it."""
    return [int(line.split()[0]) for line in file.read_text(encoding="utf-8").splitlines()]


def _begin(folder: Path) -> None:
    _add(folder / "batches", "")
    try:
        (folder / "die").unlink()
    except FileNotFoundError:
        return
    os._exit(1)


def _add(file: Path, told: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"{os.getpid()} {told}\n")
