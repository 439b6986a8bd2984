"""Generative retrieval for Pyserini users: a language model that can only write what the corpus contains.

Importing this package loads neither torch nor Pyserini, starts no JVM and opens no connection; the
public names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seal_ir.config import DecodeConfig, RankConfig, SearchConfig
    from seal_ir.encode.encoder import SealQueryEncoder
    from seal_ir.errors import SealError
    from seal_ir.index.filters import Filter
    from seal_ir.index.indexer import SealIndexer
    from seal_ir.index.reader import Index
    from seal_ir.records import Document, Hit, Key, Query, ScoredKey
    from seal_ir.search.searcher import SealSearcher

    SimpleSearcher = SealSearcher

_HOMES = {
    "DecodeConfig": "seal_ir.config",
    "Document": "seal_ir.records",
    "Filter": "seal_ir.index.filters",
    "Hit": "seal_ir.records",
    "Index": "seal_ir.index.reader",
    "Key": "seal_ir.records",
    "Query": "seal_ir.records",
    "RankConfig": "seal_ir.config",
    "ScoredKey": "seal_ir.records",
    "SealError": "seal_ir.errors",
    "SealIndexer": "seal_ir.index.indexer",
    "SealQueryEncoder": "seal_ir.encode.encoder",
    "SealSearcher": "seal_ir.search.searcher",
    "SearchConfig": "seal_ir.config",
    "SimpleSearcher": "seal_ir.search.searcher",
}
__all__ = [
    "DecodeConfig",
    "Document",
    "Filter",
    "Hit",
    "Index",
    "Key",
    "Query",
    "RankConfig",
    "ScoredKey",
    "SealError",
    "SealIndexer",
    "SealQueryEncoder",
    "SealSearcher",
    "SearchConfig",
    "SimpleSearcher",
]
__version__ = version("seal-ir")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seal_ir' has no attribute {name!r}")
    # Pyserini renamed its SimpleSearcher; ours answers to both names.
    return getattr(import_module(_HOMES[name]), "SealSearcher" if name == "SimpleSearcher" else name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
