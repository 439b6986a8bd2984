"""Prompts that fit the model: as many passages as there is room for, the best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seal_ir.errors import InputError, shown
from seal_ir.lm.protocols import Prompt
from seal_ir.read.prompt.template import Template, one_line
from seal_ir.read.records import Context
from seal_ir.text.tokenizer import TextTokenizer


def fitted(
    template: Template, tokenizer: TextTokenizer, question: str, contexts: Sequence[Context], room: int
) -> Prompt:
    """The prompt of a question: its best passages, as many as fit; of the first one as many words as fit.

    Args:
        template: see `Template`.
        tokenizer: the model's.
        question: its text, which is never cut.
        contexts: passages, best first.
        room: the most tokens that the prompt may have.

    Raises:
        InputError: the question alone does not fit.
    """
    before, _ = tokenizer.affixes
    asked = " ".join(question.split())
    passages = [one_line(context) for context in contexts]

    def prompt(kept: Sequence[str]) -> list[int]:
        return [*before, *tokenizer.encode(template.filled(asked, kept))]

    def fits(kept: Sequence[str]) -> bool:
        return len(prompt(kept)) <= room

    if not fits([]):
        raise InputError(
            f"question {shown(question)} takes {len(prompt([]))} tokens with its template, and the model has"
            f" room for {room}; shorten it, or take a model of a longer context"
        )
    kept = passages[: _most(len(passages), lambda n: fits(passages[:n]))]
    if passages and not kept:
        words = passages[0].split(" ")
        n_words = _most(len(words), lambda n: fits([" ".join(words[:n])]))
        kept = [" ".join(words[:n_words])] if n_words else []
    tokens = prompt(kept)
    return Prompt(tuple(tokens), _n_shared([*before, *tokenizer.encode(template.head)], tokens))


def _most(n: int, fits: Callable[[int], bool]) -> int:
    """The most of n things that fit, none of them always does; more never take less room."""
    least, most = 0, n
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least


def _n_shared(head: Sequence[int], tokens: Sequence[int]) -> int:
    """How many leading tokens are the head's; at least one is left to be read."""
    n = 0
    while n < min(len(head), len(tokens) - 1) and head[n] == tokens[n]:
        n += 1
    return n
