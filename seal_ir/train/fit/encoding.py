"""Examples as token ids, exactly as search will ask and the index will answer."""

from __future__ import annotations

from collections.abc import Sequence

from seal_ir.decode.prompts import make_prompt
from seal_ir.lm.protocols import Generator
from seal_ir.records import BODY
from seal_ir.text.description import CAUSAL
from seal_ir.train.data.examples import Example
from seal_ir.train.data.prompts import TrainingPrompts
from seal_ir.train.fit.trees import Encoded

_RESERVED = 64  # tokens that make_prompt leaves for the target


class Encoder:
    """Turns examples into token ids for one model."""

    def __init__(self, generator: Generator, prompts: TrainingPrompts, end: int | None) -> None:
        """Prepare for a model.

        Args:
            generator: the model, wired as for search.
            prompts: what it is asked with.
            end: end-of-sequence token that closes the targets of a sequence-to-sequence model; a causal
                model's body spans stay open, since they go on in the passage.
        """
        self._generator, self._prompts = generator, prompts
        self._end = () if end is None or generator.description.family == CAUSAL else (end,)

    def __call__(self, examples: Sequence[Example]) -> list[Encoded]:
        """The prompt and the target of each example.

        A target is tokenised as a field of a document is, so that it has the tokens that are in the index.
        Titles and values of further fields end with the token that ends titles.
        """
        targets = self._generator.tokenizer.encode_fields([example.target for example in examples])
        return [
            self._encoded(example, self._closed(example, target))
            for example, target in zip(examples, targets, strict=True)
        ]

    def _encoded(self, example: Example, target: tuple[int, ...]) -> Encoded:
        template = self._prompts.template(example.field, example.kind)
        prompt, limit = make_prompt(self._generator, template, example.source, _RESERVED)
        return Encoded(prompt.tokens, target, limit)

    def _closed(self, example: Example, target: list[int]) -> tuple[int, ...]:
        title_end = self._generator.title_end
        closing = (title_end, *self._end) if example.field != BODY else self._end
        if closing[:1] * 2 == closing:  # the model ends titles and targets with one token
            closing = closing[:1]
        return (*target, *closing)
