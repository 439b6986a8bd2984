"""Options of a training run, frozen, and what transformers is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How to train (defaults: the paper's, section 4.2, but for the number of steps).

    Attributes:
        steps: updates of the weights; the learning rate falls to 0 at the last (paper: 800,000).
        learning_rate: highest; after the warm-up (paper: 3e-5; LoRA wants about ten times as much).
        warmup: steps over which it rises.
        smoothing: of the labels.
        weight_decay: AdamW's.
        clip: largest norm of the gradient.
        accumulate: batches of each update and process.
        lora: rank of the adapter; 0 trains all weights.
        bf16: compute in bfloat16, and keep frozen weights in it.
        seed: of all that is random.
        save_steps: steps between checkpoints.
        eval_steps: steps between dev losses (paper: 15,000).
        patience: end when so many dev losses in a row are no better than the best before, and take that
            one's weights (paper: 5); None trains all steps and takes the last weights.
        log_steps: steps between lines of progress.
        max_minutes: end after so many minutes, with a checkpoint; None for no limit.
    """

    steps: int = 10_000
    learning_rate: float = 3e-5
    warmup: int = 500
    smoothing: float = 0.1
    weight_decay: float = 0.01
    clip: float = 0.1
    accumulate: int = 1
    lora: int = 0
    bf16: bool = False
    seed: int = 0
    save_steps: int = 500
    eval_steps: int = 500
    patience: int | None = None
    log_steps: int = 20
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, steps=1, accumulate=1, lora=0, seed=0, warmup=0)
        check_least(self, save_steps=1, eval_steps=1, log_steps=1)
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not 0 <= self.smoothing < 1:
            raise UsageError(f"smoothing is {self.smoothing}; it must lie in [0, 1)")
        if self.patience is not None:
            check_least(self, patience=1)
        if self.max_minutes is not None and not self.max_minutes > 0:
            raise UsageError(f"max_minutes is {self.max_minutes}; it must be above 0")


def training_arguments(
    options: FitOptions, folder: Path, *, on_cpu: bool, resumed: bool, dev_losses: bool = True
) -> Any:
    """The Trainer's arguments; checkpoints go below the folder."""
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=str(folder),
        max_steps=options.steps,
        learning_rate=options.learning_rate,
        warmup_steps=min(options.warmup, options.steps // 2),
        lr_scheduler_type="polynomial",
        lr_scheduler_kwargs={"power": 1.0, "lr_end": 0.0},
        weight_decay=options.weight_decay,
        max_grad_norm=options.clip,
        gradient_accumulation_steps=options.accumulate,
        per_device_train_batch_size=1,  # an item of the stream is a batch
        bf16=options.bf16,
        use_cpu=on_cpu,
        seed=options.seed,
        save_steps=options.save_steps,
        save_total_limit=2,
        eval_strategy="steps" if dev_losses else "no",
        eval_on_start=dev_losses and not resumed,  # a resumed run evaluates where an unbroken one does
        eval_steps=options.eval_steps,
        logging_steps=options.log_steps,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=not on_cpu,
        ddp_find_unused_parameters=False,
    )
