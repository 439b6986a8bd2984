"""The Trainer: batches by tokens, small checkpoints, a dev loss in nats a token, an end in time."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import SequentialSampler
from transformers import PrinterCallback, Trainer, TrainerCallback

from seal_ir.formats.io.disk import writing
from seal_ir.train.fit.divergence import SoundWeights, Watch
from seal_ir.train.fit.log import DEV_LOSS, is_retrieval
from seal_ir.train.fit.network import TargetLoss, load_trained, save_trained

_CHECKPOINT = "checkpoint-"  # and the step: the Trainer's name of a checkpoint's folder
_NOT_TOLD = ("epoch", "total_flos")
Retrieval = Callable[[], dict[str, float]]


class SealTrainer(Trainer):
    """Trains a `TargetLoss` on a `BatchStream`."""

    def __init__(self, *, dev_batches: list[dict[str, torch.Tensor]], **options: Any) -> None:
        """Args: dev_batches: collated batches for the dev loss; options: of the Trainer."""
        super().__init__(**options)
        self.remove_callback(PrinterCallback)  # it writes to stdout
        self._dev_batches = dev_batches
        self._watch = Watch(self.args.learning_rate)
        self.add_callback(SoundWeights(self._watch))

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The model's own loss.

        Raises:
            TrainingError: it is no finite number.
        """
        outputs = model(**inputs)
        self._watch.loss(float(outputs["loss"].detach()), self.state.global_step + 1)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def _clip_grad_norm(self, model: Any) -> Any:
        clip: Any = super()._clip_grad_norm
        norm = clip(model)
        self._watch.check("norm of the gradient", float(norm), self.state.global_step + 1)
        return norm

    def log(self, logs: dict[str, float], *more: Any, **options: Any) -> None:
        """Keep and tell figures.

        Raises:
            TrainingError: one is no finite number.
        """
        for name, value in logs.items():
            self._watch.check(name, value, self.state.global_step)
        super().log(logs, *more, **options)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """-log P of the dev set's target tokens, a mean over tokens, without smoothing or dropout.

        Logged under `DEV_LOSS`, once a step. In training callbacks are told of it; what is measured after
        the end is in no checkpoint, and no decision may rest on it.
        """
        for entry in reversed(self.state.log_history):
            if DEV_LOSS in entry and entry["step"] == self.state.global_step:
                return {DEV_LOSS: entry[DEV_LOSS]}
        model: Any = self.model
        model.eval()
        nats = n_targets = 0.0
        with torch.no_grad(), self.compute_loss_context_manager():
            for batch in self._dev_batches:
                inputs = self._prepare_inputs(dict(batch))
                nats += float(model(**inputs)["nats"])
                n_targets += len(batch["target"])
        model.train()
        metrics = {DEV_LOSS: nats / n_targets}
        self.log(metrics)
        if self.is_in_train:
            self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _get_train_sampler(self, *_: Any, **__: Any) -> Any:
        stream: Any = self.train_dataset
        return SequentialSampler(stream)  # it is shuffled already

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        if self.args.should_save:  # every process of a `torchrun` comes here; one writes
            save_trained(bare(self.model), Path(output_dir or self.args.output_dir or "."))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write a checkpoint whole, or none: what a full disk left of it is removed."""
        folder = Path(self.args.output_dir or ".") / f"{_CHECKPOINT}{self.state.global_step}"
        try:
            with writing(folder):
                super()._save_checkpoint(model, trial)
        except BaseException:
            if self.args.should_save:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_trained(bare(model or self.model), Path(resume_from_checkpoint))


class Clock(TrainerCallback):
    """Ends training, with a checkpoint, when its time is up; at a step that is a multiple of `every`."""

    def __init__(self, minutes: float | None, every: int = 1) -> None:
        self._deadline = None if minutes is None else time.monotonic() + 60 * minutes
        self._every = every

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Ask for a checkpoint and the end."""
        if self._deadline is None or state.global_step % self._every:
            return control
        if any_process(time.monotonic() >= self._deadline):
            control.should_save = control.should_training_stop = True
        return control


class Told(TrainerCallback):
    """A line on stderr for whatever is logged, with the rate of steps and the time left."""

    def __init__(self) -> None:
        self._started, self._first = time.monotonic(), 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Count from here, which after a resumption is not step 0."""
        self._started, self._first = time.monotonic(), state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Print the line."""
        if state.is_world_process_zero and logs and "train_runtime" not in logs:
            seconds = (time.monotonic() - self._started) / max(1, state.global_step - self._first)
            left = seconds * (state.max_steps - state.global_step) / 60
            rate = f" ({seconds:.1f} s a step, {left:.0f} min left)"
            _tell(state.global_step, state.max_steps, logs, rate)


class Evaluation(TrainerCallback):
    """Searches the dev questions before the first step and every so many steps, in the first process only.

    What it finds goes straight into the log's history: the Trainer's own `log` takes a log in the middle of
    a step for the one that is due at its end.
    """

    def __init__(self, retrieval: Retrieval, every: int) -> None:
        self._retrieval, self._every = retrieval, every

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measure the model as it is before its first step."""
        if state.global_step == 0:
            self.measure(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measure when it is time."""
        if state.global_step % self._every == 0:
            self.measure(state)

    def measure(self, state: Any, step: int | None = None) -> None:
        """Measure the weights as they are, those of a step (the last one), unless it was done at it."""
        step = state.global_step if step is None else step
        done = any(is_retrieval(entry) and entry["step"] == step for entry in state.log_history)
        if state.is_world_process_zero and not done:
            values = self._retrieval()
            state.log_history.append({**values, "step": step})
            _tell(step, state.max_steps, values)


def checkpoint_folders(folder: Path) -> list[Path]:
    """The checkpoints in a folder, whole or not, by their steps."""
    found = [path for path in folder.glob(f"{_CHECKPOINT}*") if path.name[len(_CHECKPOINT) :].isdecimal()]
    return sorted(found, key=lambda path: int(path.name[len(_CHECKPOINT) :]))


def any_process(flag: bool) -> bool:
    """Whether the flag is set in any process of the run; all of them must end at the same step."""
    if not torch.distributed.is_initialized():
        return flag
    shared = torch.tensor(float(flag), device="cuda" if torch.cuda.is_available() else "cpu")
    torch.distributed.all_reduce(shared, op=torch.distributed.ReduceOp.MAX)
    return bool(shared.item())


def _tell(step: int, n_steps: int, values: Mapping[str, Any], end: str = "") -> None:
    shown = " ".join(f"{name}={value:.4g}" for name, value in values.items() if name not in _NOT_TOLD)
    sys.stderr.write(f"step {step}/{n_steps} {shown}{end}\n")
    sys.stderr.flush()


def bare(model: Any) -> TargetLoss:
    """The model without what several processes wrap it in."""
    found: TargetLoss = getattr(model, "module", model)
    return found
