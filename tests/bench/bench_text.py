"""What the index benchmark indexes and asks: streams of documents, and n-grams drawn from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BOUNDARY = 1
FIRST_WORD = 16
DOCUMENT_LENGTH = 130
SEED = 20
BEAMS = 15
WIDTH = 64  # candidates of a beam


class Text(NamedTuple):
    """Streams in reading order, as engines want them."""

    symbols: np.ndarray  # uint32 [n]
    starts: np.ndarray  # int64 [n_documents]

    def head(self, n_tokens: int) -> Text:
        """The first documents, as many as hold `n_tokens`."""
        n_documents = max(1, int(np.searchsorted(self.starts, n_tokens, side="right")) - 1)
        if n_tokens >= len(self.symbols):
            return self
        return Text(self.symbols[: self.starts[n_documents]].copy(), self.starts[:n_documents].copy())

    def save(self, folder: Path) -> None:
        np.save(folder / "symbols.npy", self.symbols)
        np.save(folder / "starts.npy", self.starts)


def load(folder: Path) -> Text:
    return Text(np.load(folder / "symbols.npy"), np.load(folder / "starts.npy"))


def synthetic_text(n_tokens: int, n_words: int = 50_000) -> Text:
    """About `n_tokens` tokens by Zipf's law; 0.6 are drawn from the few that follow the token before."""
    source = np.random.default_rng(SEED)
    weights = 1 / (np.arange(n_words) + 2.7) ** 1.05
    cumulative = np.cumsum(weights / weights.sum())
    n_documents = max(1, n_tokens // DOCUMENT_LENGTH)
    words = np.zeros((n_documents, DOCUMENT_LENGTH), dtype=np.int64)
    for position in range(1, DOCUMENT_LENGTH):
        choice = source.geometric(0.15, n_documents).astype(np.uint64)
        before = words[:, position - 1].astype(np.uint64)
        mixed = (before * np.uint64(1_000_003) + choice) * np.uint64(0x9E3779B97F4A7C15)
        following = (mixed >> np.uint64(11)).astype(np.float64) / 2**53
        uniform = np.where(source.random(n_documents) < 0.6, following, source.random(n_documents))
        words[:, position] = np.minimum(np.searchsorted(cumulative, uniform), n_words - 1)
    symbols = (words + FIRST_WORD).astype(np.uint32)
    symbols[:, 0] = BOUNDARY
    starts = np.arange(n_documents, dtype=np.int64) * DOCUMENT_LENGTH
    return Text(symbols.reshape(-1), starts)


def text_of_index(name: str) -> Text:
    """The streams of all documents of an index, by its folder or its registered name."""
    from seal_ir.formats.io.resolve import Places
    from seal_ir.index.reader import Index
    from seal_ir.index.registry import named_index

    directory = Path(name) if Path(name).is_dir() else named_index(name, Places.from_environment()).directory
    index = Index(directory)
    offsets, symbols = index.extract(np.arange(index.n_documents, dtype=np.int64))
    return Text(np.ascontiguousarray(symbols), np.ascontiguousarray(offsets[:-1]))


class Ngrams(NamedTuple):
    """Symbols of n-grams one after another, n-gram i at offsets[i]:offsets[i + 1], and their rows."""

    offsets: np.ndarray  # int64 [n + 1]
    symbols: np.ndarray  # uint32 [m]
    ranges: np.ndarray  # int64 [n, 2]

    def part(self, chosen: np.ndarray) -> Ngrams:
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        symbols = self.symbols[np.repeat(self.offsets[:-1][chosen], lengths) + inside]
        return Ngrams(offsets, symbols, np.ascontiguousarray(self.ranges[chosen]))


class Probes(NamedTuple):
    """What is asked."""

    prefixes: Ngrams  # of 1 to 5 symbols from the text, and
    following: np.ndarray  # uint32 [n], the symbol after each, in the same document
    candidates: np.ndarray  # uint32 [n / 8, WIDTH], drawn as single tokens: most do not follow
    lone: np.ndarray  # int64 [2 * n, 2], rows of random prefixes, and
    lone_candidates: np.ndarray  # uint32 [2 * n], one token for each
    wide: Ngrams  # the 200 most frequent tokens
    middling: Ngrams  # of 1,000 to 20,000 rows
    narrow: Ngrams  # of 2 to 200 rows
    rows: np.ndarray  # int64 [20000]
    documents: np.ndarray  # int64 [500]


def make_probes(engine: Any, text: Text, n: int = 19_200) -> Probes:
    """Draw n-grams from the text; `engine` finds their rows."""
    source = np.random.default_rng(SEED + 1)
    ends = np.append(text.starts[1:], len(text.symbols))
    lengths = source.integers(1, 6, n)
    at = np.empty(n, dtype=np.int64)
    for length in range(1, 6):
        usable = np.flatnonzero(ends - text.starts > length + 1)  # a boundary, the n-gram, one after it
        chosen = np.flatnonzero(lengths == length)
        document = usable[source.integers(0, len(usable), len(chosen))]
        room = ends[document] - text.starts[document] - 1 - length
        at[chosen] = text.starts[document] + 1 + (source.random(len(chosen)) * room).astype(np.int64)
    prefixes = _ngrams(engine, text, at, lengths)
    widths = prefixes.ranges[:, 1] - prefixes.ranges[:, 0]
    tokens = text.symbols[text.symbols >= FIRST_WORD]
    words, counts = np.unique(text.symbols, return_counts=True)
    frequent = words[np.argsort(-counts, kind="stable")]
    frequent = frequent[frequent >= FIRST_WORD][:200]
    order = np.argsort(text.symbols, kind="stable")
    one = order[np.searchsorted(text.symbols, frequent, sorter=order)]
    return Probes(
        prefixes,
        text.symbols[at + lengths],
        source.choice(tokens, (n // 8, WIDTH)),
        prefixes.ranges[source.integers(0, n, 2 * n)],
        source.choice(tokens, 2 * n),
        _ngrams(engine, text, one, np.ones(len(one), dtype=np.int64)),
        prefixes.part(np.flatnonzero((widths >= 1000) & (widths <= 20_000))[:960]),
        prefixes.part(np.flatnonzero((widths >= 2) & (widths <= 200))),
        source.integers(1, engine.n_rows, 20_000),
        source.integers(0, len(text.starts), 500),
    )


def _ngrams(engine: Any, text: Text, at: np.ndarray, lengths: np.ndarray) -> Ngrams:
    """The n-grams at these places, with their rows."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    symbols = text.symbols[np.repeat(at, lengths) + inside]
    ranges = np.tile(np.array([[0, engine.n_rows]], dtype=np.int64), (len(at), 1))
    for depth in range(int(lengths.max())):
        deep = np.flatnonzero(lengths > depth)
        ranges[deep] = engine.extend(ranges[deep], text.symbols[at[deep] + depth])
    return Ngrams(offsets, symbols, ranges)
