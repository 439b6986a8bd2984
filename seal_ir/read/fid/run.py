"""A run of training a reader, from a retrieval run to a model folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import set_seed

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import atomic_writer
from seal_ir.read.contexts import IndexPassages
from seal_ir.read.fid.batches import Batches, Material
from seal_ir.read.fid.description import FID_JSON, FidDescription
from seal_ir.read.fid.fusion import FusionInDecoder
from seal_ir.read.fid.loading import parts_of, within
from seal_ir.read.fid.options import ReadFitOptions
from seal_ir.read.fid.questions import FitSources, read_fit_questions
from seal_ir.text.pretrained import find_model
from seal_ir.train.fit.checkpoints import CHECKPOINTS, checkpoint_of
from seal_ir.train.fit.completing import Done, alone_at, checkpoints_in, complete
from seal_ir.train.fit.log import Log, curves, figures
from seal_ir.train.fit.network import TargetLoss, load_trainable
from seal_ir.train.fit.options import FitOptions, training_arguments
from seal_ir.train.fit.result import draw, save_network, write_report
from seal_ir.train.fit.stopping import Patience, forget
from seal_ir.train.fit.trainer import Clock, SealTrainer, Told


@dataclass(frozen=True, slots=True)
class ReadFitPlan:
    """All that a run depends on."""

    model: str
    index: Path
    sources: FitSources
    output: Path
    fit: FitOptions
    read: ReadFitOptions


def fit(plan: ReadFitPlan, *, resume: bool) -> Done:
    """Train a reader and write it, with its report, into the plan's output folder.

    The loss is -log P(answer | question, passages) a token, as in docs/reading.md.

    Raises:
        IndexDirError: there is no sound index.
        InputError: the questions or the checkpoint cannot be read, or no question is left.
        ModelError: the model cannot be loaded, or is no encoder-decoder model.
        TrainingError: training diverged.
        UsageError: the output folder holds a run and this is no resumption, or the other way round; or it
            cannot be written.
    """
    with alone_at(plan.output):
        checkpoint = checkpoint_of(plan.output, plan.fit, resume=resume, description=FID_JSON)
        if checkpoint is None:
            forget(plan.output / CHECKPOINTS)
        session = _Session(plan)
        trainer = session.trainer(resumed=checkpoint is not None)
        return complete(session, trainer, plan.output, checkpoint=checkpoint, patience=plan.fit.patience)


class _Session:
    """The model of a run, with what goes around it."""

    def __init__(self, plan: ReadFitPlan) -> None:
        self.plan, self.files = plan, find_model(plan.model)
        passages = IndexPassages(plan.index)
        questions = read_fit_questions(plan.sources, passages, plan.read.contexts)
        set_seed(plan.fit.seed)
        self.network, self.wrapper = load_trainable(self.files, plan.fit.lora, half=plan.fit.bf16)
        parts = parts_of(self.network, self.files)
        if parts.description.cross_attention_bias and plan.fit.lora:
            raise UsageError(f"{plan.model}: no adapter holds its cross_attention_bias; leave out --lora")
        self.description = _described(self.network, parts.description, plan.read)
        self.material = Material(questions, passages, parts._replace(description=self.description))
        self.on_cpu = not torch.cuda.is_available()
        self.where = {
            "device": "cpu" if self.on_cpu else "cuda",
            "dtype": "bfloat16" if plan.fit.bf16 else "float32",
        }
        if int(os.environ.get("RANK", "0")) == 0:
            sys.stderr.write(f"model: {plan.model} on {self.where['device']} in {self.where['dtype']}\n")

    def trainer(self, *, resumed: bool) -> Any:
        """The Trainer on the run's batches, with those of the dev loss ready."""
        plan, options = self.plan, self.plan.fit
        training, dev_batches = self.material.held_out()
        checkpoints = checkpoints_in(plan.output)
        if plan.read.recompute:
            _recompute(self.network)
        arguments = training_arguments(options, checkpoints, on_cpu=self.on_cpu, resumed=resumed)
        n_batches = options.steps * options.accumulate * arguments.world_size
        callbacks: list[Any] = [Told(), Clock(options.max_minutes)]
        if options.patience is not None:
            callbacks.append(Patience(options.patience, checkpoints))
        return SealTrainer(
            model=TargetLoss(FusionInDecoder(self.network.train()), options.smoothing),
            args=arguments,
            train_dataset=Batches(self.material, training, n_batches, plan.read.questions, options.seed),
            eval_dataset=[],
            data_collator=lambda items: items[0],
            callbacks=callbacks,
            dev_batches=dev_batches,
        )

    def save_model(self) -> None:
        """The model, ready to read; `fid.json` comes last."""
        save_network(self.plan.output, self.files, self.network, self.wrapper)
        with atomic_writer(self.plan.output / FID_JSON) as file:
            file.write(self.description.to_json())

    def save_report(self, log: Log, best: int | None) -> None:
        """Settings, figures and curves, beside the model."""
        plan = self.plan
        report: Mapping[str, Any] = {
            "model": plan.model,
            "index": plan.index.name,
            "run": plan.sources.run.name,
            "questions": len(self.material.questions),
            "options": asdict(plan.fit),
            "read": asdict(plan.read),
            **self.where,
            "best_step": best,
            "figures": figures(log, best),
            "curves": curves(log),
        }
        write_report(plan.output, dict(report))
        draw(log, plan.output, best)


def _recompute(network: Any) -> None:
    """Let layers be computed again for the gradient, by the name that this transformers has for it."""
    enable = getattr(network, "activation_checkpointing_enable", network.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


def _described(network: Any, description: FidDescription, options: ReadFitOptions) -> FidDescription:
    """What the trained model will say of itself: as before, but for what was asked for here."""
    asked = {name: getattr(options, name) for name in ("contexts", "passage_tokens", "answer_tokens")}
    changes = {name: value for name, value in asked.items() if value is not None}
    return within(network, replace(description, **changes))
