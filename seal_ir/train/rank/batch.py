"""A step's questions as sequences that the network reads, and where each log-probability is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.config import DecodeConfig
from seal_ir.decode.prompts import make_prompt, room_for
from seal_ir.decode.rescore import asked_as, tokens_of
from seal_ir.lm.protocols import Generator, Tokens
from seal_ir.records import BODY
from seal_ir.text.symbols import FIRST_TOKEN
from seal_ir.train.fit.trees import Encoded
from seal_ir.train.rank.evidence import Evidence


class Item(NamedTuple):
    """One question of a step. Rows are those of the step's predicted tokens, all questions in one line.

    Attributes:
        evidence: its candidates.
        first: the row whose distribution is that of a body n-gram's first token.
        span: half-open rows of the span of a positive; empty where there is none.
        keys: int64 [k], numbers of the keys that are read.
        starts, ends: int64 [k], the rows of each key's tokens, half-open.
        unigrams: int64 [u], the unigrams' tokens.
    """

    evidence: Evidence
    first: int
    span: tuple[int, int]
    keys: Ints
    starts: Ints
    ends: Ints
    unigrams: Ints


class Reading(NamedTuple):
    """The sequences of one question; the first is the span's."""

    sequences: list[Encoded]
    keys: list[int]
    places: list[tuple[int, int]]  # of each key: its sequence, its number of tokens


def reading(
    generator: Generator,
    text: str,
    evidence: Evidence,
    span: Tokens,
    config: DecodeConfig,
    n_keys: int,
) -> Reading:
    """What is read for a question: a span of a positive, and the keys that matter most.

    A key that begins another one is read as its beginning.

    Args:
        generator: the model.
        text: the question.
        evidence: its candidates.
        span: tokens; may be empty.
        config: how keys were written.
        n_keys: how many keys at most.
    """
    prompts: dict[str, Tokens] = {}

    def prompt(kind: str) -> Tokens:
        if kind not in prompts:
            template = generator.description.prompt(kind)
            prompts[kind] = make_prompt(generator, template, text, room_for(kind, config)).prompt.tokens
        return prompts[kind]

    sequences = [Encoded(prompt(BODY), span or (0,))]
    shares = evidence.key_shares()
    chosen = [int(i) for i in np.argsort(-shares, kind="stable")[:n_keys] if shares[i] > 0]
    written = {i: (asked_as(evidence.keys[i]), tokens_of(generator, evidence.keys[i])) for i in chosen}
    found: dict[tuple[str, Tokens], int] = {}
    places: dict[int, tuple[int, int]] = {}
    for i in sorted(chosen, key=lambda i: -len(written[i][1])):
        kind, tokens = written[i]
        if (kind, tokens) not in found:
            for n in range(1, len(tokens) + 1):
                found.setdefault((kind, tokens[:n]), len(sequences))
            sequences.append(Encoded(prompt(kind), tokens))
        places[i] = found[kind, tokens], len(tokens)
    return Reading(sequences, chosen, [places[i] for i in chosen])


def items_of(
    readings: Sequence[Reading], evidence: Sequence[Evidence], spans: Sequence[Tokens]
) -> list[Item]:
    """Where the rows of each question lie when the sequences of all are read in order."""
    items, at = [], 0
    for made, known, span in zip(readings, evidence, spans, strict=True):
        starts = at + np.cumsum([0, *(len(sequence.target) for sequence in made.sequences)])
        first = np.array([starts[sequence] for sequence, _ in made.places], dtype=np.int64)
        lengths = np.array([n for _, n in made.places], dtype=np.int64)
        keys = np.array(made.keys, dtype=np.int64)
        rows = (at, at + len(span))
        items.append(Item(known, at, rows, keys, first, first + lengths, known.tokens - FIRST_TOKEN))
        at = int(starts[-1])
    return items
