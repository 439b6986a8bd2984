"""`python -m seal_ir.baselines.pseudo_queries`: a collection with questions of its passages as a field."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from seal_ir.baselines.pseudo_queries.choosing import QuestionCounts, kept
from seal_ir.baselines.rewriting import write_again
from seal_ir.baselines.run_command import add_collection_options, collection_of
from seal_ir.command import CommandParser, Progress, add_batch_size, add_threads, check_options, run
from seal_ir.decode.prompts import CutQueries
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.collection import Collection, read_ids
from seal_ir.formats.io.files import shown, utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.packed import check_packed
from seal_ir.formats.io.resolve import Places, resolve_qrels, resolve_topics
from seal_ir.formats.topics.questions import (
    Known,
    excluded_questions,
    judged_questions,
    paired_questions,
    question_words,
)
from seal_ir.lm.device import use_threads
from seal_ir.records import Document

FIELD = "pseudo_queries"
Questions = dict[str, list[str]]  # by document id


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.baselines.pseudo_queries",
        description="Write a collection again with the questions that each passage answers as the field"
        f' "{FIELD}", MINDER\'s third view: known ones, and ones that a language model writes.',
    )
    add = parser.add_argument
    add("--output", type=Path, required=True, help="collection to write: .jsonl or .jsonl.gz")
    only = "documents that --model writes for, one id a line; all others are written too"
    add_collection_options(parser, only, required=True)
    judged = "questions and judged passages, files or names; may come several times"
    add("--judged", nargs=2, action="append", default=[], metavar=("TOPICS", "QRELS"), help=judged)
    pairs = 'JSON lines with "question" and "positive_ids"; may come several times'
    add("--pairs", type=Path, action="append", default=[], metavar="FILE", help=pairs)
    exclude = "topics whose questions are left out: files or names; give the test sets"
    add("--exclude", nargs="+", default=[], metavar="TOPICS", help=exclude)
    told = "write them behind the text, a line each, as doc2query does, and not as a field of their own"
    add("--as-text", action="store_true", help=told)
    writing = parser.add_argument_group("questions that a model writes")
    add = writing.add_argument
    add(
        "--model",
        help="model that writes questions, trained for it or any causal one: folder, hub or packaged name",
    )
    add("--per-document", type=int, default=5, help="questions that it writes (%(default)s)")
    add("--seed", type=int, default=0, help="of what it writes (%(default)s)")
    add_batch_size(writing, 16, "questions written together")
    add_threads(writing, "of torch")
    add("--device", help="cpu, cuda, cuda:1...; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16 or auto")
    return parser


def main(arguments: list[str]) -> int:
    """Gather the questions, and write the collection again; 0 when it is written."""
    args = _parser().parse_args(arguments)
    _check(args)
    places = Places.from_environment()
    excluded = excluded_questions(resolve_topics(name, places) for name in args.exclude) - {""}
    known = list(_known(args, places))
    chosen = read_ids(args.include_ids) if args.include_ids else frozenset()
    collection = collection_of(args, keep_raw=True, include_ids=None)
    docids, to_read = set(), []
    for document in collection:
        docids.add(document.id)
        if document.id in chosen:
            to_read.append(document)
    _check_ids(args, known, chosen, docids)
    questions: Questions = {}
    for question, docid in known:
        if docid in docids:
            questions.setdefault(docid, []).append(question)
    n_written = _write(args, to_read, questions) if args.model else 0
    useless = excluded | {""}
    if all(question_words(text) in useless for texts in questions.values() for text in texts):
        raise InputError(f"{args.output}: every question is excluded, or none was written; nothing to add")
    counts = _write_collection(args, collection, questions, excluded)
    sys.stderr.write(f"{collection.counts}\n")
    n_absent = sum(docid not in docids for _, docid in known)
    _tell(counts, {"known_questions": len(known), "not_in_collection": n_absent, "written": n_written})
    if not is_stream(args.output):
        sys.stdout.write(f"{utf8(args.output)}\n")
    return 0


def _write_collection(
    args: argparse.Namespace, collection: Collection, questions: Questions, excluded: frozenset[str]
) -> QuestionCounts:
    """The collection again, with the questions as a field or behind the text; what became of them."""
    counts = QuestionCounts()

    def value(document: Document, record: dict[str, Any]) -> list[str]:
        return kept([*_present(document, record), *questions.get(document.id, [])], excluded, counts)

    def text(document: Document, record: dict[str, Any]) -> str:
        texts = value(document, record)
        for name in ("contents", FIELD):  # what is written under "text" stands for both
            record.pop(name, None)
        record["title"] = document.title
        return "\n".join([document.text, *texts])

    if args.as_text:
        write_again(collection, args.output, "text", text)
    else:
        write_again(collection, args.output, FIELD, value)
    return counts


def _check(args: argparse.Namespace) -> None:
    if not (args.judged or args.pairs or args.model):
        raise UsageError("no source of questions; give --judged, --pairs or --model")
    if args.model and not args.include_ids:
        raise UsageError("--model needs --include-ids: the documents that it writes for, as this takes long")
    if args.include_ids and not args.model:
        raise UsageError("--include-ids is for --model; known questions go to all documents")
    check_options(args, per_document=1, batch_size=1, seed=0, threads=1)
    check_packed(args.output)
    if not args.exclude:
        sys.stderr.write("no --exclude: questions of a test set among these would leak into the index\n")


def _known(args: argparse.Namespace, places: Places) -> Iterator[Known]:
    for topics, qrels in args.judged:
        path = resolve_qrels(qrels, places)
        if path is None:
            raise UsageError(f"qrels {shown(qrels)}: no such file, and none belong to topics of that name")
        yield from judged_questions(resolve_topics(topics, places), path)
    yield from chain.from_iterable(paired_questions(path) for path in args.pairs)


def _check_ids(
    args: argparse.Namespace, known: list[Known], chosen: frozenset[str], docids: set[str]
) -> None:
    """Refuse questions and ids of another collection; a part of them may be missing."""
    if known and not any(docid in docids for _, docid in known):
        raise InputError(
            f"{args.input}: has none of the {len(known):,} questions' passages, such as"
            f" {shown(known[0].docid)}; name the collection that they were made for"
        )
    if chosen and not chosen & docids:
        raise InputError(f"{args.include_ids}: none of its {len(chosen):,} ids is in {args.input}")
    if n_missing := len(chosen - docids):
        sys.stderr.write(f"{n_missing:,} of {len(chosen):,} ids of --include-ids are not in the collection\n")


def _write(args: argparse.Namespace, documents: list[Document], questions: Questions) -> int:
    """Add what the model writes; returns how many questions came to an end."""
    use_threads(args.threads)
    from seal_ir.baselines.generating import load_writer
    from seal_ir.baselines.pseudo_queries.writing import QuestionConfig, write_questions

    config = QuestionConfig(args.per_document, args.seed, args.batch_size)
    writer = load_writer(args.model, args.device, args.dtype)
    progress = Progress(len(documents), "documents")
    n_written = 0
    cut = CutQueries("documents", "passages")
    for document, texts in write_questions(writer, documents, config, cut):
        questions.setdefault(document.id, []).extend(texts)
        n_written += len(texts)
        progress.advance(1)
    progress.close()
    n_asked = len(documents) * config.per_document
    sys.stderr.write(f"{n_asked - n_written:,} of {n_asked:,} questions came to no end and are left out\n")
    if cut.sentence():
        sys.stderr.write(f"{cut.sentence()}\n")
    return n_written


def _present(document: Document, record: dict[str, Any]) -> list[str]:
    """Questions that the record has already."""
    value = record.get(FIELD)
    texts = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f'document {document.id}: "{FIELD}" is {shown(value)}; it must be a list of strings')
    return texts


def _tell(counts: QuestionCounts, sources: dict[str, int]) -> None:
    figures = {
        **sources,
        "excluded_questions": len(counts.excluded_words),
        "excluded": counts.excluded,
        "repeated": counts.repeated,
        "pseudo_queries": counts.questions,
        "documents": counts.documents,
        "documents_with_pseudo_queries": counts.with_questions,
    }
    sys.stderr.writelines(f"{name}: {n:,}\n" for name, n in figures.items())


if __name__ == "__main__":
    run(main)
