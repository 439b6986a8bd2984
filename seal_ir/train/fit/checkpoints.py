"""Which checkpoint a run goes on from, and whether it is whole: with a part of one it is another run."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import shown
from seal_ir.structured import load_json
from seal_ir.train.fit.log import curves
from seal_ir.train.fit.network import read_trained
from seal_ir.train.fit.options import FitOptions
from seal_ir.train.fit.stopping import check_resumption
from seal_ir.train.fit.trainer import checkpoint_folders

CHECKPOINTS = "checkpoints"  # folder of them in that of a run
_STATE = "trainer_state.json"  # written last: it is what marks a checkpoint as complete
# What a damaged archive shows as, by where the damage is: a flag of its directory, or the packed bytes.
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)


def checkpoint_of(
    output: Path, options: FitOptions, *, resume: bool, description: str = "seal.json"
) -> Path | None:
    """The checkpoint to go on from; None for a run that starts at step 0.

    A run that died before its first checkpoint was whole starts anew, with `resume` or without.

    Args:
        output: folder of the run.
        options: of the run that begins.
        resume: whether it goes on.
        description: the file that is written last, so that a folder with it holds a model.

    Raises:
        InputError: the checkpoint is damaged, or a part of it is missing.
        UsageError: the folder holds a run and this is no resumption, or there is nothing to go on with.
    """
    found = checkpoint_folders(output / CHECKPOINTS)
    complete = [path for path in found if (path / _STATE).is_file()]
    finished = (output / description).is_file()
    if not complete and finished:
        raise UsageError(f"{output}: holds a model, and no checkpoint to go on from; name another --output")
    if not resume and complete:
        raise UsageError(f"{output}: holds a training run; add --resume, or name another --output")
    if resume and not (output / CHECKPOINTS).is_dir():
        raise UsageError(f"{output}: has no checkpoint to go on from; leave out --resume")
    if not complete:
        if resume and os.environ.get("RANK", "0") == "0":
            sys.stderr.write(f"{output}: the run ended before its first checkpoint; it starts anew\n")
        return None
    _check_resumable(complete, options)
    return complete[-1]


def _check_resumable(complete: list[Path], options: FitOptions) -> None:
    last = complete[-1]
    try:
        state = _state(last / _STATE)
        read_trained(last)
        for name in ("optimizer.pt", "scheduler.pt", _random_state()):
            _check_archive(last / name)
    except InputError as error:
        rest = f"to go on from {complete[-2].name}" if len(complete) > 1 else "and train anew"
        raise InputError(f"{error}; remove {last} {rest}") from error
    if state["global_step"] >= options.steps:
        raise UsageError(f"{last}: is at step {state['global_step']}, of {options.steps}; raise --steps")
    if options.patience is not None:
        check_resumption(last, state["log_history"], options.patience)


def _state(path: Path) -> dict[str, Any]:
    """The Trainer's record of the run so far."""
    try:
        state = load_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cut or damaged ({error})") from error
    if (
        not isinstance(state, dict)
        or not isinstance(state.get("global_step"), int)
        or not isinstance(state.get("log_history"), list)
    ):
        raise InputError(f"{path}: no state of a training run: {shown(state)}")
    try:
        curves(state["log_history"])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{path}: no log of a training run: {shown(state['log_history'])}") from error
    return state


def _random_state() -> str:
    """The file of this process's generators of random numbers; `torchrun` sets both variables."""
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    return f"rng_state_{os.environ.get('RANK', '0')}.pth" if several else "rng_state.pth"


def _check_archive(path: Path) -> None:
    """Refuse an archive of torch's that is missing, empty or cut, or fails its checksums; nothing is run."""
    if not path.is_file():
        raise InputError(f"{path}: missing; without it the run would not go on as it began")
    try:
        with zipfile.ZipFile(path) as archive:
            spoiled = archive.testzip()
    except _DAMAGED as error:
        raise InputError(f"{path}: cut or damaged ({error})") from error
    if spoiled is not None:
        raise InputError(f"{path}: damaged ({shown(spoiled)} fails its checksum)")
