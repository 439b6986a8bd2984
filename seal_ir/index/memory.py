"""What a build takes of memory, counted before it begins, and the budget that a user gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.extensions import NATIVE
from seal_ir.index.engine import EngineSpec, build_memory
from seal_ir.index.native import MAX_SUFFIXES

MAX_NARROW = 1 << 16  # distinct symbols that sort as two bytes each
MAX_SEGMENT_TOKENS = 1 << 30
LEAST_TOKENS = 1 << 18  # a budget that holds no segment of as many is refused
# Of the process that reads: interpreter and a batch of documents, tokenizer, ids and a segment's own tables.
# SmolLM2's tokenizer (49,152 tokens) takes 88 MiB, the whole process 171 MiB, and 80 bytes a document.
READER, READER_PER_SYMBOL, READER_PER_DOCUMENT = 112 << 20, 2560, 128
WORKER = 80 << 20  # interpreter and modules of a process that builds a segment: 70 MiB
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class Size:
    """What a segment holds: the counts that its build's memory depends on."""

    n_documents: int = 0
    n_tokens: int = 0
    n_distinct: int = 0


def parse_size(text: str) -> int:
    """Bytes of `2G`, `1500M`, `800000K` or a plain number; units are powers of 1024.

    Raises:
        UsageError: it is no size.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if not found or float(found[1]) == 0:
        raise UsageError(f"--memory {text!r}: not a size; write it as 2G or 1500M")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def segment_limit(spec: EngineSpec, n_distinct: int) -> int:
    """The most tokens that one segment may have: half as many where its symbols do not fit two bytes."""
    if spec.name != NATIVE:
        return MAX_SEGMENT_TOKENS
    return MAX_SUFFIXES // (4 if n_distinct > MAX_NARROW else 2)


def segment_memory(spec: EngineSpec, size: Size) -> int:
    """Bytes that building one segment takes at its peak, in a process of its own, its input included."""
    inputs = 4 * size.n_tokens + 8 * size.n_documents
    return WORKER + inputs + build_memory(spec, size.n_tokens, size.n_distinct)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much memory a build may take.

    Attributes:
        spec: the engine that is built.
        n_symbols: size of the alphabet.
        n_bytes: all processes together; None for no limit.
    """

    spec: EngineSpec
    n_symbols: int
    n_bytes: int | None = None

    def reader(self, n_documents: int) -> int:
        """Bytes that the process takes which reads and tokenizes, after so many documents."""
        return READER + READER_PER_SYMBOL * self.n_symbols + READER_PER_DOCUMENT * n_documents

    def check(self, n_read: int = 0) -> None:
        """Refuse a budget that does not hold a small segment.

        Args:
            n_read: documents read before that segment.

        Raises:
            UsageError: before anything is read.
            IndexDirError: later.
        """
        least = self.reader(n_read) + segment_memory(self.spec, Size(n_tokens=LEAST_TOKENS))
        if self.fits(least):
            return
        needed = f"at least {-(-least >> 20):,} MiB are needed"
        if n_read:
            raise IndexDirError(
                f"the memory does not suffice after {n_read:,} documents: {needed}; see --memory"
            )
        raise UsageError(f"--memory {(self.n_bytes or 0) >> 20:,} MiB is too little: {needed} by any build")

    def holds(self, n_read: int, size: Size) -> bool:
        """Whether a segment of this size can be built after `n_read` documents."""
        return self.fits(self.reader(n_read) + segment_memory(self.spec, size))

    def fits(self, n_bytes: int) -> bool:
        """Whether so many bytes are within the budget."""
        return self.n_bytes is None or n_bytes <= self.n_bytes
