"""What a writer finds under the ids that its caller gives: documents, or the passages of split ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from seal_ir.errors import InputError, shown
from seal_ir.formats.collections.splitting import DELIMITER, Split, passage_id, passages
from seal_ir.index.changes import Place
from seal_ir.records import Document

Found = dict[str, dict[str, Place]]  # places by the ids in the index, by the ids that were asked for
_BATCH = 1000  # documents looked up and tokenised together
_BATCH_CHARACTERS = 4 << 20  # of texts that are to be split, from which on fewer documents are


def batches(documents: Iterable[Document], split: Split | None) -> Iterator[list[Document]]:
    """Lists of documents, of bounded size where they are long."""
    batch: list[Document] = []
    n_characters = 0
    for document in documents:
        batch.append(document)
        n_characters += len(document.text) if split is not None else 0
        if len(batch) == _BATCH or n_characters >= _BATCH_CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch


def pieces(documents: Iterable[Document], split: Split | None) -> Iterable[Document]:
    """The documents as an index holds them, their passages where they are split.

    Raises:
        InputError: a document that is to be split has an id with a `#`.
    """
    if split is None:
        return documents
    return chain.from_iterable(passages(document, split) for document in documents)


def found(
    find: Callable[[Iterable[str]], Mapping[str, Place]], docids: Iterable[str], split: Split | None
) -> Found:
    """Where the live documents are that stand under each of these ids; nothing under the others.

    The passages of a document are counted from 0 without a gap: twice as many are looked for as long as the
    last one is there.

    Args:
        find: `Changes.find`.
        docids: of whole documents.
        split: how the index splits documents.

    Raises:
        IndexDirError: a file is damaged.
    """
    if split is None:
        return {docid: {docid: place} for docid, place in find(docids).items()}
    pages: Found = {}
    wanted, lo, hi = list(dict.fromkeys(docids)), 0, 1
    while wanted:
        owners = {passage_id(docid, number): docid for docid in wanted for number in range(lo, hi)}
        for docid, place in find(owners).items():
            pages.setdefault(owners[docid], {})[docid] = place
        wanted = [docid for docid in wanted if passage_id(docid, hi - 1) in pages.get(docid, ())]
        lo, hi = hi, 2 * hi + 1
    return pages


def check_whole(docids: Iterable[str], split: Split | None) -> None:
    """Refuse ids of passages: split documents are changed as a whole.

    Raises:
        InputError: one is that of a passage.
    """
    passage = None if split is None else next((docid for docid in docids if DELIMITER in docid), None)
    if passage is not None:
        whole = passage.partition(DELIMITER)[0]
        raise InputError(
            f"{shown(passage)} is the id of a passage, and documents of this index are split ({split}): give"
            f" the document's own id, as {shown(whole)}, which stands for all its passages"
        )
