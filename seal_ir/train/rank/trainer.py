"""The Trainer of rank training: a step's batch is made when the step comes, by the model as it is then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import Dataset

from seal_ir.train.fit.batches import Group
from seal_ir.train.fit.log import RANK_LOSS
from seal_ir.train.fit.trainer import SealTrainer
from seal_ir.train.rank.rounds import Rounds

Collate = Callable[[list[Group]], dict[str, torch.Tensor]]


class Positions(Dataset[int]):
    """The numbers of a run's steps: the Trainer fetches ahead, batches are made in their time."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        """Number of steps of all processes."""
        return self._n

    def __getitem__(self, position: int) -> int:
        """The position itself."""
        if not 0 <= position < self._n:
            raise IndexError(position)
        return position


class RankTrainer(SealTrainer):
    """Trains a `RankLoss` on `Rounds`."""

    def __init__(self, *, rounds: Rounds, collate: Collate, **options: Any) -> None:
        """Args: rounds: the steps; collate: a step's sequences as tensors; options: of the Trainer."""
        super().__init__(dev_batches=[], **options)
        self._rounds, self._collate = rounds, collate

    def training_step(self, model: Any, inputs: Any, *more: Any, **options: Any) -> Any:
        """Make the step's batch, outside of the precision of training, then train on it."""
        with self.autocast_smart_context_manager(cache_enabled=False):
            step = self._rounds.step(int(inputs["position"]))
        batch = {**self._collate(step.groups), "items": step.items}
        return super().training_step(model, batch, *more, **options)

    def log(self, logs: dict[str, float], *more: Any, **options: Any) -> None:
        """Keep and tell figures, the loss by its own name."""
        renamed = {RANK_LOSS if name == "loss" else name: value for name, value in logs.items()}
        super().log(renamed, *more, **options)
