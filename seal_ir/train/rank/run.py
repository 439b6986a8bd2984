"""A run of rank training, from questions and an index to a model folder."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import set_seed

from seal_ir.config import SearchConfig
from seal_ir.errors import UsageError
from seal_ir.index.reader import Index
from seal_ir.index.registry import opened
from seal_ir.lm.load import wire
from seal_ir.lm.protocols import Generator
from seal_ir.search.model import check_tokenizer
from seal_ir.text.description import CAUSAL, SEQ2SEQ, TEMPLATES
from seal_ir.text.pretrained import find_model, load_description, load_tokenizer
from seal_ir.train.fit.checkpoints import CHECKPOINTS, checkpoint_of
from seal_ir.train.fit.completing import alone_at, checkpoints_in
from seal_ir.train.fit.dev_source import DevSource
from seal_ir.train.fit.log import curves, figures
from seal_ir.train.fit.network import load_trainable
from seal_ir.train.fit.options import FitOptions, training_arguments
from seal_ir.train.fit.result import draw, save_result, write_report
from seal_ir.train.fit.retrieval import load_dev_set, retrieval_of
from seal_ir.train.fit.stopping import forget
from seal_ir.train.fit.stream import collation
from seal_ir.train.fit.trainer import Clock, Evaluation, Told
from seal_ir.train.rank.loss import RankLoss
from seal_ir.train.rank.options import RankOptions
from seal_ir.train.rank.questions import QuestionSources, read_questions
from seal_ir.train.rank.rounds import Rounds
from seal_ir.train.rank.trainer import Positions, RankTrainer

_LONGEST = 1024  # tokens of a prompt with what is written after it


@dataclass(frozen=True, slots=True)
class RankPlan:
    """All that a run depends on."""

    model: str
    index: Path
    sources: QuestionSources
    config: SearchConfig
    output: Path
    fit: FitOptions
    rank: RankOptions
    dev: DevSource | None = None


class Done(NamedTuple):
    """How a run ended: the last step, and every figure's value for the model that was written."""

    step: int
    figures: dict[str, float]


def train(plan: RankPlan, *, resume: bool) -> Done:
    """Train a model so that the keys that it writes rank, and write it with its report.

    Raises:
        IndexDirError: there is no sound index.
        InputError: questions, a checkpoint, or what the dev metric needs, cannot be read.
        ModelError: the model cannot be loaded, or has another tokenizer than the index.
        TrainingError: training diverged.
        UsageError: the output folder holds a run and this is no resumption, or the other way round; it
            cannot be written; or the settings score otherwise than by the sum that is trained.
    """
    check_config(plan.config)
    options = aligned(plan.fit, plan.rank)
    with alone_at(plan.output):
        checkpoint = checkpoint_of(plan.output, options, resume=resume)
        if checkpoint is None:
            forget(plan.output / CHECKPOINTS)
        session = _Session(plan, options)
        trainer = session.trainer(resumed=checkpoint is not None)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        log, last = trainer.state.log_history, int(trainer.state.global_step)
        if trainer.is_world_process_zero():
            session.save_model()
        session.measure(trainer)
        if trainer.is_world_process_zero():
            session.save_report(trainer.model, log)
        trainer.accelerator.wait_for_everyone()
        trainer.accelerator.end_training()
        return Done(last, figures(log, None))


def check_config(config: SearchConfig) -> None:
    """Refuse settings whose score is not the sum that is trained.

    Raises:
        UsageError: it is another one, or keys are written without the constraint or read twice.
    """
    if (config.rank.score, config.rank.weight) != ("intersective", "lm-fm") or config.slow_path:
        raise UsageError(
            f"preset {config.preset!r} does not rank by the sum of keys' weights; train with one whose score"
            " is 'intersective'"
        )
    if config.decode.rescore or not config.decode.constrained:
        raise UsageError("rank training needs keys written under the constraint, once: no rescore")


def aligned(options: FitOptions, rank: RankOptions) -> FitOptions:
    """The same with checkpoints at ends of rounds, where keys are made anew."""
    rounds = -(-options.save_steps // rank.refresh)
    return replace(options, save_steps=rounds * rank.refresh, seed=rank.seed)


class _Session:
    """The model of a run, with what goes around it."""

    def __init__(self, plan: RankPlan, options: FitOptions) -> None:
        self.plan, self.options, self.files = plan, options, find_model(plan.model)
        self.index: Index = opened(plan.index)
        self.dev = load_dev_set(plan.dev) if plan.dev else None
        self.questions = read_questions(plan.sources, self.index)
        set_seed(plan.rank.seed)
        self.tokenizer = load_tokenizer(self.files)
        check_tokenizer(self.index, self.tokenizer)
        self.network, self.wrapper = load_trainable(self.files, options.lora, half=options.bf16)
        family = SEQ2SEQ if self.network.config.is_encoder_decoder else CAUSAL
        self.description = load_description(self.files) or TEMPLATES[family]
        self.generator = wire(self.network.eval(), self.tokenizer, self.description)
        self.on_cpu = not torch.cuda.is_available()
        self.dtype = "bfloat16" if options.bf16 else "float32"
        self.retrieval: Evaluation | None = None
        if int(os.environ.get("RANK", "0")) == 0:
            device = "cpu" if self.on_cpu else "cuda"
            sys.stderr.write(f"model: {plan.model} on {device} in {self.dtype}\n")

    def wired(self) -> Generator:
        """The network as it is, ready to decode; what a model keeps of prompts is kept for a round only."""
        return wire(self.network, self.tokenizer, self.description)

    def rounds(self, n_processes: int) -> Rounds:
        """The steps of this process."""

        def decoding() -> Generator:
            self.network.eval()
            return self.wired()

        plan = self.plan
        return Rounds(self.questions, self.index, plan.config, plan.rank, decoding, n_processes=n_processes)

    def trainer(self, *, resumed: bool) -> Any:
        """The Trainer on the run's steps."""
        plan, options = self.plan, self.options
        checkpoints = checkpoints_in(plan.output)
        arguments = training_arguments(
            options, checkpoints, on_cpu=self.on_cpu, resumed=resumed, dev_losses=False
        )
        callbacks: list[Any] = [Told(), Clock(options.max_minutes, plan.rank.refresh)]
        if self.dev is not None:
            every = plan.dev.every if plan.dev and plan.dev.every else options.steps
            measure = retrieval_of(self.dev, self.network, self.generator, plan.config)
            self.retrieval = Evaluation(measure, every)
            callbacks.append(self.retrieval)
        dtype = torch.bfloat16 if options.bf16 else torch.float32
        return RankTrainer(
            model=RankLoss(self.network.train(), options.smoothing, plan.rank),
            args=arguments,
            train_dataset=Positions(options.steps * arguments.world_size),
            data_collator=lambda items: {"position": torch.tensor(items[0])},
            callbacks=callbacks,
            rounds=self.rounds(arguments.world_size),
            collate=collation(self.generator, self.network, dtype, _LONGEST),
        )

    def measure(self, trainer: Any) -> None:
        """The dev retrieval metric, where one was asked for."""
        if self.retrieval is not None:
            self.retrieval.measure(trainer.state)

    def save_model(self) -> None:
        """The model, ready to be searched with."""
        save_result(self.plan.output, self.files, self.network, self.wrapper, self.description)

    def save_report(self, model: Any, log: list[dict[str, Any]]) -> None:
        """Settings, figures and curves, beside the model."""
        plan = self.plan
        trained: RankLoss = getattr(model, "module", model)
        report = {
            "model": plan.model,
            "index": plan.index.name,
            "questions": len(self.questions),
            "options": asdict(self.options),
            "rank": asdict(plan.rank),
            "search": plan.config.to_dict(),
            "device": "cpu" if self.on_cpu else "cuda",
            "dtype": self.dtype,
            "temperature": float(trained.log_temperature.detach().exp()),
            "figures": figures(log, None),
            "curves": curves(log),
        }
        write_report(plan.output, report)
        draw(log, plan.output)
