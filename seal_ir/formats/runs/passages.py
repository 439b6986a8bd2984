"""Files of passages, written topic by topic, in the shapes of `shapes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import AtomicFile, shown
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS, SHAPES, Asked, Passage


class PassageWriter(AtomicFile):
    """Writes passages topic by topic; the file appears whole when the `with` block ends without an exception.

    Every topic that is written has an entry, with hits or without. FlashRAG's cache goes by questions: of
    topics that ask the same, the first one counts.

    Raises:
        UsageError: the format is none of `PASSAGE_FORMATS`, or the path is unwritable.
    """

    def __init__(self, path: Path, output_format: str, asked: Mapping[str, Asked]) -> None:
        """Open nothing yet.

        Args:
            path: where to.
            output_format: one of `PASSAGE_FORMATS`.
            asked: the topics by id.
        """
        if output_format not in SHAPES:
            allowed = ", ".join(PASSAGE_FORMATS)
            raise UsageError(f"unknown format of passages {shown(output_format)}; choose one of {allowed}")
        super().__init__(path)
        self._shape, self._asked = SHAPES[output_format], asked
        self._by_question = output_format == "flashrag-cache"
        self._written: set[str] = set()
        self._questions: set[str] = set()

    def __enter__(self) -> Self:
        super().__enter__()
        if self._shape.around:
            self._put(self._shape.around[0])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if kind is None and self._shape.around:
            try:
                self._put(f"\n{self._shape.around[1]}\n")
            except BaseException as fault:
                super().__exit__(type(fault), fault, fault.__traceback__)
                raise
        return super().__exit__(kind, error, trace)

    def write(self, qid: str, passages: Sequence[Passage]) -> None:
        """Appends the passages of one topic, best first.

        Raises:
            ValueError: the writer is not open, or the topic is unknown or comes twice.
        """
        if qid in self._written:
            raise ValueError(f"topic {qid!r} was written before")
        if qid not in self._asked:
            raise ValueError(f"topic {qid!r} is none of those asked")
        self._written.add(qid)
        asked = self._asked[qid]
        if self._by_question and asked.question in self._questions:
            return
        entry = self._shape.entry(asked, passages)
        if self._shape.around is None:
            self._put(f"{entry}\n")
        else:
            self._put(f"{',' if self._questions else ''}\n{entry}")
        self._questions.add(asked.question)

    def _put(self, text: str) -> None:
        self.stream.write(text)
