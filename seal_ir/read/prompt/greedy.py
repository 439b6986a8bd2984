"""Texts that a model writes after prompts, the likeliest token at each step, as one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from seal_ir.errors import shown
from seal_ir.lm.next_tokens import Sound
from seal_ir.lm.protocols import LanguageModel, Prompt, Session

Bound = Callable[[Any, torch.Tensor], torch.Tensor]
"""From what was written, int64 [1, n], and scores [1, n_vocabulary]: scores, -inf for what is forbidden."""


def write(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    ends: Sequence[int],
    n_tokens: int,
    bounds: Sequence[Bound | None],
    is_blank: Callable[[Sequence[int]], bool],
    names: Sequence[str],
) -> list[list[int]]:
    """The tokens that follow each prompt, as far as one that ends a text, which is left out.

    No text ends while it is blank, unless nothing else may follow.

    Args:
        model: the language model.
        prompts: at least one.
        ends: tokens that end a text.
        n_tokens: the most tokens of a text.
        bounds: what limits each text; None where nothing does.
        is_blank: whether tokens of a text say nothing yet.
        names: what each prompt asks, for messages.

    Raises:
        ModelError: a probability is no number.
    """
    session = model.start(prompts)
    texts: list[list[int]] = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    for step in range(n_tokens):
        scores = _scores(session, [names[i] for i in alive], step)
        chosen = [
            _best(scores[row], texts[i], ends if is_blank(texts[i]) else (), bounds[i])
            for row, i in enumerate(alive)
        ]
        going = [row for row, token in enumerate(chosen) if token not in ends]
        for row in going:
            texts[alive[row]].append(chosen[row])
        alive = [alive[row] for row in going]
        if not alive or step == n_tokens - 1:
            break
        session.advance(np.array(going), np.array([chosen[row] for row in going]))
    return texts


def _best(scores: torch.Tensor, text: Sequence[int], unwanted: Sequence[int], bound: Bound | None) -> int:
    """The likeliest token within bounds that is not unwanted, if there is one, by scores [n_vocabulary]."""
    if bound is not None:
        scores = bound(torch.tensor([text], dtype=torch.int64), scores[None])[0]
    wanted = scores.clone()
    wanted[list(unwanted)] = -torch.inf
    best = int(wanted.argmax())
    return best if torch.isfinite(wanted[best]) else int(scores.argmax())


def _scores(session: Session, names: Sequence[str], step: int) -> torch.Tensor:
    """Log-probabilities [n, n_vocabulary] of the next token of each row."""
    following = Sound(
        session.following, lambda row: f"question {shown(names[row])}: token {step + 1} of its answer"
    )
    return torch.from_numpy(following.whole(np.arange(len(names))))
