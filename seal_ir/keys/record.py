"""A query and its keys as one JSON line, and back. Rows and counts are not written: an index knows them.

Written are `id`, `contents` and `vector`, as Pyserini's encoders do; `made`, which names the settings that
the keys were made with; `keys`, a list of kind, log-probability and symbols; and `unigrams`, a list of
symbols, ascending, and a list of their log-probabilities. Numbers come back bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seal_ir.arrays import Doubles, Symbols
from seal_ir.formats.io.files import is_text, shown
from seal_ir.formats.io.jsonlines import Malformed, identifier, parse_object
from seal_ir.records import BODY, QUERY, TITLE, UNIGRAM, Query, QueryKeys, Unigrams
from seal_ir.structured import exact_json

KINDS = (BODY, TITLE, QUERY)
_NAMES = ("id", "contents", "vector", "made", "keys", "unigrams")
_HIGHEST_SYMBOL = 2**32 - 1
_TWO_LISTS = "it must be a list of ascending symbols and a list of as many finite log-probabilities"


class Ngram(NamedTuple):
    """A key without its rows; see `Key`."""

    kind: str
    logprob: float
    symbols: tuple[int, ...]


class KeyRecord(NamedTuple):
    """A line of a key file.

    Attributes:
        query: what was encoded.
        vector: texts of n-grams and their weights.
        made: fingerprint of the settings that the keys were made with.
        ngrams: the keys, in the order in which they were written.
        unigram_symbols: uint32 [n], ascending.
        unigram_logprobs: float64 [n], every one a number of single precision.
    """

    query: Query
    vector: Mapping[str, float]
    made: str
    ngrams: tuple[Ngram, ...]
    unigram_symbols: Symbols
    unigram_logprobs: Doubles


def to_line(query: Query, keys: QueryKeys, vector: Mapping[str, float], made: str) -> str:
    """The line of a query, without its line feed. Keys of probability 0, which never count, are left out.

    Args:
        query: the query; its text can be written as UTF-8.
        keys: what the model wrote for it.
        vector: finite weights by text.
        made: see `KeyRecord`.

    Raises:
        ValueError: a unigram's log-probability is no finite number of single precision, which models give.
    """
    ngrams = [[key.kind, key.logprob, list(key.symbols)] for key in keys.keys if math.isfinite(key.logprob)]
    values = {
        "id": query.id,
        "contents": query.text,
        "vector": dict(vector),
        "made": made,
        "keys": ngrams,
        "unigrams": _unigram_lists(keys.unigrams),
    }
    return exact_json(values, compact=True)


def from_line(text: str) -> KeyRecord | Malformed:
    """The record of a line, every value checked for its type."""
    values = parse_object(text)
    if isinstance(values, Malformed):
        return values
    missing = next((name for name in _NAMES if name not in values), None)
    if missing is not None:
        return Malformed(f'no "{missing}"; this is no line of python -m seal_ir.encode, or not a whole one')
    qid = identifier(values, ("id",))
    if not isinstance(qid, str):
        return qid or Malformed('no "id"')
    try:
        return KeyRecord(
            Query(qid, _text(values, "contents")),
            _vector(values["vector"]),
            _text(values, "made"),
            _ngrams(values["keys"]),
            *_unigrams(values["unigrams"]),
        )
    except _FaultError as fault:
        return Malformed(str(fault))


class _FaultError(Exception):
    """What is wrong with a value."""


def _text(values: Mapping[str, object], name: str) -> str:
    value = values[name]
    if not isinstance(value, str) or not is_text(value):
        raise _FaultError(f'"{name}" is {shown(value)}; it must be a string')
    return value


def _unigram_lists(unigrams: Unigrams) -> list[list[Any]]:
    """Symbols, and log-probabilities with as many digits as single precision needs."""
    order = np.argsort(unigrams.symbols)
    exact = unigrams.logprobs[order]
    single = exact.astype(np.float32)
    if not (np.isfinite(exact).all() and (single.astype(np.float64) == exact).all()):
        raise ValueError("a unigram's log-probability is no finite number of single precision")
    short = [float(str(value)) for value in single]
    # Reading goes through double precision, which in rare cases leads to a neighbour in single precision.
    same = np.array(short, dtype=np.float64).astype(np.float32) == single
    logprobs = [
        brief if kept else full for brief, kept, full in zip(short, same, exact.tolist(), strict=True)
    ]
    return [unigrams.symbols[order].tolist(), logprobs]


def _vector(value: object) -> Mapping[str, float]:
    if not isinstance(value, dict):
        raise _FaultError(f'"vector" is {shown(value)}; it must be an object of numbers')
    for text, weight in value.items():
        if not _is_number(weight):
            raise _FaultError(f'"vector" has {shown(weight)} for {shown(text)}; it must be a finite number')
    return {text: float(weight) for text, weight in value.items()}


def _ngrams(value: object) -> tuple[Ngram, ...]:
    if not isinstance(value, list):
        raise _FaultError(f'"keys" is {shown(value)}; it must be a list')
    found = []
    for item in value:
        whole = isinstance(item, list) and len(item) == 3
        if not (whole and _is_kind(item[0]) and _is_number(item[1]) and _are_symbols(item[2])):
            raise _FaultError(
                f'"keys" holds {shown(item)}; it may hold [kind, log-probability, [symbol, ...]] only,'
                f" the kind one of {', '.join(KINDS)}, or a further field"
            )
        found.append(Ngram(item[0], float(item[1]), tuple(item[2])))
    return tuple(found)


def _unigrams(value: object) -> tuple[Symbols, Doubles]:
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(part, list) for part in value)):
        raise _FaultError(f'"unigrams" is {shown(value)}; {_TWO_LISTS}')
    symbols, logprobs = value
    if not symbols and not logprobs:
        return np.empty(0, np.uint32), np.empty(0)
    if len(symbols) != len(logprobs) or not _are_symbols(symbols) or not all(map(_is_number, logprobs)):
        raise _FaultError(f'"unigrams" has other values; {_TWO_LISTS}')
    if any(a >= b for a, b in pairwise(symbols)):
        raise _FaultError(f'"unigrams" is out of order; {_TWO_LISTS}')
    with np.errstate(over="ignore"):
        single = np.array(logprobs, dtype=np.float64).astype(np.float32)
    if not np.isfinite(single).all():
        raise _FaultError(f'"unigrams" goes beyond single precision; {_TWO_LISTS}')
    return np.array(symbols, dtype=np.uint32), single.astype(np.float64)


def _is_kind(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value != UNIGRAM and is_text(value)


def _is_number(value: object) -> bool:
    """Whether it is a finite JSON number that a float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _are_symbols(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(type(symbol) is int and 0 < symbol <= _HIGHEST_SYMBOL for symbol in value)
