"""From a query to the model's input tokens, and the one sentence that says which queries had to be cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from seal_ir.config import DecodeConfig
from seal_ir.decode.query_ngrams import MAX_NGRAM_TOKENS
from seal_ir.errors import ModelError
from seal_ir.formats.io.files import listed
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.records import BODY
from seal_ir.text.description import CAUSAL

Cut = Mapping[int, int]  # places in a batch of the queries that were cut -> tokens that each was cut to
_N_KEPT = 11  # names that are kept: the ten that are told, and one that says that there are more


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


def note_cut(cut: dict[int, int], place: int, limit: int | None) -> None:
    """Enter a query that was cut to `limit` tokens, if it was; of several limits the lowest counts."""
    if limit is not None:
        cut[place] = min(limit, cut.get(place, limit))


class CutQueries:
    """Counts, batch by batch, the queries that were cut."""

    def __init__(self, what: str = "topics", queries: str = "queries") -> None:
        """Start with none.

        Args:
            what: what the names of queries are; "" leaves them out.
            queries: what stands in the place of queries.
        """
        self._what, self._queries = what, queries
        self._n_queries = self._n_cut = 0
        self._limit: float = inf
        self._names: list[str] = []

    def add(self, names: Sequence[str], cut: Cut) -> None:
        """Count a batch of queries by their names."""
        self._n_queries += len(names)
        self._n_cut += len(cut)
        self._limit = min(self._limit, *cut.values(), inf)
        self._names += [names[place] for place in sorted(cut)][: _N_KEPT - len(self._names)]

    def sentence(self) -> str:
        """How many were cut, to what, and the first ten of them; "" where none was.

        The number of tokens is that of the query alone, without prompts and special tokens; where several
        limits were met, the lowest, which all that were cut pass.
        """
        if not self._n_cut:
            return ""
        told = f"{self._n_cut} of {self._n_queries} {self._queries} were longer than {self._limit} tokens"
        told += " and were cut"
        return f"{told}: {self._what} {listed(self._names)}" if self._what else told


def cut_sentence(cut: Cut, names: Sequence[str] | None, n_queries: int) -> str:
    """`CutQueries.sentence` for one batch; queries without names are told by their positions from 0.

    A single query without a name needs none.
    """
    if names is not None:
        queries = CutQueries()
        queries.add(names, cut)
        return queries.sentence()
    queries = CutQueries("positions" if n_queries > 1 else "")
    queries.add(list(map(str, range(n_queries))), cut)
    return queries.sentence()


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
