"""Word n-grams of the query that occur in the corpus, as a tree of symbols to be scored by the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.index.reader import Index
from seal_ir.text.symbols import to_symbols

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


def query_ngrams(index: Index, query: str, max_words: int) -> list[NgramNode]:
    """The n-grams of 1 to `max_words` words of a query, in several capitalisations, that occur.

    Returns:
        The roots of a forest; every node occurs in the corpus, every leaf is a whole n-gram.
    """
    texts = _variants(query, max_words)
    sequences = {tuple(to_symbols(ids).tolist()) for ids in index.tokenizer.encode_fields(texts)}
    wanted = sorted(sequence for sequence in sequences if 0 < len(sequence) <= MAX_NGRAM_TOKENS)
    nodes: dict[tuple[int, ...], NgramNode] = {}
    root = NgramNode(-1, index.everything)
    nodes[()] = root
    for depth in range(1, MAX_NGRAM_TOKENS + 1):
        prefixes = sorted({seq[:depth] for seq in wanted if len(seq) >= depth and seq[: depth - 1] in nodes})
        if not prefixes:
            break
        parents = np.stack([nodes[prefix[:-1]].ranges for prefix in prefixes])
        symbols = np.array([prefix[-1] for prefix in prefixes], dtype=np.uint32)
        for prefix, ranges in zip(prefixes, index.extend(parents, symbols), strict=True):
            if (ranges[:, 1] > ranges[:, 0]).any():
                nodes[prefix] = NgramNode(prefix[-1], ranges, whole=prefix in sequences)
                nodes[prefix[:-1]].children.append(nodes[prefix])
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
