"""NQ320k out of Natural Questions: pages as a collection, dev questions with judgements, training pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from seal_ir.convert.nq_examples import NqExample, example_files, page_text, read_examples
from seal_ir.errors import InputError
from seal_ir.formats.io.files import atomic_writer, shown
from seal_ir.formats.io.packed import packed_writer
from seal_ir.structured import json_line

NAMES = {
    "corpus": "nq320k/corpus.jsonl.gz",
    "pairs": "nq320k/train.jsonl",
    "topics": "topics/nq320k-dev.tsv",
    "qrels": "qrels/nq320k-dev.trec",
}


@dataclass(frozen=True, slots=True)
class SplitCounts:
    """Where the examples of a split went; their sum is what was read.

    Attributes:
        written: questions with a page.
        unanswered: left out for want of a long answer, where one is asked for.
        blank: left out, the question has no text.
        textless: left out, the page has no text.
        documents: of the written ones, those whose page was new; the others' was a document already.
    """

    written: int = 0
    unanswered: int = 0
    blank: int = 0
    textless: int = 0
    documents: int = 0

    def __str__(self) -> str:
        total = self.written + self.unanswered + self.blank + self.textless
        return (
            f"read {total:,} questions = written {self.written:,} + without long answer {self.unanswered:,}"
            f" + without text {self.blank:,} + of pages without text {self.textless:,};"
            f" their {self.written:,} pages = new documents {self.documents:,}"
            f" + documents already {self.written - self.documents:,}"
        )


@dataclass(frozen=True, slots=True)
class _Pages:
    """The collection as far as it is written: document ids by the pages' names, and all ids."""

    stream: TextIO
    docids: dict[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def docid(self, path: Path, example: NqExample) -> str | None:
        """The id of the example's document, which is written when it is new; None for one without text."""
        if example.page in self.docids:
            return self.docids[example.page]
        if example.docid not in self.written:
            text = page_text(path, example)
            if not text:
                return None
            contents = f"{example.title}\n{text}" if example.title else text
            record = {"id": example.docid, "title": example.title, "contents": contents}
            self.stream.write(f"{json_line(record)}\n")
            self.written.add(example.docid)
        self.docids[example.page] = example.docid
        return example.docid


def convert(
    train: Path, dev: Path, output: Path, *, long_answers: bool, tell: Callable[[str], object]
) -> Mapping[str, SplitCounts]:
    """Writes the files of `NAMES` below a folder, all of them or none; returns counts by split.

    One example is in memory at a time, and the names and ids of the pages so far.

    Args:
        train: file of examples, or folder of such files.
        dev: the same.
        output: the folder, as SEAL_IR_DATA names it.
        long_answers: take only questions for which an annotator marked a long answer.
        tell: is called with a line on each file that has been read.

    Raises:
        InputError: a file cannot be read, a line is not an example, or a dev question comes twice.
        UsageError: a file cannot be written.
    """
    with ExitStack() as stack:
        enter = stack.enter_context
        pages = _Pages(enter(packed_writer(output / NAMES["corpus"])))  # is moved into its place last
        pairs, topics, qrels = (
            enter(atomic_writer(output / NAMES[name])) for name in ("pairs", "topics", "qrels")
        )

        def pair(example: NqExample, docid: str) -> None:
            record = {"question": example.question, "positive_ids": [docid]}
            pairs.write(f"{json_line(record)}\n")

        def judged(example: NqExample, docid: str) -> None:
            topics.write(f"{example.qid}\t{example.question}\n")
            qrels.write(f"{example.qid} 0 {docid} 1\n")

        examples = _told(_examples(example_files(train)), tell)
        found = {"train": _add(examples, pages, pair, long_answers)}
        examples = _told(_unique(_examples(example_files(dev))), tell)
        return {**found, "dev": _add(examples, pages, judged, long_answers)}


def _add(
    examples: Iterable[tuple[Path, NqExample]],
    pages: _Pages,
    write: Callable[[NqExample, str], None],
    long_answers: bool,
) -> SplitCounts:
    counts: Counter[str] = Counter()
    before = len(pages.written)
    for path, example in examples:
        if long_answers and not example.has_long_answer:
            counts["unanswered"] += 1
        elif not example.question:
            counts["blank"] += 1
        elif (docid := pages.docid(path, example)) is None:
            counts["textless"] += 1
        else:
            counts["written"] += 1
            write(example, docid)
    return SplitCounts(**counts, documents=len(pages.written) - before)


def _examples(paths: Iterable[Path]) -> Iterator[tuple[Path, NqExample]]:
    return ((path, example) for path in paths for example in read_examples(path))


def _unique(examples: Iterable[tuple[Path, NqExample]]) -> Iterator[tuple[Path, NqExample]]:
    """The examples; a topic twice is an error."""
    seen: set[str] = set()
    for path, example in examples:
        if example.qid in seen:
            raise InputError(f"{path}:{example.line}: example {shown(example.qid)} comes twice; keep one")
        seen.add(example.qid)
        yield path, example


def _told(
    examples: Iterable[tuple[Path, NqExample]], tell: Callable[[str], object]
) -> Iterator[tuple[Path, NqExample]]:
    """The examples; says how many each file had when the next one begins."""
    current, count = None, 0
    for path, example in examples:
        if path != current:
            if current is not None:
                tell(f"{current}: {count:,} questions")
            current, count = path, 0
        count += 1
        yield path, example
    if current is not None:
        tell(f"{current}: {count:,} questions")
