"""Questions and passages as token ids."""

from __future__ import annotations

from collections.abc import Sequence

from seal_ir.errors import InputError, shown
from seal_ir.lm.protocols import Tokens
from seal_ir.read.fid.description import FidDescription
from seal_ir.read.records import Context
from seal_ir.text.tokenizer import TextTokenizer


class InputEncoder:
    """Writes `question: ... title: ... context: ...` for each passage of a question."""

    def __init__(self, tokenizer: TextTokenizer, description: FidDescription) -> None:
        """Args: tokenizer: the model's; description: how long an input may be, and what goes around it."""
        self._tokenizer = tokenizer
        self._before, self._after = tokenizer.affixes if description.affixes else ([], [])
        self._longest = description.passage_tokens
        self._room = self._longest - len(self._before) - len(self._after)

    def __call__(self, question: str, contexts: Sequence[Context]) -> list[Tokens]:
        """Token ids of a question with each of its passages; of the question alone where there is none.

        A passage is cut at its end to what there is room for.

        Raises:
            InputError: the question leaves no room for a passage.
        """
        if not self.has_room(question):
            raise InputError(
                f"question {shown(question)} has {self._n_asked(question):,} tokens; the reader takes"
                f" {self._longest:,} of a question with a passage; shorten it, or train with a larger"
                " --passage-tokens"
            )
        asked = _asked(question)
        texts = [f"{asked} title: {context.title} context: {context.text}" for context in contexts]
        return [self._around(self._tokenizer.encode(text)[: self._room]) for text in texts or [asked]]

    def has_room(self, question: str) -> bool:
        """Whether a question leaves room for a passage."""
        return self._n_asked(question) < self._room

    def _n_asked(self, question: str) -> int:
        return len(self._tokenizer.encode(_asked(question)))

    def _around(self, tokens: list[int]) -> Tokens:
        return (*self._before, *tokens, *self._after)


def _asked(question: str) -> str:
    return f"question: {question}"
