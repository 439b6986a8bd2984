"""A training run from a training set to a model folder."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from seal_ir.errors import InputError, UsageError
from seal_ir.lm.load import wire
from seal_ir.text.description import CAUSAL, SEQ2SEQ
from seal_ir.text.pretrained import find_model, load_description, load_tokenizer
from seal_ir.train.data.dataset import further_fields, load_dataset
from seal_ir.train.data.prompts import TrainingPrompts, training_prompts
from seal_ir.train.fit.batches import BatchOptions, TrainingSet
from seal_ir.train.fit.checkpoints import CHECKPOINTS, checkpoint_of
from seal_ir.train.fit.completing import Done, alone_at, checkpoints_in, complete
from seal_ir.train.fit.dev_source import DevSource
from seal_ir.train.fit.encoding import Encoder
from seal_ir.train.fit.log import Log, curves, figures
from seal_ir.train.fit.network import TargetLoss, load_trainable
from seal_ir.train.fit.options import FitOptions, training_arguments
from seal_ir.train.fit.result import draw, save_result, write_report
from seal_ir.train.fit.retrieval import load_dev_set, retrieval_of
from seal_ir.train.fit.stopping import Patience, forget
from seal_ir.train.fit.stream import Material
from seal_ir.train.fit.trainer import Clock, Evaluation, SealTrainer, Told

_DEV_GROUPS = 256  # pairs for the dev loss
_DEV_BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class FitPlan:
    """All that a training run depends on."""

    model: str
    data: Path
    output: Path
    options: FitOptions
    batches: BatchOptions
    dev: DevSource | None = None
    dev_data: Path | None = None


def fit(plan: FitPlan, *, resume: bool) -> Done:
    """Train a model and write it, with its report, into the plan's output folder.

    Raises:
        InputError: the training set, the checkpoint, or what the dev metric needs, cannot be read.
        ModelError: the model cannot be loaded.
        TrainingError: training diverged.
        UsageError: the output folder holds a run and this is no resumption, or the other way round; or it
            cannot be written.
    """
    with alone_at(plan.output):
        checkpoint = checkpoint_of(plan.output, plan.options, resume=resume)
        if checkpoint is None:
            forget(plan.output / CHECKPOINTS)
        training_set, dev_set = _sets(plan)
        session = _Session(plan)
        if int(os.environ.get("RANK", "0")) == 0:
            sys.stderr.write(f"model: {plan.model} on {session.device} in {session.dtype}\n")
        trainer = session.trainer(training_set, dev_set, resumed=checkpoint is not None)
        done = complete(
            session,
            trainer,
            plan.output,
            checkpoint=checkpoint,
            patience=plan.options.patience,
            retrieval=session.retrieval,
        )
        return done._replace(cut=session.material.cut.sentence())


class _Session:
    """The model of a run, with what goes around it."""

    def __init__(self, plan: FitPlan) -> None:
        self.plan, self.files = plan, find_model(plan.model)
        self.dev = load_dev_set(plan.dev) if plan.dev else None
        set_seed(plan.options.seed)
        tokenizer = load_tokenizer(self.files)
        self.network, self.wrapper = load_trainable(self.files, plan.options.lora, half=plan.options.bf16)
        family = SEQ2SEQ if self.network.config.is_encoder_decoder else CAUSAL
        self.prompts = training_prompts(family, load_description(self.files), further_fields(plan.data))
        _check_dev_fields(plan.dev_data, self.prompts)
        self.generator = wire(self.network.eval(), tokenizer, self.prompts.description)
        encoder = Encoder(self.generator, self.prompts, self.network.config.eos_token_id)
        dtype = torch.bfloat16 if plan.options.bf16 else torch.float32
        self.material = Material(self.generator, encoder, self.network, dtype, plan.batches.max_tokens)
        self.on_cpu = not torch.cuda.is_available()
        self.device = "cpu" if self.on_cpu else "cuda"  # where the Trainer puts the network
        self.dtype = "bfloat16" if plan.options.bf16 else "float32"
        self.retrieval: Any = None

    def trainer(self, training_set: TrainingSet, dev_set: TrainingSet, *, resumed: bool) -> Any:
        """The Trainer on the training set's stream, with the dev batches ready."""
        plan, options, material = self.plan, self.plan.options, self.material
        checkpoints = checkpoints_in(plan.output)
        arguments = training_arguments(options, checkpoints, on_cpu=self.on_cpu, resumed=resumed)
        n_batches = options.steps * options.accumulate * arguments.world_size
        longest = min(plan.batches.max_tokens, _DEV_BATCH_TOKENS)
        dev_options = BatchOptions(_DEV_BATCH_TOKENS, targets=1, max_tokens=longest)
        callbacks: list[Any] = [Told(), Clock(options.max_minutes)]
        if options.patience is not None:
            callbacks.append(Patience(options.patience, checkpoints))
        if self.dev is not None:
            every = plan.dev.every if plan.dev and plan.dev.every else options.steps
            self.retrieval = Evaluation(retrieval_of(self.dev, self.network, self.generator), every)
            callbacks.append(self.retrieval)
        return SealTrainer(
            model=TargetLoss(self.network.train(), options.smoothing),
            args=arguments,
            train_dataset=material.stream(training_set, plan.batches, n_batches),
            eval_dataset=[],
            data_collator=lambda items: material.collate(items[0]),
            callbacks=callbacks,
            dev_batches=material.one_pass(dev_set, dev_options),
        )

    def save_model(self) -> None:
        """The model, ready to be searched with."""
        save_result(self.plan.output, self.files, self.network, self.wrapper, self.prompts.description)

    def save_report(self, log: Log, best: int | None) -> None:
        """Settings, figures and curves, beside the model."""
        plan = self.plan
        report = {
            "model": plan.model,
            "data": plan.data.name,
            "options": asdict(plan.options),
            "batches": asdict(plan.batches),
            "device": self.device,
            "dtype": self.dtype,
            "prompts": self.prompts.templates,
            **({"field_prompts": self.prompts.further} if self.prompts.further else {}),
            "best_step": best,
            "figures": figures(log, best),
            "curves": curves(log),
        }
        write_report(plan.output, report)
        draw(log, plan.output, best)


def _sets(plan: FitPlan) -> tuple[TrainingSet, TrainingSet]:
    """The training set and the one of the dev loss: another set, or groups of the same held out."""
    whole = TrainingSet(load_dataset(plan.data))
    source = whole if plan.dev_data is None else TrainingSet(load_dataset(plan.dev_data))
    pool = source.others if len(source.others) else source.unsupervised
    n = min(_DEV_GROUPS, len(pool) // (10 if plan.dev_data is None else 1))
    if n < 1:
        raise InputError(f"{plan.data}: too small to hold pairs out of it for the dev loss; give --dev-data")
    chosen = np.random.default_rng(0).choice(pool, size=n, replace=False)  # the same for every seed
    return whole.without(chosen) if plan.dev_data is None else whole, source.only(chosen)


def _check_dev_fields(dev_data: Path | None, prompts: TrainingPrompts) -> None:
    for field in further_fields(dev_data) if dev_data is not None else ():
        if field not in prompts.further:
            raise UsageError(
                f"{dev_data}: has examples of the field {field!r}, which the model neither has nor learns;"
                " give a --dev-data made with the --fields of --data"
            )
