"""What decoding asks of a language model: next-token log-probabilities for rows that branch."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seal_ir.text.description import ModelDescription
from seal_ir.text.tokenizer import TextTokenizer

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Input tokens of one decoding.

    Attributes:
        tokens: the whole prompt.
        n_shared: how many leading tokens are the same for every query, so that work on them can be kept.
    """

    tokens: tuple[int, ...]
    n_shared: int = 0


class Session(Protocol):
    """One decoding of a batch of prompts: a set of rows, each a prompt and the tokens written so far."""

    @property
    def logprobs(self) -> Floats:
        """Natural-log softmax over the whole vocabulary of each row's next token, float32 [rows, vocab]."""
        ...

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended.

        A row may be continued several times or not at all.
        """
        ...


class LanguageModel(Protocol):
    """An autoregressive model behind constrained decoding; tests use a table of logits."""

    @property
    def max_tokens(self) -> int:
        """Longest input in tokens: for a causal model, prompt and continuation together."""
        ...

    def start(self, prompts: Sequence[Prompt]) -> Session:
        """A session with one row per prompt."""
        ...


@dataclass(frozen=True, slots=True)
class Generator:
    """A language model ready for constrained decoding, with all that goes with it.

    Attributes:
        model: gives log-probabilities.
        tokenizer: its tokenizer, which must be the index's.
        description: its prompts.
        title_end: the token that it writes where a title ends.
    """

    model: LanguageModel
    tokenizer: TextTokenizer
    description: ModelDescription
    title_end: int


def cache_keyword(network: Any) -> str:
    """The name of `forward`'s key-value cache argument; transformers renamed it within version 5."""
    return "cache" if "cache" in inspect.signature(network.forward).parameters else "past_key_values"
