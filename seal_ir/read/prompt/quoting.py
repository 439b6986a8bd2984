"""Answers that may only quote: an FM-index of the passages of a batch, and what bounds each answer by it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.quoting.processor import FMIndexLogitsProcessor
from seal_ir.read.records import Context
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer

_ABOUT = {"model": "", "collection": {"kind": "passages of questions"}}


@contextmanager
def quoting(
    contexts: Sequence[Sequence[Context]], tokenizer: TextTokenizer, ends: Sequence[int]
) -> Iterator[list[FMIndexLogitsProcessor]]:
    """What lets the answer to each question quote its own passages only, a title or a text of one of them.

    The index of all passages lies in a temporary folder as long as the block lasts; each question sees its
    own through a view.

    Args:
        contexts: passages of each question, each with a letter at least in one of them.
        tokenizer: the model's.
        ends: tokens that end an answer.
    """
    numbers = {passage: i for i, passage in enumerate(dict.fromkeys(p for each in contexts for p in each))}
    documents = [Document(str(i), passage.title, passage.text) for passage, i in numbers.items()]
    with tempfile.TemporaryDirectory(prefix="seal-ir-read-") as folder:
        build_index(documents, Path(folder, "index"), tokenizer, lambda: _ABOUT, BuildOptions())
        index = Index(Path(folder, "index"))
        index.tokenizer = tokenizer  # its equal: to make the index's own takes 0.1 s
        views = [
            View(index, np.unique(np.array([numbers[passage] for passage in each], dtype=np.int64)))
            for each in contexts
        ]
        yield [FMIndexLogitsProcessor(view, ends) for view in views]
