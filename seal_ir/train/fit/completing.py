"""A run from its first step, or a checkpoint, to the model and its report; what is trained is a session's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.outputs import alone_in
from seal_ir.train.fit.checkpoints import CHECKPOINTS
from seal_ir.train.fit.log import Log, best_step, figures, is_spent
from seal_ir.train.fit.stopping import load_best
from seal_ir.train.fit.trainer import Evaluation


class Done(NamedTuple):
    """How a run ended.

    Attributes:
        step: the last one.
        figures: every figure's value for the model that was written.
        best_step: whose weights were written; None without patience, which writes the last step's.
        spent: whether patience was the reason.
        cut: how many prompts were cut to what the model reads, each time that they were read; "" for none.
    """

    step: int
    figures: dict[str, float]
    best_step: int | None
    spent: bool
    cut: str = ""


class Session(Protocol):
    """The model of a run, with what goes around it."""

    def save_model(self) -> None:
        """Write the model into the run's folder."""

    def save_report(self, log: Log, best: int | None) -> None:
        """Write settings, figures and curves beside it."""


@contextmanager
def alone_at(output: Path) -> Iterator[None]:
    """The folder of a run for this run alone; of its processes the first one sees to that.

    Raises:
        UsageError: another run is at it, or it cannot be written.
    """
    if os.environ.get("RANK", "0") != "0":  # `torchrun` says which process this is
        yield
        return
    with alone_in(output, "training"):
        yield


def checkpoints_in(output: Path) -> Path:
    """The folder of a run's checkpoints, made before hours of work.

    Raises:
        UsageError: it cannot be written.
    """
    checkpoints = output / CHECKPOINTS
    with writing(output):
        checkpoints.mkdir(parents=True, exist_ok=True)
    return checkpoints


def complete(
    session: Session,
    trainer: Any,
    output: Path,
    *,
    checkpoint: Path | None,
    patience: int | None,
    retrieval: Evaluation | None = None,
) -> Done:
    """Train to the end, and write the model with its report.

    Args:
        session: the model, in the main process the one that is written.
        trainer: see `SealTrainer`.
        output: folder of the run.
        checkpoint: to go on from; None for step 0.
        patience: evaluations without a lower dev loss that end the run; None for all steps.
        retrieval: the dev metric, measured once more of what is written.

    Raises:
        TrainingError: training diverged.
        UsageError: the folder cannot be written.
    """
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    log, last = trainer.state.log_history, int(trainer.state.global_step)
    spent = is_spent(log, patience)
    trainer.evaluate()
    best = None if patience is None else best_step(log)
    if trainer.is_world_process_zero():
        if best not in (None, last):
            load_best(trainer.model, output / CHECKPOINTS, best)
        session.save_model()
    if retrieval is not None:
        retrieval.measure(trainer.state, best)
    if trainer.is_world_process_zero():
        session.save_report(log, best)
    # Several processes end together: one whose threads still wait for the others aborts as it exits.
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()
    return Done(last, figures(log, best), best, spent)
