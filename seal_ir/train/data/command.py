"""`python -m seal_ir.train data`: a training set out of pairs, judgements and collections."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.command import CommandParser, check_options, settings_of
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions, collection_kinds
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.inputs import KeptPipe, open_file, rereadable
from seal_ir.formats.io.outputs import alone_in
from seal_ir.formats.io.resolve import Places, resolve_qrels, resolve_topics
from seal_ir.formats.topics.questions import (
    excluded_questions,
    is_json_array,
    judged_questions,
    paired_questions,
)
from seal_ir.records import Document
from seal_ir.text.description import QUESTION
from seal_ir.train.data import dataset
from seal_ir.train.data.examples import Example, ExampleOptions, document_examples, pair_examples
from seal_ir.train.data.kilt import has_outputs, read_kilt_pairs
from seal_ir.train.data.pairs import (
    DISTANT,
    SUPERVISED,
    Pair,
    PairCounts,
    Reference,
    distinct,
    read_dpr_pairs,
    resolve,
)

_VERSION = 1  # of what the same settings give
_TITLES = ExampleOptions().document_titles


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.train data",
        description="Make a training set for `python -m seal_ir.train fit`.",
    )
    add = parser.add_argument
    add("--output", type=Path, required=True, help="folder to make; an interrupted one is gone on with")
    _add_sources(parser)
    add_exclude(parser)
    add("--seed", type=int, default=0, help="of all sampling (%(default)s)")
    _add_examples(parser)
    return parser


def add_exclude(group: argparse._ActionsContainer) -> None:
    """The option of questions that are not to be trained on."""
    told = "topics whose questions are left out: files or names"
    group.add_argument("--exclude", nargs="+", default=[], help=told)


def add_judged(group: argparse._ActionsContainer, told: str, name: str = "--judged") -> None:
    """An option of topics with judgements."""
    two = ("TOPICS", "QRELS")
    group.add_argument(name, nargs=2, action="append", default=[], metavar=two, help=told)


def _add_sources(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sources")
    add = group.add_argument
    add(
        "--pairs",
        type=Path,
        nargs="+",
        default=[],
        help='JSON lines {"question", "positive_ids"} (with --input), DPR\'s JSON, or KILT\'s JSON lines',
    )
    add_judged(group, "questions and judged passages, files or names (with --input); may come several times")
    told = "the same, but the judgements are guesses; the model is told so by another marker"
    add_judged(group, told, "--distant")
    add("--collection", default="JsonCollection", help=f"of --input: {', '.join(collection_kinds())}")
    add("--input", type=Path, help="collection with the passages: file or folder")
    add("--knowledge-source", type=Path, help="KILT's knowledge source, for KILT's files in --pairs")
    add("--unsupervised", action="store_true", help="also spans of the collection's documents")
    add("--documents", type=int, help="unsupervised: take only the first documents of the collection")
    add(
        "--fields",
        nargs="+",
        default=[],
        help="further fields of the collection's JSON records, whose values are to be written whole",
    )


def _add_examples(parser: argparse.ArgumentParser) -> None:
    defaults = ExampleOptions()
    add = parser.add_argument_group("examples").add_argument
    add("--spans", type=int, default=defaults.spans, help="spans of each pair (%(default)s)")
    add("--span-words", type=int, default=defaults.span_words, help="length of a span (%(default)s)")
    add("--temperature", type=float, default=defaults.temperature, help="in characters (%(default)s)")
    add("--titles", type=int, default=defaults.titles, help="title examples of each pair (%(default)s)")
    add(
        "--values",
        type=int,
        default=defaults.values,
        help="examples of each pair and further field (%(default)s)",
    )
    add(
        "--questions",
        type=int,
        default=defaults.questions,
        help="passage -> question examples of each pair, for a question generator (%(default)s)",
    )
    add(
        "--document-spans",
        type=int,
        default=defaults.document_spans,
        help="span -> span examples of each document (%(default)s)",
    )
    add(
        "--document-titles",
        type=int,
        default=defaults.document_titles,
        help="span -> title examples of each document; unless 0, its whole text has one too (%(default)s)",
    )


def main(arguments: list[str]) -> int:
    """Make the set; 0 when it is complete."""
    args = _parser().parse_args(arguments)
    _check(args)
    _keep_pipes(args)
    options = settings_of(args, ExampleOptions)
    places = Places.from_environment()
    judged = [(*judged_files(names, places), SUPERVISED) for names in args.judged]
    judged += [(*judged_files(names, places), DISTANT) for names in args.distant]
    exclude = [resolve_topics(name, places) for name in args.exclude]
    with alone_in(args.output, "making a training set"):
        return _make(args, options, judged, exclude)


def _make(
    args: argparse.Namespace,
    options: ExampleOptions,
    judged: list[tuple[Path, Path, str]],
    exclude: list[Path],
) -> int:
    """Make what is missing of the set, and tell of it."""
    if dataset.open_directory(args.output, _settings(args, options, judged, exclude)):
        sys.stderr.write("complete already\n")
        sys.stdout.write(f"{utf8(args.output)}\n")
        return 0
    counts = PairCounts()
    pairs = distinct(_pairs(args, judged, counts), excluded_questions(exclude), counts)
    items: Iterator[Pair | Document] = chain(
        pairs, _documents(args, unsupervised=args.unsupervised or _bare(args, judged))
    )

    def examples_of(item: Pair | Document, rng: np.random.Generator) -> list[Example]:
        if isinstance(item, Pair):
            return pair_examples(item, options, rng)
        return document_examples(item, options, rng)

    dataset.write_parts(args.output, items, examples_of, args.seed)
    summary = dataset.finish(args.output, asdict(counts), _further_fields(args))
    _tell(args.output, summary)
    return 0


def _check(args: argparse.Namespace) -> None:
    if not (args.pairs or args.judged or args.distant or args.input):
        raise UsageError("no source; give --pairs, --judged, --distant or --input")
    if args.input is None and (args.judged or args.distant or args.unsupervised):
        raise UsageError("--judged, --distant and --unsupervised need the collection; give --input")
    if args.input is None and args.fields:
        raise UsageError("--fields are the collection's; give --input")
    if args.questions and QUESTION in args.fields:
        raise UsageError(
            f"--questions and --fields {QUESTION} have one name for two fields; rename the collection's"
        )
    check_options(args, documents=1, seed=0)


def _further_fields(args: argparse.Namespace) -> list[str]:
    """Fields beside title and body that have examples: the collection's, and that of question generators."""
    return [*args.fields, *([QUESTION] if args.questions else [])]


def _keep_pipes(args: argparse.Namespace) -> None:
    """Let files be looked at before they are read, pipes too."""
    args.pairs = [rereadable(path) for path in args.pairs]
    for name in ("input", "knowledge_source"):
        if getattr(args, name) is not None:
            setattr(args, name, rereadable(getattr(args, name)))


def _bare(args: argparse.Namespace, judged: list[tuple[Path, Path, str]]) -> bool:
    return not args.pairs and not judged


def judged_files(names: list[str], places: Places) -> tuple[Path, Path]:
    """The files of topics and judgements, each by a path or a name.

    Raises:
        UsageError: there are no such judgements.
    """
    topics, qrels = names
    path = resolve_qrels(qrels, places)
    if path is None:
        raise UsageError(f"qrels {qrels!r}: no such file, and none belong to topics of that name")
    return resolve_topics(topics, places), path


def _pairs(
    args: argparse.Namespace, judged: list[tuple[Path, Path, str]], counts: PairCounts
) -> Iterator[Pair]:
    """The pairs of all sources: references first, which take one pass over the collection."""
    references: list[Reference] = []
    for path in args.pairs:
        if is_json_array(path) or has_outputs(path):
            continue
        if args.input is None:
            raise UsageError(f"{path}: names passages by id; give the collection with --input")
        references += (Reference(*known, SUPERVISED) for known in paired_questions(path))
    for topics, qrels, kind in judged:
        references += (Reference(*known, kind) for known in judged_questions(topics, qrels))
    if references:
        yield from resolve(references, Collection(args.collection, args.input), counts, args.fields)
    for path in args.pairs:
        if is_json_array(path):
            yield from read_dpr_pairs(path)
        elif has_outputs(path):
            if args.knowledge_source is None:
                raise UsageError(f"{path}: is KILT's; give the pages with --knowledge-source")
            yield from read_kilt_pairs(path, args.knowledge_source, counts)


def _documents(args: argparse.Namespace, *, unsupervised: bool) -> Iterator[Document]:
    if not unsupervised:
        return
    options = ReadOptions(malformed="skip", duplicates="first", fields=tuple(args.fields))
    for n, document in enumerate(Collection(args.collection, args.input, options)):
        if n == args.documents:
            return
        yield document


def _settings(
    args: argparse.Namespace,
    options: ExampleOptions,
    judged: list[tuple[Path, Path, str]],
    exclude: list[Path],
) -> dict[str, Any]:
    """All that the set depends on, kept beside it; two sets with equal settings are equal.

    What earlier versions did not have is left out where it changes nothing, so that their sets are known.
    """
    reading = ReadOptions(fields=tuple(args.fields))
    collection = Collection(args.collection, args.input, reading) if args.input else None
    if collection is not None and collection.note:
        sys.stderr.write(f"{collection.note}\n")
    later = {
        "values": bool(args.fields),
        "document_titles": options.document_titles != _TITLES,
        "questions": options.questions > 0,
    }
    kept = {name: value for name, value in asdict(options).items() if later.get(name, True)}
    return {
        "version": _VERSION,
        "seed": args.seed,
        "options": kept,
        "pairs": _stamps(args.pairs),
        "judged": [{"kind": kind, "files": _stamps([topics, qrels])} for topics, qrels, kind in judged],
        "collection": {
            "kind": collection.kind if collection is not None else args.collection,
            "files": _stamps(collection.paths if collection is not None else []),
        },
        "knowledge_source": _stamps([args.knowledge_source] if args.knowledge_source else []),
        "unsupervised": args.unsupervised or _bare(args, judged),
        "documents": args.documents,
        "exclude": _stamps(exclude),
    } | ({"fields": fields} if (fields := _further_fields(args)) else {})


def _stamps(paths: list[Path]) -> list[dict[str, Any]]:
    """Name and size of files; a name on the hub has no size. Of a pipe, its checksum."""
    stamps: list[dict[str, Any]] = []
    for path in paths:
        if isinstance(path, KeptPipe):
            with open_file(path) as file:
                stamps.append({"sha256": hashlib.file_digest(file, "sha256").hexdigest()})
        else:
            stamps.append({"name": utf8(path.name), "bytes": path.stat().st_size if path.is_file() else None})
    return stamps


def _tell(directory: Path, summary: dict[str, Any]) -> None:
    for name in ("pairs", "repeated", "excluded_questions", "not_in_collection", "groups"):
        sys.stderr.write(f"{name}: {summary[name]:,}\n")
    for name, n in sorted(summary["examples"].items()):
        sys.stderr.write(f"examples, {name}: {n:,}\n")
    sys.stdout.write(f"{utf8(directory)}\n")
