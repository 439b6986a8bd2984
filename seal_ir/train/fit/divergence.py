"""Training that has diverged ends at once: what comes after the first number that is none is lost anyway."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from transformers import TrainerCallback

from seal_ir.errors import TrainingError
from seal_ir.lm.device import all_finite, first_odd
from seal_ir.train.fit.network import LESS


class Watch:
    """Looks at each number of a training run, and remembers the last sound loss.

    Args:
        learning_rate: the highest of the run, for the message.
    """

    def __init__(self, learning_rate: float) -> None:
        self._learning_rate = learning_rate
        self._before = "there was no loss before"

    def loss(self, value: float, step: int) -> None:
        """Look at a step's loss.

        Raises:
            TrainingError: it is no finite number.
        """
        self.check("loss", value, step)
        self._before = f"the loss before, at step {step}, was {value:.4g}"

    def check(self, name: str, value: float, step: int) -> None:
        """Look at another number.

        Raises:
            TrainingError: it is not finite.
        """
        if not math.isfinite(value):
            self.end(f"the {name} is {value}", step)

    def end(self, what: str, step: int) -> NoReturn:
        """Raise what is to be told.

        Raises:
            TrainingError: always.
        """
        raise TrainingError(
            f"training diverged at step {step}: {what} ({self._before}; --lr is {self._learning_rate:g});"
            f" nothing was written of this step; {LESS}"
        )


class SoundWeights(TrainerCallback):
    """Looks at the weights after each update."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """End a run whose update made a weight that is no finite number."""
        trained = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
        if not all_finite(value for _, value in trained):
            self._watch.end(f"a weight is no number: {first_odd(trained)}", state.global_step + 1)
