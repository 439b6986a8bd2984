"""From a query to the model's input tokens."""

from __future__ import annotations

from typing import NamedTuple

from seal_ir.config import DecodeConfig
from seal_ir.decode.query_ngrams import MAX_NGRAM_TOKENS
from seal_ir.errors import ModelError
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.records import BODY
from seal_ir.text.description import CAUSAL


class MadePrompt(NamedTuple):
    """A prompt, and where the query had to be cut to fit the model, the tokens that there was room for."""

    prompt: Prompt
    limit: int | None


def make_prompt(generator: Generator, template: str, query: str, n_reserved: int) -> MadePrompt:
    """The input for one query.

    Args:
        generator: the model that will read it.
        template: text with one `{query}`.
        query: as the user wrote it; special-token strings in it are plain text.
        n_reserved: tokens that the model will write after the prompt.

    Raises:
        ModelError: the template alone does not fit the model.
    """
    causal = generator.description.family == CAUSAL
    before, after = generator.tokenizer.affixes
    room = generator.model.max_tokens - (n_reserved if causal else 0) - len(before)
    room -= 0 if causal else len(after)
    tokens = generator.tokenizer.encode(_filled(template, query))
    limit = None
    if len(tokens) > room:
        limit = room - len(generator.tokenizer.encode(_filled(template, "")))
        tokens = generator.tokenizer.encode(_filled(template, _cut(generator, template, query, room)))
    if causal:
        shared = [*before, *generator.tokenizer.encode(template.split("{query}")[0])]
        tokens = [*before, *tokens]
        return MadePrompt(Prompt(tuple(tokens), _common_prefix(shared, tokens)), limit)
    return MadePrompt(Prompt((*before, *tokens, *after)), limit)


def room_for(kind: str, config: DecodeConfig) -> int:
    """Tokens that are kept free behind the prompt of a kind: those of the longest key.

    A query's n-grams, which the model scores after the body prompt, may be longer than its own.
    """
    if kind == BODY and config.query_words:
        return max(config.body_steps, MAX_NGRAM_TOKENS)
    return config.steps(kind)


def _filled(template: str, query: str) -> str:
    """The template with the query in it; all other braces of either are plain text."""
    before, after = template.split("{query}")
    return before + query + after


def _cut(generator: Generator, template: str, query: str, room: int) -> str:
    """The longest front part of a query, in its tokens, with which the template fits into `room`."""
    tokenizer = generator.tokenizer
    ids = tokenizer.encode(query)
    # Tokens may merge differently at the seam with the template, so step down until it fits.
    n = min(len(ids), room - len(tokenizer.encode(_filled(template, ""))))
    while n > 0:
        text = tokenizer.decode(ids[:n])
        if len(tokenizer.encode(_filled(template, text))) <= room:
            return text
        n -= 1
    raise ModelError(f"the prompt template leaves no room for a query in {room} tokens; shorten it")


def _common_prefix(a: list[int], b: list[int]) -> int:
    """Length of the common prefix, always leaving at least one token of `b` to be read."""
    n = 0
    while n < min(len(a), len(b) - 1) and a[n] == b[n]:
        n += 1
    return n
