"""The network with the loss of rank training; what the Trainer trains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from seal_ir.train.fit.network import TargetLoss
from seal_ir.train.rank.batch import Item
from seal_ir.train.rank.options import RankOptions
from seal_ir.train.rank.scores import cross_entropy, margin, scores

_TEMPERATURE = "log_temperature"


@dataclass(frozen=True, slots=True)
class Items:
    """The questions of a step; no sequence, since the Trainer takes those apart."""

    of_step: tuple[Item, ...]


class RankLoss(TargetLoss):
    """A network and the loss of the rankings that it makes, with a share of the loss of text."""

    def __init__(self, network: Any, smoothing: float, options: RankOptions) -> None:
        """Args: smoothing: of the labels of text; the others as they are named."""
        super().__init__(network, smoothing)
        self._options = options
        learned = options.loss == "cross-entropy"
        start = torch.tensor(math.log(options.temperature))
        self.log_temperature = nn.Parameter(start, requires_grad=learned)

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:
        """The loss of a step, and its parts: the ranking's mean over questions, text's over tokens.

        Takes what `collate` makes, and `items`.
        """
        items: Items = inputs.pop("items")
        labels = inputs.pop("target")
        logits = self.logits(inputs.pop("predict"), inputs)
        logprobs = logits.gather(1, labels[:, None])[:, 0] - torch.logsumexp(logits, dim=1)
        ranking = torch.stack([self._of_ranking(item, logits, logprobs) for item in items.of_step]).mean()
        share = self._options.generation
        text = self._of_text(items, logits, labels)
        loss = (1 - share) * ranking.float() + share * text
        return {"loss": loss, "ranking": ranking.detach(), "text": text.detach()}

    def scores(self, item: Item, logits: torch.Tensor, logprobs: torch.Tensor) -> torch.Tensor:
        """The candidates' scores under the network as it is, float64 [d].

        Args:
            item: the question.
            logits: [m, vocabulary], of the step's predicted tokens.
            logprobs: [m], log P of the predicted tokens.
        """
        known = item.evidence
        n_keys = len(known.keys)
        constant = logprobs.new_tensor([key.logprob for key in known.keys], dtype=torch.float64)
        if self._options.first_step or not len(item.keys):
            of_keys = constant
        else:
            sums = torch.cat([logprobs.new_zeros(1, dtype=torch.float64), logprobs.double().cumsum(0)])
            read = sums[torch.from_numpy(item.ends)] - sums[torch.from_numpy(item.starts)]
            of_keys = constant.index_put((torch.from_numpy(item.keys),), read) if n_keys else constant
        first = torch.log_softmax(logits[item.first], dim=0)
        unigrams = first[torch.from_numpy(item.unigrams).to(first.device)].double()
        return scores(known, torch.cat([of_keys, unigrams]))

    def _of_ranking(self, item: Item, logits: torch.Tensor, logprobs: torch.Tensor) -> torch.Tensor:
        units = self.scores(item, logits, logprobs) / self.log_temperature.double().exp()
        if self._options.loss == "margin":
            return margin(units, item.evidence, self._options.margin)
        return cross_entropy(units, item.evidence)

    def _of_text(self, items: Items, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        rows = torch.cat([torch.arange(*item.span) for item in items.of_step]).to(logits.device)
        if not self._options.generation or not len(rows):
            return logits.new_zeros(())
        return functional.cross_entropy(logits[rows], labels[rows], label_smoothing=self._smoothing)

    def trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Names and values of what is trained."""
        yield from super().trained()
        if self.log_temperature.requires_grad:
            yield _TEMPERATURE, self.log_temperature
