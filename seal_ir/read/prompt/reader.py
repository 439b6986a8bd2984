"""`PromptReader`: any causal language model as a reader, free or bound to quote its passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seal_ir.lm.protocols import LanguageModel
from seal_ir.read.citing import citations
from seal_ir.read.prompt.fitting import fitted
from seal_ir.read.prompt.greedy import Bound, write
from seal_ir.read.prompt.quoting import quoting
from seal_ir.read.prompt.template import Template
from seal_ir.read.records import Answer, Context
from seal_ir.text.tokenizer import TextTokenizer

_HALF = "\ufffd"  # what a tokenizer makes of part of a character


@dataclass(frozen=True, slots=True)
class PromptReader:
    """Writes the likeliest answer after a prompt with the passages, token by token, as far as a line goes.

    Attributes:
        model: the language model.
        tokenizer: its tokenizer.
        ends: tokens that end an answer: the model's own, and all with a line break.
        template: how questions and passages are laid out.
        quote: whether an answer may only be what stands in one of the passages; then a question without
            passages has the answer "".
        max_answer_tokens: where an answer is cut.
    """

    model: LanguageModel
    tokenizer: TextTokenizer
    ends: tuple[int, ...]
    template: Template
    quote: bool = False
    max_answer_tokens: int = 32

    def read(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[Answer]:
        """See `Reader.read`.

        Raises:
            InputError: a question is too long for the model.
            ModelError: a probability is no number.
        """
        asked = [i for i in range(len(questions)) if not self.quote or _has_text(contexts[i])]
        answers = [""] * len(questions)
        if asked:
            texts = self._write([questions[i] for i in asked], [contexts[i] for i in asked])
            for i, text in zip(asked, texts, strict=True):
                answers[i] = text
        return [Answer(text, citations(text, each)) for text, each in zip(answers, contexts, strict=True)]

    def _write(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[str]:
        if not self.quote:
            return self._bounded(questions, contexts, [None] * len(questions))
        with quoting(contexts, self.tokenizer, self.ends) as bounds:
            return self._bounded(questions, contexts, bounds)

    def _bounded(
        self,
        questions: Sequence[str],
        contexts: Sequence[Sequence[Context]],
        bounds: Sequence[Bound | None],
    ) -> list[str]:
        room = self.model.max_tokens - self.max_answer_tokens
        prompts = [
            fitted(self.template, self.tokenizer, question, each, room)
            for question, each in zip(questions, contexts, strict=True)
        ]
        n_tokens, ends = self.max_answer_tokens, self.ends
        texts = write(self.model, prompts, ends, n_tokens, bounds, self._is_blank, questions)
        return [self._text(tokens) for tokens in texts]

    def _text(self, tokens: Sequence[int]) -> str:
        """The text of an answer; without part of a character at its end, as where it was cut."""
        return self.tokenizer.decode(tokens).rstrip(_HALF).strip()

    def _is_blank(self, tokens: Sequence[int]) -> bool:
        return not self._text(tokens)


def _has_text(contexts: Sequence[Context]) -> bool:
    return any(context.title.strip() or context.text.strip() for context in contexts)
