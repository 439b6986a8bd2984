"""An index whose segments lie in shards elsewhere, behind the interface of `Index`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seal_ir.arguments import text, whole, wholes
from seal_ir.arrays import Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.distributed.asking import Asking
from seal_ir.distributed.messages import Found, Shards, Within
from seal_ir.distributed.ranking import merged, taken_of, wanted_of
from seal_ir.distributed.tree import as_ranges, numbers_of
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.collections.stored import StoredValue
from seal_ir.index.engine import Occurrences, Successors
from seal_ir.index.manifest import Manifest
from seal_ir.index.opening import other_tokenizer
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import ranked_of
from seal_ir.rank.weights import WeightedQuery, weigh
from seal_ir.records import Document, QueryKeys, Range, Ranked
from seal_ir.text.tokenizer import TextTokenizer

_MOST_IDS = 1 << 20  # ids of ranked documents that are kept
Opened = Callable[[Path], tuple[Manifest, Shards]]


class ShardedIndex(Index):
    """An index whose segments lie in shards. Safe to use from several threads; answers never change.

    Ranges are int64 [..., 1, 2] here: the number of an n-gram, and that number plus F(n). They serve where
    those of an `Index` do, and stand for rows that stay in the shards. A number means nothing to another
    index than the one, or the session, that gave it; keys are ranked by their symbols.

    Attributes:
        directory, manifest, n_documents, n_tokens: see `Index`.
        stores: None; the shards have them.
        shards: who answers.
    """

    is_remote = True

    def __init__(self, directory: Path, opened: Opened) -> None:
        """Of the shards of a directory.

        Args:
            directory: the index, as shards find it, too.
            opened: gives the generation that lies there now, and its shards.

        Raises:
            SealError: there is no sound index, or its shards cannot be had.
        """
        self.directory = directory
        self._place, self._opening = directory.absolute(), opened
        self.manifest, self.shards = opened(self._place)
        self.n_documents, self.n_tokens = self.manifest.n_documents, self.manifest.n_tokens
        self.stores = None
        self._bases = self.shards.bases
        self._ids: dict[int, str] = {}
        self._within, self._given = Within(), [None] * self.n_shards
        self._asking = self._new_asking()

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedIndex, (self.directory, self._opening)

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return len(self.shards.bases) - 1

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """See `Index.tokenizer`."""
        file = self._place / self.manifest.tokenizer_file
        try:
            data = file.read_bytes()
        except OSError as error:
            raise IndexDirError(f"{file}: cannot be read ({error.strerror})") from error
        tokenizer = TextTokenizer.from_bytes(data, file)
        if tokenizer.fingerprint != self.manifest.tokenizer:
            raise other_tokenizer(file)
        return tokenizer

    def reopened(self) -> Index:
        """See `Index.reopened`; in new shards."""
        return ShardedIndex(self.directory, self._opening)

    # n-grams

    def session(self) -> Self:
        """See `Index.session`."""
        # Without `Index`'s way of copying, which opens it again.
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.pop("first_symbols", None)  # whose numbers are those of another tree
        made._asking = self._asking.session()
        return made

    def expect(self, ranges: Ints) -> None:
        """See `Index.expect`: what follows them comes with the next answer."""
        self._asking.expect(ranges)

    @cached_property
    def everything(self) -> Ints:
        """See `Index.everything`."""
        n_rows = np.array([sum(self._ask("n_rows"))])
        root: Ints = as_ranges(np.zeros(1, np.int64), n_rows)[0]
        return root

    @cached_property
    def first_symbols(self) -> Successors:
        """See `Index.first_symbols`."""
        return self._asking.first_symbols()

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """See `Index.extend`."""
        return self._asking.extend(ranges, symbols)

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """See `Index.verify`."""
        width = candidates.shape[1]
        flat = self._asking.extend(np.repeat(ranges, width, axis=0), candidates.reshape(-1))
        return flat.reshape(len(ranges), width, 1, 2)

    def successors(self, ranges: Ints) -> Successors:
        """See `Index.successors`."""
        return self._asking.successors(ranges)

    def find(self, symbols: Sequence[int]) -> tuple[Range, ...]:
        """See `Index.find`."""
        ngram = tuple(int(symbol) for symbol in wholes(symbols, "symbols"))
        return tuple(Range(lo, hi) for lo, hi in self.find_all([ngram])[ngram].tolist())

    def find_all(self, ngrams: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Ints]:
        """See `Index.find_all`; one round trip for all of them."""
        return {(): self.everything, **self._asking.find_all(ngrams)}

    def locate(self, ranges: Iterable[tuple[Range, ...]]) -> Occurrences:
        """See `Index.locate`."""
        grid = np.array(list(ranges), dtype=np.int64).reshape(-1, 1, 2)
        ngrams = self._asking.tree.ngrams(numbers_of(grid))
        parts: list[Occurrences] = self._ask("located", ngrams)
        sizes = [np.diff(part.offsets) for part in parts]
        owner = np.concatenate([np.repeat(np.arange(len(grid)), size) for size in sizes])
        order = np.argsort(owner, kind="stable")
        offsets = np.searchsorted(owner[order], np.arange(len(grid) + 1))
        documents = np.concatenate([part.documents for part in parts])[order]
        return Occurrences(offsets, documents, np.concatenate([part.ends for part in parts])[order])

    def locate_row(self, segment: int, row: int) -> tuple[int, int]:
        """Rows stay in the shards: what walks through them runs on one machine.

        Raises:
            UsageError: always.
        """
        raise UsageError("the published preset is a baseline of one machine; leave out --ray")

    def value_lengths(self, field: str) -> Ints:
        """See `Index.value_lengths`."""
        if field not in self._lengths:
            self.marks(field)  # refuses what is not there
            parts: list[Ints] = self.shards.ask("value_lengths", [(field,)] * self.n_shards)
            summed = np.zeros(max(map(len, parts)), dtype=np.int64)
            for part in parts:
                summed[: len(part)] += part
            self._lengths[field] = summed
        return self._lengths[field]

    # ranking

    def rank(self, query_keys: QueryKeys, config: RankConfig, n_hits: int) -> list[Ranked]:
        """The best documents for a query's keys, as `seal_ir.rank.ranker.rank` has them.

        One round trip; two more where rare keys are in fewer than `n_hits` documents.

        Raises:
            IndexDirError: a file of the index turns out to be damaged.
            ClusterError: a shard is lost.
        """
        keys = weigh(query_keys, config, self.n_tokens)
        query = WeightedQuery.of(keys, query_keys.unigrams, config, self.n_tokens)
        wanted = wanted_of(query, config, n_hits)
        found: list[Found] = self._ask("ranked", wanted, 0, None)
        n_rare = [part.n_rare for part in found]
        if sum(n_rare) < n_hits and len(wanted.frequent):
            added: list[Ints] = self._ask("holders", wanted)
            counts = [keys[i].key.count for i in wanted.frequent.tolist()]
            taken = taken_of(n_rare, added, counts, wanted)
            found = self.shards.ask(
                "ranked",
                [
                    (self._within, given, wanted, taken.n_keys, limit)
                    for given, limit in zip(self._given, taken.limits, strict=True)
                ],
            )
        best, docids = merged(found, n_hits)
        if len(self._ids) + len(docids) > _MOST_IDS:
            self._ids.clear()
        self._ids.update(docids)
        return ranked_of(best, query, n_hits, docids.__getitem__)

    # documents

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Index.extract`."""
        streams: list[Symbols] = [np.empty(0, np.uint32)] * len(documents)
        for places, (offsets, symbols) in self._by_shard("extracted", documents):
            for i, lo, hi in zip(places, offsets[:-1], offsets[1:], strict=True):
                streams[i] = symbols[lo:hi]
        lengths = np.array([0, *map(len, streams)], dtype=np.int64)
        return np.cumsum(lengths), np.concatenate([np.empty(0, np.uint32), *streams])

    def extract_indexed(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Index.extract_indexed`; the shards read where they read fastest."""
        return self.extract(documents)

    def documents(self, numbers: Sequence[int] | Ints) -> list[Document]:
        """See `Index.documents`."""
        return self._of_documents("documents", wholes(numbers, "documents"))

    def raws(self, numbers: Sequence[int] | Ints) -> list[str | None]:
        """See `Index.raws`."""
        return self._of_documents("raws", wholes(numbers, "documents"))

    def stored_values(self, numbers: Sequence[int] | Ints) -> list[tuple[tuple[str, StoredValue], ...]]:
        """See `Index.stored_values`."""
        return self._of_documents("stored_values", wholes(numbers, "documents"))

    def docid(self, number: int) -> str:
        """See `Index.docid`; those of documents that were ranked lately are here."""
        known = max(-1, min(whole(number, "document"), self.n_documents))  # of 64 bits
        found = self._ids.get(known)
        if found is None:
            (found,) = self._of_documents("docids", np.array([known], dtype=np.int64))
        return found

    def number(self, docid: str) -> int | None:
        """See `Index.number`."""
        answers = self.shards.ask("number", [(text(docid, "docid"),)] * self.n_shards)
        return next((number for number in answers if number is not None), None)

    def was_deleted(self, docid: str) -> bool:
        """See `Index.was_deleted`."""
        return any(self.shards.ask("was_deleted", [(text(docid, "docid"),)] * self.n_shards))

    def numbers_of(self, docids: Sequence[str]) -> Ints:
        """See `Index.numbers_of`."""
        return np.concatenate(self.shards.ask("numbers_of", [(list(docids),)] * self.n_shards))

    def matching(self, condition: pc.Expression) -> Ints:
        """See `Index.matching`."""
        return np.concatenate(self.shards.ask("matching", [(condition,)] * self.n_shards))

    def stored_tables(self) -> Iterator[pa.Table]:
        """See `Index.stored_tables`; a shard's are one."""
        for s in range(self.n_shards):
            arguments: list[tuple[Any, ...] | None] = [None] * self.n_shards
            arguments[s] = ()
            yield from self.shards.ask("stored", arguments)[s]

    def engine_sizes(self) -> dict[str, int]:
        """See `Index.engine_sizes`."""
        sizes: dict[str, int] = {}
        for part in self.shards.ask("engine_sizes", [()] * self.n_shards):
            for name, n_bytes in part.items():
                sizes[name] = sizes.get(name, 0) + n_bytes
        return sizes

    def _new_asking(self) -> Asking:
        return Asking(self.shards, self._within, self._given)

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """All shards, of the documents that are looked at."""
        each = [(self._within, given, *arguments) for given in self._given]
        return self.shards.ask(method, each)

    def _by_shard(self, method: str, numbers: Ints) -> list[tuple[list[int], Any]]:
        """The places of the documents of each shard that has some, and its answer."""
        shard = self._segment_of(numbers)
        places = [np.flatnonzero(shard == s) for s in range(self.n_shards)]
        answers = self.shards.ask(method, [(numbers[at],) if len(at) else None for at in places])
        return [(at.tolist(), answer) for at, answer in zip(places, answers, strict=True) if len(at)]

    def _of_documents(self, method: str, numbers: Ints) -> list[Any]:
        found: list[Any] = [None] * len(numbers)
        for places, answers in self._by_shard(method, numbers):
            for at, answer in zip(places, answers, strict=True):
                found[at] = answer
        return found
