"""What decoding asks of a language model: next-token log-probabilities for rows that branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from seal_ir.arrays import Floats, Ints
from seal_ir.text.description import ModelDescription
from seal_ir.text.tokenizer import TextTokenizer

Tokens = tuple[int, ...]  # ids of a sequence


@dataclass(frozen=True, slots=True)
class Prompt:
    """Input tokens of one decoding.

    Attributes:
        tokens: the whole prompt.
        n_shared: how many leading tokens are the same for every query, so that work on them can be kept.
    """

    tokens: Tokens
    n_shared: int = 0


class Read(NamedTuple):
    """What a step reads of the next tokens' log-probabilities.

    Attributes:
        logprobs: float32 [m], of the pairs of rows and tokens that were asked for.
        top_tokens: int64 [n, k], the most likely tokens of the rows that were asked for, best first.
        top_logprobs: float32 [n, k], theirs; no token outside the k has a higher one.
    """

    logprobs: Floats
    top_tokens: Ints
    top_logprobs: Floats


class NextTokens(Protocol):
    """The distribution of each row's next token, left where it was computed.

    Log-probabilities are natural logs of the softmax over the whole vocabulary, in float32 whatever the
    model's own precision is. A log-probability is the same number however it is read.
    """

    @property
    def n_vocabulary(self) -> int:
        """Number of tokens."""
        ...

    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        """Log-probabilities of `tokens` [m] in `rows` [m], and the best k tokens of `top_rows` [n].

        On a device this is one transfer there and one back. k is at most `n_vocabulary`.
        """
        ...

    def whole(self, rows: Ints) -> Floats:
        """All log-probabilities of rows [n], float32 [n, n_vocabulary]."""
        ...


class Session(Protocol):
    """One decoding of a batch of prompts: a set of rows, each a prompt and the tokens written so far.

    Continuations that are given are scored by the same three calls: `advance` by each token in turn, and
    `following.read` its log-probability before.
    """

    @property
    def following(self) -> NextTokens:
        """The distribution of what follows each row."""
        ...

    @property
    def nested(self) -> bool:
        """Whether rows may continue others of the same call of `advance`."""
        ...

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended.

        A row may be continued several times or not at all. Where the session is `nested`, of n old rows, row
        n + j stands for new row j, which comes before those that continue it.
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
        device: where its weights are, by torch's name.
        dtype: the precision that they are in, likewise.
    """

    model: LanguageModel
    tokenizer: TextTokenizer
    description: ModelDescription
    title_end: int
    device: str = "cpu"
    dtype: str = "float32"
