"""Indexes of the published system as a collection: `PREFIX.fmi` by sdsl-lite, and `PREFIX.oth` beside it.

A token is stored as its id plus 10. A document is `title, title delimiter, body, end of text`; the delimiter
is what ` @@` becomes. What cannot be known from the format's description is checked, and refused where it
does not hold: a text that comes out wrong would look like a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.convert.published_side_file import read_side_file
from seal_ir.errors import InputError, ModelError
from seal_ir.extensions import SDSL, extension
from seal_ir.formats.collections.collection import Counts
from seal_ir.formats.io.files import id_fault, shown, utf8
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer

SHIFT = 10  # symbol of token id 0
DELIMITER = " @@"
_CHUNK = 1 << 20  # symbols read at a time
_BATCH = 1000  # documents decoded at a time


class PublishedCollection:
    """The documents of a published index, in its order; each iteration reads the files anew.

    Takes 4 bytes of memory a token beside the side file's lists. A document without a delimiter has no title;
    one whose title and text are white space is empty and left out.

    Attributes:
        kind: what the manifest calls it.
        empty_ids: ids of the empty documents of the last complete pass.
        faults, missing_ids, note: none ever; a damaged index is refused.
    """

    kind = "published index"
    note = ""

    def __init__(self, prefix: Path, tokenizer: TextTokenizer) -> None:
        """Find the files.

        Args:
            prefix: both files' common path, without `.fmi` and `.oth`.
            tokenizer: the one that the index was made with.

        Raises:
            InputError: a file is missing, or the side file cannot be used.
            ModelError: the tokenizer ends its inputs with no token, so that it is not the index's.
        """
        self.path = prefix.with_name(prefix.name + ".fmi")
        self._side_path = prefix.with_name(prefix.name + ".oth")
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file; --import-seal takes the path without .fmi and .oth")
        self._side = read_side_file(self._side_path)
        self._check_labels()
        self._tokenizer = tokenizer
        self._delimiter = tokenizer.encode(DELIMITER)
        if not tokenizer.affixes[1]:
            raise ModelError(
                "this model's inputs end with no token of their own, those of a published index do; give"
                " --model the one that the index was made for (BART)"
            )
        self.empty_ids: list[str] = []
        self.faults: list[str] = []
        self.missing_ids = 0
        self._n_read = 0

    @property
    def counts(self) -> Counts:
        """Counts of the last complete pass."""
        return Counts(self._n_read, self._n_read - len(self.empty_ids), empty=len(self.empty_ids))

    def __iter__(self) -> Iterator[Document]:
        """Documents to index, one at a time.

        Raises:
            InputError: the files are damaged or do not fit together, or the tokenizer does not fit them.
            IndexDirError: sdsl-lite was not there when seal-ir was built.
        """
        empty_ids, n_read = [], 0
        token_lists = self._token_lists()
        while batch := list(islice(token_lists, _BATCH)):
            fields = [self._fields(number, ids) for number, ids in batch]
            if n_read == 0 and not any(title is not None for title, _ in fields):
                raise InputError(
                    f"{self.path}: none of its first {len(batch):,} documents has the title delimiter"
                    f" {DELIMITER!r} of --model; is it the model that the index was made for (BART)?"
                )
            texts = self._tokenizer.decode_fields([part or [] for pair in fields for part in pair])
            for i, (number, _) in enumerate(batch):
                n_read += 1
                document = Document(self._id(number), texts[2 * i], texts[2 * i + 1])
                if document.title.strip() or document.text.strip():
                    yield document
                else:
                    empty_ids.append(document.id)
        self.empty_ids, self._n_read = empty_ids, n_read

    def _id(self, number: int) -> str:
        return str(number) if self._side.labels is None else self._side.labels[number]

    def _check_labels(self) -> None:
        beginnings, labels = self._side
        if labels is None:
            return
        if len(beginnings) - len(labels) not in (0, 1):
            raise InputError(
                f"{self._side_path}: {len(labels):,} labels for {len(beginnings):,} beginnings;"
                " a document has one of each"
            )
        for number, label in enumerate(labels):
            if fault := id_fault(label):
                raise InputError(f"{self._side_path}: label {number} {fault}")
        if len(set(labels)) < len(labels):
            ordered = sorted(labels)
            twice = next(label for label, after in zip(ordered, ordered[1:], strict=False) if label == after)
            raise InputError(f"{self._side_path}: label {shown(twice)} comes twice; ids must be unique")

    def _bounds(self, n_tokens: int) -> Ints:
        """Where documents start, and the text's end: int64 [n + 1]."""
        beginnings, labels = self._side
        closed = beginnings[-1] == n_tokens
        n_documents = len(beginnings) - closed
        if beginnings[-1] > n_tokens or (labels is not None and n_documents != len(labels)):
            raise InputError(
                f"{self._side_path}: its {len(beginnings):,} beginnings, the last at {beginnings[-1]:,},"
                f" do not fit the {n_tokens:,} tokens of {self.path}; are the two of one index?"
            )
        return beginnings if closed else np.append(beginnings, n_tokens)

    def _token_lists(self) -> Iterator[tuple[int, list[int]]]:
        """Numbers and token ids of all documents, the end of text left out.

        The text comes back in reading order whether it was reversed as a whole or document by document; in
        the latter case the last document comes first. The ends of text tell which it is.
        """
        try:
            published = extension(SDSL).Published.open(utf8(self.path))
            bounds = self._bounds(published.n_rows - 1)
            lengths = np.diff(bounds)
            buffer = published.read(max(_CHUNK, int(lengths[0]), int(lengths[-1])))
            reverse = not self._ends_fit(buffer, lengths)
            if reverse and not self._ends_fit(buffer, lengths[::-1]):
                raise InputError(
                    f"{self.path}: documents do not end with the end of text where {self._side_path} has them"
                    " end; the two are not of one index, or --model is not the one it was made for"
                )
            order = range(len(lengths))
            for number in reversed(order) if reverse else order:
                while len(buffer) < lengths[number]:
                    more = published.read(max(_CHUNK, int(lengths[number])))
                    buffer = np.concatenate([buffer, more])
                yield number, self._tokens(number, buffer[: lengths[number]])
                buffer = buffer[lengths[number] :]
        except RuntimeError as error:
            raise InputError(str(error)) from error

    def _ends_fit(self, symbols: Symbols, lengths: Ints) -> bool:
        """Whether all documents that lie within `symbols` as a whole end with the end of text."""
        ends = np.cumsum(lengths)
        within = ends[ends <= len(symbols)]
        return bool((symbols[within - 1] == self._tokenizer.affixes[1][-1] + SHIFT).all())

    def _tokens(self, number: int, symbols: Symbols) -> list[int]:
        ids: list[int] = (symbols.astype(np.int64) - SHIFT).tolist()
        where = f"{self.path}: document {shown(self._id(number))}"
        odd = next((token for token in ids if not 0 <= token < self._tokenizer.n_vocabulary), None)
        if odd is not None:
            raise InputError(
                f"{where} holds the symbol {odd + SHIFT}, which is no token of --model; it must be the model"
                " that the index was made for"
            )
        start, end = self._tokenizer.affixes[0], self._tokenizer.affixes[1][-1]
        if ids[-1] != end:
            raise InputError(f"{where} does not end with the end of text; the index is damaged")
        if start and ids[: len(start)] == start:
            raise InputError(f"{where} begins with the start of text, as no published index has it")
        return ids[:-1]

    def _fields(self, number: int, ids: list[int]) -> tuple[list[int] | None, list[int]]:
        """Title, None where there is no delimiter, and body."""
        width = len(self._delimiter)
        for at in _positions(ids, self._delimiter[0]):
            if ids[at : at + width] == self._delimiter:
                return ids[:at], ids[at + width :]
        return None, ids


def _positions(ids: Sequence[int], token: int) -> Iterator[int]:
    at = -1
    try:
        while True:
            at = ids.index(token, at + 1)
            yield at
    except ValueError:
        return
