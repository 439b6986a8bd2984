"""Word n-grams of the query that occur in the corpus: a tree of symbols that the model only scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.index.reader import Index
from seal_ir.text.symbols import FIRST_TOKEN

MAX_NGRAM_TOKENS = 15  # of one n-gram; longer ones are beyond what a decoding step budget covers
_EDGE = "\"'`.,;:!?()[]{}<>“”‘’«»…"  # punctuation around a word is not part of it


@dataclass(slots=True)
class NgramNode:
    """A prefix of query n-grams; the children extend it by one symbol.

    Attributes:
        symbol: the last symbol of the prefix.
        ranges: its rows, int64 [n_segments, 2].
        whole: whether the prefix is itself an n-gram of the query.
        children: longer prefixes.
    """

    symbol: int
    ranges: Ints
    whole: bool = False
    children: list[NgramNode] = field(default_factory=list)


def query_ngrams(index: Index, query: str, max_words: int, spare: bool = False) -> list[NgramNode]:
    """The n-grams of 1 to `max_words` words of a query, in several capitalisations, that occur.

    `spare` leaves out those that occur as often as a shorter one that they begin with, and so lie over it.

    Returns:
        The roots of a forest; every node occurs in the corpus, every leaf is a whole n-gram.
    """
    wanted = _sequences(index, query, max_words)
    return _forest(wanted, index.find_all(wanted), spare)


def _sequences(index: Index, query: str, max_words: int) -> set[tuple[int, ...]]:
    """The n-grams of words of a query as symbols, whether they occur or not."""
    texts = _variants(query, max_words)
    encoded = index.tokenizer.encode_fields(texts)
    sequences = {tuple(token + FIRST_TOKEN for token in ids) for ids in encoded}
    return {sequence for sequence in sequences if 0 < len(sequence) <= MAX_NGRAM_TOKENS}


def _forest(
    wanted: Collection[tuple[int, ...]], rows: Mapping[tuple[int, ...], Ints], spare: bool
) -> list[NgramNode]:
    """Those n-grams that occur, by the rows of all that they begin with; `spare`: see `query_ngrams`."""
    root = NgramNode(-1, rows[()])
    nodes: dict[tuple[int, ...], NgramNode] = {(): root}
    prefixes = {sequence[:length] for sequence in wanted for length in range(1, len(sequence) + 1)}
    for prefix in sorted(prefixes):  # a beginning before what begins with it
        ranges = rows[prefix]
        if (ranges[:, 1] > ranges[:, 0]).any():
            nodes[prefix] = NgramNode(prefix[-1], ranges, whole=prefix in wanted)
            nodes[prefix[:-1]].children.append(nodes[prefix])
    if spare:
        _spare(root, 0)
    return _pruned(root).children


def _variants(query: str, max_words: int) -> list[str]:
    """Distinct word n-grams as written, lower case, each word capitalised, and upper case."""
    words = [word for word in (raw.strip(_EDGE) for raw in query.split()) if word]
    found: dict[str, None] = {}
    for n in range(1, max_words + 1):
        for i in range(len(words) - n + 1):
            ngram = words[i : i + n]
            capitalised = " ".join(word[:1].upper() + word[1:] for word in ngram)
            text = " ".join(ngram)
            for variant in (text, text.lower(), capitalised, text.upper()):
                found[variant] = None
    return list(found)


def _pruned(node: NgramNode) -> NgramNode:
    """The node without descendants that lead to no whole n-gram."""
    node.children = [child for child in map(_pruned, node.children) if child.whole or child.children]
    return node


def _spare(node: NgramNode, count: int) -> None:
    """Let no node be whole that occurs `count` times, as often as the last whole one above it."""
    for child in node.children:
        its = _count(child)
        child.whole &= its != count
        _spare(child, its if child.whole else count)


def _count(node: NgramNode) -> int:
    return int((node.ranges[:, 1] - node.ranges[:, 0]).sum())


class Forced(NamedTuple):
    """A prefix of the query's n-grams."""

    row: int  # of the session
    job: int
    node: NgramNode
    symbols: tuple[int, ...]
    logprob: float


class Scored(NamedTuple):
    """An n-gram of the query that the model has read to its end."""

    job: int
    symbols: tuple[int, ...]
    logprob: float
    ranges: Ints  # [n_segments, 2]


def forced_roots(
    index: Index, queries: Sequence[tuple[int, str]], max_words: int, spare: bool = False
) -> list[Forced]:
    """The n-grams of each query [job, text], all under one node without a symbol, in the rows of the jobs."""
    if not max_words:
        return []
    wanted = [_sequences(index, text, max_words) for _, text in queries]
    rows = index.find_all(set().union(*wanted))  # of all queries in one go
    return [
        Forced(job, job, NgramNode(-1, rows[()], children=_forest(sequences, rows, spare)), (), 0.0)
        for (job, _), sequences in zip(queries, wanted, strict=True)
    ]


class Extensions(NamedTuple):
    """All n-grams by one symbol longer, as pairs of a prefix and a child of its node."""

    prefixes: list[Forced]
    children: list[NgramNode]

    @property
    def rows(self) -> Ints:
        """The row of each prefix, int64 [n]."""
        return np.array([prefix.row for prefix in self.prefixes], dtype=np.int64)

    @property
    def tokens(self) -> Ints:
        """The token of each child, int64 [n]."""
        return np.array([child.symbol - FIRST_TOKEN for child in self.children], dtype=np.int64)


def extensions_of(forced: Sequence[Forced], n_vocabulary: int) -> Extensions:
    """What prefixes become next, those to tokens that the model does not know left out."""
    found = [
        (prefix, child)
        for prefix in forced
        for child in prefix.node.children
        if child.symbol - FIRST_TOKEN < n_vocabulary
    ]
    return Extensions([prefix for prefix, _ in found], [child for _, child in found])


def extended(extensions: Extensions, logprobs: Floats) -> tuple[list[Scored], list[Forced]]:
    """Extend prefixes, now that the model has said how likely that is.

    Args:
        extensions: by which tokens; a prefix that is itself an extension comes after it.
        logprobs: of these tokens, float32 [n].

    Returns:
        The n-grams that are whole, and the prefixes that go on, in the rows of those that they extend.
    """
    whole: list[Scored] = []
    going: list[Forced] = []
    known = {(prefix.job, prefix.symbols): prefix.logprob for prefix in extensions.prefixes}
    for prefix, child, token_logprob in zip(*extensions, logprobs.tolist(), strict=True):
        logprob = known[prefix.job, prefix.symbols] + token_logprob
        symbols = (*prefix.symbols, child.symbol)
        if (prefix.job, symbols) in known:
            known[prefix.job, symbols] = logprob
        elif child.children and logprob > -math.inf:  # what is impossible stays so
            going.append(Forced(prefix.row, prefix.job, child, symbols, logprob))
        if child.whole and logprob > -math.inf:
            whole.append(Scored(prefix.job, symbols, logprob, child.ranges))
    return whole, going


class Placed(NamedTuple):
    """Prefixes in new rows, and what these are: the row that each continues, and by which token."""

    prefixes: list[Forced]
    rows: Ints
    tokens: Ints


def placed(
    going: Sequence[Forced], rows: Ints, tokens: Ints, n_nested: int = 0, n_vocabulary: int = 0
) -> Placed:
    """Give prefixes new rows behind those of the beams; one that a beam has written too shares its row.

    Args:
        going: the prefixes, each with the row that it continues.
        rows: the rows that beams continue.
        tokens: by which tokens.
        n_nested: rows that the session has now, if all that extends the prefixes is to be read in one go:
            then row n_nested + i is new row i. 0: only the prefixes themselves are.
        n_vocabulary: tokens that the model knows.
    """
    taken = {pair: i for i, pair in enumerate(zip(rows.tolist(), tokens.tolist(), strict=True))}
    prefixes = list(going)
    for at, prefix in enumerate(prefixes):
        row = taken.setdefault((prefix.row, prefix.symbols[-1] - FIRST_TOKEN), len(taken))
        prefixes[at] = prefix._replace(row=row)
        if n_nested:
            prefixes += [
                Forced(n_nested + row, prefix.job, child, (*prefix.symbols, child.symbol), np.nan)
                for child in prefix.node.children
                if child.children and child.symbol - FIRST_TOKEN < n_vocabulary
            ]
    pairs = np.array(list(taken), dtype=np.int64).reshape(-1, 2)
    return Placed(prefixes, pairs[:, 0], pairs[:, 1])
