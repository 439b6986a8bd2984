"""What the command asks of a reader, whatever model it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from seal_ir.read.records import Answer, Context


class Reader(Protocol):
    """Reads passages and answers questions; the same batch gives the same answers."""

    def read(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[Answer]:
        """The answers to a batch of questions.

        Args:
            questions: their texts.
            contexts: the passages of each question, best first; a question without any is asked alone.

        Raises:
            InputError: a question is too long for the model.
        """
        ...
