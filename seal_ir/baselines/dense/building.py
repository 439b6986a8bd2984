"""Building an index block by block, so that a build that is stopped goes on where it was.

Vectors of finished blocks lie in `.NAME.vectors` beside the index, named by a digest of their documents and
the encoder: what has changed meanwhile is encoded again, and nothing else. The index appears in one step.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.baselines.dense.encoding import PassageEncoder, encode
from seal_ir.baselines.dense.index_dir import DOCIDS, INDEX, check_faiss
from seal_ir.command import Progress
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io.disk import unwritable
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.outputs import put_in_place
from seal_ir.index.replacing import working_folder
from seal_ir.records import Document
from seal_ir.search.bm25 import ABOUT
from seal_ir.structured import json_file

BLOCK = 2048  # documents that are lost at most when a build is stopped


@dataclass(frozen=True, slots=True)
class _Block:
    """Documents that are encoded together.

    Attributes:
        docids: theirs.
        file: where their vectors are or will be.
    """

    docids: tuple[str, ...]
    file: Path


def build(
    collection: Collection,
    directory: Path,
    encoder: PassageEncoder,
    about: Mapping[str, Any],
    block: int = BLOCK,
) -> int:
    """Encode a collection and index the vectors by inner product; returns the number of documents.

    The collection is read twice: the first time to count and check it before hours of encoding.

    Args:
        collection: what to encode.
        directory: the index; absent or empty before.
        encoder: of passages.
        about: what to keep in the index beside the encoder's settings.
        block: documents encoded at a time.

    Raises:
        InputError: the collection cannot be read.
        UsageError: there are no documents, `directory` holds something, another process builds it, or it
            cannot be written; Faiss is missing.
    """
    check_faiss("a dense index needs")
    vectors = directory.with_name(f".{directory.name}.vectors")
    try:
        with working_folder(directory) as working:
            vectors.mkdir(exist_ok=True)
            blocks = _planned(collection, vectors, encoder.fingerprint, block)
            if not blocks:
                vectors.rmdir()
                raise UsageError(f"no documents to encode ({collection.counts})")
            _encode_missing(collection, blocks, encoder, block)
            n_documents = _write_index(blocks, working)
            record = {**about, **_settings(encoder), "n_documents": n_documents}
            record["counts"] = str(collection.counts)
            (working / ABOUT).write_text(json_file(record), encoding="utf-8")
            put_in_place(working, directory)
    except OSError as error:
        raise UsageError(unwritable(directory, error.strerror)) from error
    shutil.rmtree(vectors)
    return n_documents


def _settings(encoder: PassageEncoder) -> dict[str, Any]:
    files = encoder.files
    return {
        "family": files.family,
        "pooling": files.pooling,
        "normalised": files.unit_length,
        "max_tokens": files.max_tokens,
        "dtype": str(encoder.dtype).removeprefix("torch."),
        "fingerprint": encoder.fingerprint,
    }


def _blocks(collection: Collection, size: int) -> Iterator[list[Document]]:
    remaining = iter(collection)
    for first in remaining:
        yield [first, *islice(remaining, size - 1)]


def _planned(collection: Collection, folder: Path, fingerprint: str, size: int) -> list[_Block]:
    """The blocks of a collection; files of the folder that belong to none of them are removed."""
    blocks: list[_Block] = []
    for documents in _blocks(collection, size):
        digest = hashlib.sha256(fingerprint.encode())
        for part in chain.from_iterable(document[:3] for document in documents):  # id, title, text
            digest.update(f"{len(part)} {part}".encode())
        docids = tuple(document.id for document in documents)
        blocks.append(_Block(docids, folder / f"{len(blocks):06d}-{digest.hexdigest()[:32]}.npy"))
    for path in {*folder.iterdir()} - {block.file for block in blocks}:
        path.unlink()
    return blocks


def _encode_missing(
    collection: Collection, blocks: Sequence[_Block], encoder: PassageEncoder, size: int
) -> None:
    n_documents = sum(len(block.docids) for block in blocks)
    n_missing = sum(len(block.docids) for block in blocks if not block.file.is_file())
    if n_missing < n_documents:
        sys.stderr.write(f"{n_documents - n_missing:,} of {n_documents:,} documents are encoded already\n")
    progress = Progress(n_missing, "documents encoded")
    for block, documents in zip(blocks, _blocks(collection, size), strict=True):
        if tuple(document.id for document in documents) != block.docids:
            raise UsageError(f"{block.docids[0]}: the collection has changed while it was read; start again")
        if not block.file.is_file():
            with atomic_writer(block.file) as file:
                np.save(file.buffer, encode(encoder, documents))
            progress.advance(len(documents))
    progress.close()


def _write_index(blocks: Sequence[_Block], folder: Path) -> int:
    """Faiss's flat index of all blocks and their ids; returns how many vectors it holds."""
    import faiss

    index: Any = None
    with (folder / DOCIDS).open("w", encoding="utf-8", newline="\n") as file:
        for block in blocks:
            vectors = np.load(block.file)
            index = index or faiss.IndexFlatIP(vectors.shape[1])
            index.add(vectors)
            file.writelines(f"{docid}\n" for docid in block.docids)
    try:
        faiss.write_index(index, str(folder / INDEX))
    except RuntimeError as error:  # Faiss's own, also for a full disk
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{folder / INDEX}: Faiss cannot write it ({reason}); make room") from error
    return int(index.ntotal)
