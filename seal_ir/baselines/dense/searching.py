"""Searching a dense index through Pyserini: its FaissSearcher, its query encoders."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from seal_ir.arguments import check_least
from seal_ir.baselines.dense.encoders import DPR_QUESTION, EncoderFiles
from seal_ir.baselines.dense.index_dir import is_faiss_index
from seal_ir.baselines.dense.questions import fitting
from seal_ir.decode.prompts import cut_sentence
from seal_ir.errors import IndexDirError, ModelError, SealError
from seal_ir.formats.io.files import shown
from seal_ir.processes import capped
from seal_ir.pyserini_plugin import faiss_searcher
from seal_ir.records import Hit, Query

logger = logging.getLogger(__name__)

_BATCH = 64  # topics searched at a time


@dataclass(frozen=True, slots=True)
class DenseConfig:
    """How to search.

    Attributes:
        hits: documents per topic.
        threads: Faiss's.
    """

    hits: int = 100
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, hits=1, threads=1)


def search(
    directory: Path, questions: EncoderFiles, topics: Sequence[Query], config: DenseConfig
) -> Iterator[tuple[Query, list[Hit]]]:
    """Each topic, in order, with its hits, best first; scores are inner products.

    Topics that are longer than the encoder reads are cut, with a warning.

    Args:
        directory: a Faiss index in Pyserini's layout.
        questions: the encoder of questions, which runs on the CPU.
        topics: what to search.
        config: how.

    Raises:
        IndexDirError: no such index there, or one that cannot be read.
        ModelError: the encoder cannot be loaded, has vectors of another length than the index, or gives a
            question scores that are not finite.
        UsageError: Pyserini or Java is missing.
    """
    searcher = _searcher(directory, questions)
    k = min(config.hits, searcher.num_docs)
    fitted, cut = fitting(questions, topics)
    if cut:
        logger.warning("%s", cut_sentence(cut, [topic.id for topic in topics], len(topics)))
    for at in range(0, len(topics), _BATCH):
        batch = fitted[at : at + _BATCH]
        texts, qids = [topic.text for topic in batch], [topic.id for topic in batch]
        found = searcher.batch_search(texts, qids, k=k, threads=capped(config.threads))
        for topic in topics[at : at + _BATCH]:
            hits = [Hit(str(entry.docid), float(entry.score)) for entry in found[topic.id]]
            if not hits or not all(isfinite(hit.score) for hit in hits):  # Faiss has no hits for a NaN
                raise ModelError(
                    f"question {shown(topic.id)}: its scores are not finite numbers; its vector from"
                    f" {questions.name} is damaged, or those of {directory} are"
                )
            yield topic, hits


def _searcher(directory: Path, questions: EncoderFiles) -> Any:
    if not is_faiss_index(directory):
        raise IndexDirError(f"{directory}: no Faiss index; build one with python -m seal_ir.baselines.dense")
    from seal_ir.lm.load import quiet_transformers

    name, options = _pyserini_encoder(questions)
    try:
        with quiet_transformers():
            searcher = faiss_searcher(directory, name, questions.source, **options)
    except SealError:
        raise
    except Exception as error:  # noqa: BLE001 - Faiss, transformers and Pyserini raise many kinds
        reason = " ".join(str(error).split())[:200]
        raise IndexDirError(
            f"{directory}: Pyserini cannot search it with {questions.name} ({reason})"
        ) from error
    n_values = len(searcher.query_encoder.encode("a"))
    if n_values != searcher.dimension:
        raise ModelError(
            f"{questions.name}: has vectors of {n_values} numbers, {directory} of {searcher.dimension}; "
            "give the --query-encoder that it was made for"
        )
    return searcher


def _pyserini_encoder(questions: EncoderFiles) -> tuple[str, dict[str, Any]]:
    """Pyserini's class for an encoder of questions, and its options."""
    if questions.family == DPR_QUESTION:
        return "DprQueryEncoder", {}
    return "AutoQueryEncoder", {"pooling": questions.pooling, "l2_norm": questions.unit_length}
