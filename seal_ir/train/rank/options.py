"""Options of rank training, frozen."""

from __future__ import annotations

from dataclasses import dataclass

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError

LOSSES = ("cross-entropy", "margin")


@dataclass(frozen=True, slots=True)
class RankOptions:
    """What is asked of the scores.

    Attributes:
        questions: of a step; the documents of each are candidates of all.
        refresh: steps after which keys and candidates are made anew by the model as it is then.
        hits: of a question's own ranking that are candidates.
        run_hits: candidates out of a run of negatives, drawn from its first 20.
        positives: of a question that are candidates at most, drawn anew each time.
        keys: n-grams of a question whose probability is trained, those with the largest shares; the weights
            of others are constants of the last ranking.
        loss: "cross-entropy" over the candidates, or "margin" between each positive and each other one.
        temperature: points that are one unit of the loss; with cross-entropy it is where learning begins.
        margin: of "margin", in units.
        generation: share of the loss that is -log P of a span of a positive, as in `fit`.
        first_step: train the first step's distribution alone; weights of n-grams are constants.
        small_share: share of steps that search within a few documents, with counts of those alone, so that
            small collections are ranked as well as large ones.
        seed: of order and draws.
    """

    questions: int = 12
    refresh: int = 20
    hits: int = 12
    run_hits: int = 4
    positives: int = 2
    keys: int = 24
    loss: str = "cross-entropy"
    temperature: float = 20.0
    margin: float = 1.0
    generation: float = 0.1
    first_step: bool = False
    small_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, questions=1, refresh=1, hits=0, run_hits=0, positives=1, keys=0, seed=0)
        if self.loss not in LOSSES:
            raise UsageError(f"loss is {self.loss!r}; it must be one of {', '.join(LOSSES)}")
        for name in ("temperature", "margin"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not 0 <= self.generation < 1:
            raise UsageError(f"generation is {self.generation}; it must lie in [0, 1)")
        if not 0 <= self.small_share <= 1:
            raise UsageError(f"small_share is {self.small_share}; it must lie in [0, 1]")
