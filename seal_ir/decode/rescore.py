"""Rescoring: the model reads keys that are known already, and says how likely each is after its prompt.

The prompts are those of decoding, so that for keys of the same beam search nothing changes but time. It
matters for keys that come from elsewhere: another model, another prompt, another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Doubles
from seal_ir.config import DecodeConfig
from seal_ir.decode.beam import Decoded
from seal_ir.decode.prompts import Cut, make_prompt, note_cut, room_for
from seal_ir.errors import UsageError
from seal_ir.lm.next_tokens import Sound, step_of
from seal_ir.lm.protocols import Generator, NextTokens, Prompt, Tokens
from seal_ir.records import BODY, QUERY, UNIGRAM, Key, QueryKeys
from seal_ir.text.symbols import FIRST_TOKEN

_KEYS_AT_ONCE = 1024  # read together; bounds the memory of a session, whatever the number of keys
_FREE = (BODY, QUERY, UNIGRAM)  # kinds that the body prompt asks for


class Continuation(NamedTuple):
    """A continuation to be read: the place of its key, and what the model would write for it."""

    query: int
    key: int
    tokens: Tokens


class Reading(NamedTuple):
    """A prompt, the continuations that follow it, and the `limit` of `MadePrompt`."""

    prompt: Prompt
    continuations: list[Continuation]
    limit: int | None = None


def rescore(
    generator: Generator, queries: Sequence[str], found: Sequence[QueryKeys], config: DecodeConfig
) -> Decoded:
    """The same keys with the log-probabilities of a second, teacher-forced pass, unigrams as they were.

    Keys that the model cannot write at all (probability 0) are left out. Common beginnings of the keys of
    a prompt are read once.

    Args:
        generator: the model; may be another one than wrote the keys, with the same tokenizer.
        queries: the queries.
        found: the keys of each, which may come from elsewhere.
        config: the settings of decoding, which say how much of a long query its prompt holds.

    Raises:
        UsageError: there are not as many lists of keys as queries, or a key holds a symbol no text has.
        ModelError: the model's probabilities are no numbers; names query and step.
    """
    scores: dict[tuple[int, int], float] = {}
    parts = readings(generator, queries, found, config)
    for group in _groups(parts):
        scores.update(_read(generator, queries, group))
    return Decoded(replaced(found, scores), cut_of(parts))


def readings(
    generator: Generator, queries: Sequence[str], found: Sequence[QueryKeys], config: DecodeConfig
) -> list[Reading]:
    """What to read: for each query one entry for every field written whole and one for all other keys."""
    if len(queries) != len(found):
        raise UsageError(f"{len(queries)} queries need as many lists of keys, not {len(found)}")
    made = []
    for number, (query, query_keys) in enumerate(zip(queries, found, strict=True)):
        by_prompt: dict[str, list[Continuation]] = {}
        for at, key in enumerate(query_keys.keys):
            by_prompt.setdefault(asked_as(key), []).append(
                Continuation(number, at, tokens_of(generator, key))
            )
        for kind in sorted(by_prompt):
            continuations = by_prompt[kind]
            reserved = max(room_for(kind, config), *(len(item.tokens) for item in continuations))
            template = generator.description.prompt(kind)
            prompt, limit = make_prompt(generator, template, query, reserved)
            made.append(Reading(prompt, continuations, limit))
    return made


def cut_of(parts: Sequence[Reading]) -> Cut:
    """The queries that were cut to fit their prompts into the model."""
    cut: dict[int, int] = {}
    for part in parts:
        note_cut(cut, part.continuations[0].query, part.limit)
    return cut


def replaced(found: Sequence[QueryKeys], scores: dict[tuple[int, int], float]) -> list[QueryKeys]:
    """The keys with new log-probabilities, by place of query and key; without a finite one they go."""
    return [
        QueryKeys(
            tuple(
                replace(key, logprob=scores[number, at])
                for at, key in enumerate(query_keys.keys)
                if np.isfinite(scores[number, at])
            ),
            query_keys.unigrams,
        )
        for number, query_keys in enumerate(found)
    ]


def asked_as(key: Key) -> str:
    """The field whose prompt asks for a key."""
    return BODY if key.kind in _FREE else key.kind


def tokens_of(generator: Generator, key: Key) -> Tokens:
    """What the model writes for a key: nothing for a start, which prompts imply; `title_end` for an end."""
    whole = key.kind not in _FREE
    symbols = key.symbols[1:] if whole and key.symbols[0] < FIRST_TOKEN else key.symbols
    tokens = [symbol - FIRST_TOKEN for symbol in symbols]
    if whole and tokens and tokens[-1] < 0:
        tokens[-1] = generator.title_end
    if not tokens or min(tokens) < 0:
        raise UsageError(
            f"{key.symbols} cannot be rescored: a key holds no control symbol but the two of a whole field"
        )
    return tuple(tokens)


def _groups(parts: Sequence[Reading]) -> list[list[Reading]]:
    """The readings in groups of at most `_KEYS_AT_ONCE` keys, those with more than that in pieces."""
    groups: list[list[Reading]] = [[]]
    room = _KEYS_AT_ONCE
    for prompt, continuations, _ in parts:
        ordered = sorted(continuations, key=lambda item: item.tokens)  # neighbours share their beginnings
        while ordered:
            if room == 0:
                groups.append([])
                room = _KEYS_AT_ONCE
            piece, ordered = ordered[:room], ordered[room:]
            groups[-1].append(Reading(prompt, piece))
            room -= len(piece)
    return [group for group in groups if group]


def _read(
    generator: Generator, queries: Sequence[str], group: Sequence[Reading]
) -> dict[tuple[int, int], float]:
    """Log-probabilities by place of query and key: the prefixes of all keys advance together."""
    session = generator.model.start([part.prompt for part in group])
    scores: dict[tuple[int, Tokens], float] = {(p, ()): 0.0 for p in range(len(group))}
    rows: dict[tuple[int, Tokens], int] = {(p, ()): p for p in range(len(group))}
    longest = max(len(item.tokens) for part in group for item in part.continuations)

    def named(row: int) -> str:
        (p, written) = next(prefix for prefix, its_row in rows.items() if its_row == row)
        return step_of(queries[group[p].continuations[0].query], "given", len(written) + 1)

    for depth in range(1, longest + 1):
        grown = sorted(
            {(p, item.tokens[:depth]) for p, part in enumerate(group) for item in part.continuations
             if len(item.tokens) >= depth}
        )  # fmt: skip
        pairs = [(rows.get((p, tokens[:-1]), -1), tokens[-1]) for p, tokens in grown]
        steps = _next(Sound(session.following, named), pairs)
        for (p, tokens), step in zip(grown, steps.tolist(), strict=True):
            scores[p, tokens] = scores[p, tokens[:-1]] + step
        goes_on = {(p, item.tokens[:depth]) for p, part in enumerate(group) for item in part.continuations
                   if len(item.tokens) > depth}  # fmt: skip
        going = [prefix for prefix in grown if prefix in goes_on and np.isfinite(scores[prefix])]
        if not going:
            break
        before = np.array([rows[p, tokens[:-1]] for p, tokens in going])
        session.advance(before, np.array([tokens[-1] for _, tokens in going]))
        rows = {prefix: row for row, prefix in enumerate(going)}
    return {
        (item.query, item.key): scores.get((p, item.tokens), -np.inf)
        for p, part in enumerate(group)
        for item in part.continuations
    }


def _next(following: NextTokens, pairs: Sequence[tuple[int, int]]) -> Doubles:
    """Log-probability of each pair of row and token; -inf without a row (-1), and beyond the vocabulary."""
    rows, tokens = np.array(pairs, dtype=np.int64).T
    found = np.full(len(rows), -np.inf)
    known = np.flatnonzero((rows >= 0) & (tokens < following.n_vocabulary))
    nothing = np.empty(0, dtype=np.int64)
    found[known] = following.read(rows[known], tokens[known], nothing, 1).logprobs
    return found
