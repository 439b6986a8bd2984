"""Which questions overlap with a training set: annotations of Lewis et al. (2021), and their splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from seal_ir.formats.io.files import atomic_writer, by_topic, shown
from seal_ir.formats.io.json_records import JsonRecord, json_records
from seal_ir.formats.io.jsonlines import Malformed, sound

LABELS = (
    "answer_overlap",
    "no_answer_overlap",
    "question_overlap",
    "no_question_overlap",
    "answer_overlap_only",
    "no_overlap",
)
_OPPOSITE = {"answer_overlap": "no_answer_overlap", "question_overlap": "no_question_overlap"}

Annotations = Mapping[str, frozenset[str]]


def read_overlap(path: Path) -> dict[str, frozenset[str]]:
    """The labels of each question of JSON lines with "id" (of NQ the row from 0) and "labels".

    Questions that were not looked at have neither a label nor its opposite. Who has neither overlap gets
    `no_overlap`, which the published files leave to the reader.

    Raises:
        InputError: the file cannot be read, a record has no id or no list of known labels, labels contradict
            each other, or a question comes twice.
    """
    return by_topic(path, _annotations(path))


def overlap_splits(annotations: Annotations, topics: Iterable[str]) -> dict[str, list[str]]:
    """The topics that have each of `LABELS`, in their order; several labels may have one topic."""
    splits: dict[str, list[str]] = {label: [] for label in LABELS}
    for qid in topics:
        for label in annotations.get(qid, ()):
            splits[label].append(qid)
    return splits


def write_splits(annotations: Annotations, prefix: Path) -> dict[str, int]:
    """Writes `PREFIX.answer-overlap.ids.txt` and the like, an id a line; returns how many each has.

    Raises:
        UsageError: a file cannot be written.
    """
    splits = overlap_splits(annotations, annotations)
    for label, qids in splits.items():
        with atomic_writer(prefix.with_name(f"{prefix.name}.{label.replace('_', '-')}.ids.txt")) as file:
            file.writelines(f"{qid}\n" for qid in qids)
    return {label: len(qids) for label, qids in splits.items()}


def _annotations(path: Path) -> Iterator[tuple[int, str, frozenset[str]]]:
    for number, qid, record in json_records(path):
        yield number, qid, sound(_labels(record), path, number)


def _labels(record: JsonRecord) -> frozenset[str] | Malformed:
    if "id" not in record:
        return Malformed('no "id"; every annotation needs one')
    labels = record.get("labels")
    if not isinstance(labels, list):
        return Malformed(f'"labels" is {shown(labels)}; it must be a list of labels')
    unknown = next((label for label in labels if label not in LABELS), None)
    if unknown is not None:
        return Malformed(f"label {shown(unknown)} is unknown; the labels are {', '.join(LABELS)}")
    for label, opposite in _OPPOSITE.items():
        if label in labels and opposite in labels:
            return Malformed(f"{label} and {opposite} contradict each other; keep one of the two")
    none = ["no_overlap"] if set(_OPPOSITE.values()) <= set(labels) else []
    return frozenset([*labels, *none])
