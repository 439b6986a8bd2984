"""Options of training a reader, frozen."""

from __future__ import annotations

from dataclasses import dataclass

from seal_ir.arguments import check_least


@dataclass(frozen=True, slots=True)
class ReadFitOptions:
    """What a reader is trained on (defaults: the paper's).

    Attributes:
        contexts: passages of a question, the first ones of the run.
        questions: of a batch; an update takes `FitOptions.accumulate` of these.
        passage_tokens: of a question with one passage at most; None for what the model says.
        answer_tokens: of an answer at most, its end among them; None for what the model says.
        recompute: keep none of a layer's intermediate values, and compute them again for the gradient.
    """

    contexts: int = 100
    questions: int = 1
    passage_tokens: int | None = None
    answer_tokens: int | None = None
    recompute: bool = False

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, contexts=1, questions=1)
        for name, least in {"passage_tokens": 1, "answer_tokens": 2}.items():
            if getattr(self, name) is not None:
                check_least(self, **{name: least})
