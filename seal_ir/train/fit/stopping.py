"""Early stopping: an end when the dev loss improves no more, and the weights of its best evaluation.

What is decided depends on the Trainer's log alone, which checkpoints hold: a resumed run decides as an
unbroken one. The best weights lie beside the checkpoints, in `best-STEP`.

transformers' EarlyStoppingCallback does not fit. It takes only metrics called `eval_...`; for the best
weights it needs load_best_model_at_end, which wants checkpoints at evaluations only and a whole model in
them; and its count begins anew in a resumed run unless all callbacks' states are restored.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from seal_ir.errors import UsageError
from seal_ir.train.fit.log import Log, best_step, is_spent
from seal_ir.train.fit.network import TRAINED, load_trained, save_trained
from seal_ir.train.fit.trainer import any_process, bare, checkpoint_folders


class Patience(TrainerCallback):
    """Keeps the weights of the best evaluation, and ends training, with a checkpoint, when patience is spent.

    The first process decides for all: where losses differ in their last bits, it is its log that counts.
    """

    def __init__(self, patience: int, folder: Path) -> None:
        """Args: patience: evaluations without a gain; folder: of the checkpoints."""
        self._patience, self._folder = patience, folder

    def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> Any:
        """Keep the weights if they are the best; ask for the end if patience is spent."""
        log = state.log_history
        if state.is_world_process_zero:
            if best_step(log) == state.global_step:
                save_trained(bare(model), _place(self._folder, state.global_step))
            _delete_unwanted(self._folder, log)
        if any_process(state.is_world_process_zero and is_spent(log, self._patience)):
            control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Drop what was kept for checkpoints that are gone."""
        if state.is_world_process_zero:
            _delete_unwanted(self._folder, state.log_history)


def load_best(model: Any, folder: Path, step: int) -> None:
    """Put the weights of the best evaluation back into the Trainer's model."""
    load_trained(bare(model), _place(folder, step))


def check_resumption(checkpoint: Path, log: Log, patience: int) -> None:
    """Refuse to go on from a checkpoint with its log where patience has nothing to go on with.

    Raises:
        UsageError: patience is spent, or the best weights were not kept.
    """
    best = best_step(log)
    if is_spent(log, patience):
        raise UsageError(
            f"{checkpoint}: the dev loss has not improved for {patience} evaluations, since step {best}; "
            "raise --patience, or leave it out"
        )
    if best is not None and not (_place(checkpoint.parent, best) / TRAINED).is_file():
        raise UsageError(
            f"{checkpoint.parent}: the weights of step {best}, the best so far, were not kept, since the run "
            "went without --patience then; leave it out"
        )


def forget(folder: Path) -> None:
    """Delete what a run left that was killed before its first checkpoint was whole."""
    for path in (*folder.glob("best-*"), *checkpoint_folders(folder)):
        shutil.rmtree(path, ignore_errors=True)  # several processes do it at once


def _place(folder: Path, step: int) -> Path:
    return folder / f"best-{step}"


def _delete_unwanted(folder: Path, log: Log) -> None:
    """Delete weights that are the best neither of all evaluations nor of those before a checkpoint.

    From a checkpoint a run may go on that never comes to a later best.
    """
    checkpoints = [int(path.name.split("-")[1]) for path in checkpoint_folders(folder)]
    steps = [best_step(log, last) for last in (math.inf, *checkpoints)]
    wanted = {_place(folder, step) for step in steps if step is not None}
    for path in folder.glob("best-*"):
        if path not in wanted:
            shutil.rmtree(path)
