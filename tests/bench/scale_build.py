"""A large index made of a small one: its documents several times over, built in this process and measured.

`python tests/bench/scale_build.py --index DIR [--source wikipedia-sample] [--documents N] [--copies 7]
[--segment-tokens N] [--output FILE]`. Copy 0 has the documents as they are; in every further one ids are new
and the words of each text are permuted, so that single words are as frequent as in a larger collection of the
kind, and n-grams are new. Tokens are taken from the source: the tokenizer's time is measured by itself, over
the documents' texts (`--texts`, 20,000; 0 for none). With `--max-segments N` the index in DIR is merged
instead.

Seconds are CPU seconds of this process, without making the copies.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from search_parts import peak_rss

from seal_ir.arrays import Bools, Ints, Symbols
from seal_ir.formats.io.resolve import Places
from seal_ir.index import builder
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import Manifest
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index
from seal_ir.index.segmenting import Tokenised, tokenised
from seal_ir.records import Document
from seal_ir.text.symbols import FIRST_TOKEN, TITLE_END
from seal_ir.text.words import FieldEncoder

_BATCH = 1000
_SPACE = "\u0120"  # how byte-level tokenizers write a space


class Phases:
    """CPU seconds by phase of a build, which tells when one begins; those of all segments together."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._phase, self._since = "", time.process_time()

    def told(self, phase: str, done: int) -> None:
        """A phase begins, or goes on."""
        name = phase.rpartition(": ")[2]
        if name == self._phase:
            return
        now = time.process_time()
        self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = name, now
        print(f"{phase}: {done:,} documents, peak {peak_rss() >> 20:,} MiB", flush=True)

    def finished(self) -> dict[str, float]:
        """After the last one."""
        self.told("", 0)
        return {name: seconds for name, seconds in self._seconds.items() if name}


def copies(source: Index, n_documents: int, n: int, phases: Phases) -> Iterator[Tokenised]:
    """The first documents, all copies, with their streams."""
    begins = _word_starts(source)
    for copy in range(n):
        chance = np.random.default_rng(copy)
        for at in range(0, n_documents, _BATCH):
            phases.told("copying", at)
            numbers = np.arange(at, min(at + _BATCH, n_documents))
            offsets, symbols = source.extract(numbers)
            if copy:
                symbols = permuted(offsets, symbols, begins, chance)
            names = [source.docid(number) for number in numbers.tolist()]
            phases.told("writing streams", at)
            for name, lo, hi in zip(names, offsets[:-1], offsets[1:], strict=True):
                document = Document(f"{name}/{copy}" if copy else name, "", "")
                yield Tokenised(document, symbols[lo:hi], exact=True)


def _word_starts(source: Index) -> Bools:
    """By symbol, whether its token begins a word."""
    pieces = json.loads(source.tokenizer.definition)["model"]["vocab"]
    found = np.zeros(FIRST_TOKEN + source.tokenizer.n_vocabulary, dtype=bool)
    found[[FIRST_TOKEN + token for piece, token in pieces.items() if piece.startswith(_SPACE)]] = True
    return found


def permuted(offsets: Ints, symbols: Symbols, begins: Bools, chance: np.random.Generator) -> Symbols:
    """Streams with the words of their texts in another order; titles stay."""
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    is_end = symbols == TITLE_END
    text_at = np.flatnonzero(is_end) + 1  # each stream has one title
    in_text = np.arange(len(symbols)) >= text_at[document]
    word = np.cumsum(begins[symbols] | is_end | ~in_text)
    keys = np.where(in_text, chance.random(int(word[-1]) + 1)[word], -1.0)
    return np.ascontiguousarray(symbols[np.lexsort((word, keys, document))])


def built(args: argparse.Namespace) -> tuple[Manifest, dict[str, float]]:
    """Build the index; CPU seconds by phase."""
    phases = Phases()
    source = Index(find_index(args.source, Places.from_environment()))
    options = BuildOptions(max_segment_tokens=args.segment_tokens)
    about = lambda: {"model": source.manifest.model, "collection": {"kind": "copies"}}  # noqa: E731
    n_documents = min(args.documents or source.n_documents, source.n_documents)
    with patch.object(builder, "tokenised", lambda *_: copies(source, n_documents, args.copies, phases)):
        manifest = build_index([], args.index, source.tokenizer, about, options, phases.told)
    seconds = phases.finished()
    seconds.pop("copying")
    return manifest, seconds


def tokenising(args: argparse.Namespace) -> dict[str, float]:
    """CPU nanoseconds a token of the tokenizer, there and back, over texts of the source."""
    source = Index(find_index(args.source, Places.from_environment()))
    documents = source.documents(np.arange(min(args.texts, source.n_documents)))
    since = time.process_time()
    items = tokenised(documents, FieldEncoder(source.tokenizer), (), lambda phase, done: None)
    n_tokens = sum(len(item.symbols) for item in items)
    return {"n_tokens": n_tokens, "ns_per_token": 1e9 * (time.process_time() - since) / n_tokens}


def merged(args: argparse.Namespace) -> tuple[Manifest, dict[str, float]]:
    """Merge the index; CPU seconds by phase."""
    phases = Phases()
    with SealIndexer(args.index, progress=phases.told) as writer:
        phases.told("reading segments", 0)
        writer.merge(args.max_segments)
        return writer.manifest, phases.finished()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--source", default="wikipedia-sample")
    parser.add_argument("--documents", type=int, help="the first so many of the source; default all")
    parser.add_argument("--copies", type=int, default=7)
    parser.add_argument("--segment-tokens", type=int, default=1 << 24)
    parser.add_argument("--max-segments", type=int)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/scale-build.json"))
    args = parser.parse_args()
    started = time.perf_counter()
    manifest, seconds = built(args) if args.max_segments is None else merged(args)
    n_tokens, total = manifest.n_tokens, sum(seconds.values())
    found: dict[str, Any] = {
        "n_documents": manifest.n_documents,
        "n_tokens": n_tokens,
        "n_segments": len(manifest.segments),
        "seconds": time.perf_counter() - started,
        "cpu_seconds": seconds,
        "cpu_ns_per_token": {
            name: 1e9 * value / n_tokens for name, value in {**seconds, "all": total}.items()
        },
        "peak_bytes": peak_rss(),
        "disk_bytes": manifest.n_bytes,
    }
    if args.max_segments is None and args.texts:
        found["tokenising"] = tokenising(args)
    print(json.dumps(found, indent=2))
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
