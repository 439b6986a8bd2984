"""The vectors of a collection's documents, out of a Faiss index in Pyserini's layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.arrays import Floats
from seal_ir.baselines.dense.index_dir import DOCIDS, INDEX, is_faiss_index
from seal_ir.errors import IndexDirError, InputError
from seal_ir.formats.io.files import iter_lines, shown

_BUILD = "build one with python -m seal_ir.baselines.dense"


def read_rows(directory: Path) -> dict[str, int]:
    """The row of each document of an index.

    Raises:
        IndexDirError: no index is there, or it holds an id twice.
    """
    if not is_faiss_index(directory):
        raise IndexDirError(f"{directory}: no Faiss index; {_BUILD}")
    rows: dict[str, int] = {}
    for number, line in iter_lines(directory / DOCIDS):
        docid = line.strip()
        if docid in rows:
            raise IndexDirError(
                f"{directory / DOCIDS}:{number}: id {shown(docid)} comes twice; {_BUILD} of distinct ids"
            )
        rows[docid] = number - 1
    return rows


def read_vectors(directory: Path, rows: dict[str, int], docids: Sequence[str]) -> Floats:
    """The vectors of documents, float32 [n_documents, dimension], in the order of `docids`.

    Memory holds the vectors twice while they are read.

    Args:
        directory: the index.
        rows: see `read_rows`.
        docids: the documents whose vectors are wanted.

    Raises:
        IndexDirError: Faiss cannot read the index or give its vectors back, its ids are not as many as its
            vectors, or a vector is not finite.
        InputError: a document has no vector.
    """
    absent = next((docid for docid in docids if docid not in rows), None)
    if absent is not None:
        n_absent = sum(docid not in rows for docid in docids)
        raise InputError(
            f"{directory}: has no vector of {n_absent:,} of {len(docids):,} documents, such as"
            f" {shown(absent)}; {_BUILD} of this collection"
        )
    vectors = _all_vectors(directory, len(rows))
    wanted = np.array([rows[docid] for docid in docids], np.int64)
    if not np.array_equal(wanted, np.arange(len(vectors))):
        vectors = vectors[wanted]
    odd = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(odd):
        raise IndexDirError(
            f"{directory}: the vector of document {shown(docids[odd[0]])} holds numbers that are not finite;"
            f" {_BUILD} anew"
        )
    return vectors


def _all_vectors(directory: Path, n_docids: int) -> Floats:
    import faiss

    try:
        index: Any = faiss.read_index(str(directory / INDEX))
    except (RuntimeError, MemoryError) as error:  # Faiss's own, which may want any amount for what is damaged
        raise _unreadable(directory, "read it", error) from error
    if index is None:  # Faiss has a word for no index
        raise IndexDirError(f"{directory / INDEX}: holds no index; {_BUILD}")
    if index.ntotal != n_docids:
        raise IndexDirError(
            f"{directory}: {index.ntotal:,} vectors and {n_docids:,} ids; remove the index and {_BUILD}"
        )
    try:
        index.reconstruct(0)  # of all at once, Faiss's threads would end the process where it cannot
        return np.asarray(index.reconstruct_n(0, index.ntotal), np.float32)
    except RuntimeError as error:
        raise _unreadable(directory, "give the vectors of this kind of index back", error) from error


def _unreadable(directory: Path, what: str, error: Exception) -> IndexDirError:
    reason = " ".join(str(error).split())[:200]
    return IndexDirError(f"{directory / INDEX}: Faiss cannot {what} ({reason}); {_BUILD}")
