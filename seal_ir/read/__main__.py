"""`python -m seal_ir.read`: from topics to answers, and to EM and F1; `fit` and `convert` make readers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from seal_ir.command import Progress, run
from seal_ir.eval.questions import Questions
from seal_ir.eval.table_formats import as_text
from seal_ir.formats.io.files import atomic_writer, utf8
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.lm.device import use_threads
from seal_ir.models.weights import ensure_weights
from seal_ir.read.contexts import (
    CollectionPassages,
    IndexPassages,
    Passages,
    check_passages,
    read_heads,
    wanted_of,
)
from seal_ir.read.figures import measured, questions_of
from seal_ir.read.options import beside, parsed
from seal_ir.read.predictions import Prediction, PredictionWriter
from seal_ir.read.reader import Reader
from seal_ir.read.readers import ReaderSpec, load_reader, reader_spec
from seal_ir.records import Query
from seal_ir.search.options import index_of
from seal_ir.structured import json_file
from seal_ir.text.pretrained import lacks_weights


def main(arguments: list[str]) -> int:
    """Read; 0 when the answers are written and, where the right ones are known, measured.

    Or hand over to a subcommand, `fit` or `convert`.
    """
    if arguments[:1] == ["fit"]:
        from seal_ir.read.fid.command import main as fit

        return fit(arguments[1:])
    if arguments[:1] == ["convert"]:
        from seal_ir.read.fid.convert_command import main as convert

        return convert(arguments[1:])
    args = parsed(arguments)
    spec = reader_spec(args.reader, quote=args.quote)
    places = Places.from_environment()
    topics = read_topics(resolve_topics(args.topics, places), args.topics_format)
    questions = questions_of(args.topics, args.answers, places)
    n_contexts = args.contexts or spec.default_contexts
    directory = None if args.input else index_of(args.index, args.topics, places, args.yes)
    path = rereadable(args.run) if args.run else _searched(args, str(directory), n_contexts)
    heads = read_heads(path, topics, n_contexts)
    passages = _passages(args, directory, heads)
    check_passages(path, heads, passages)
    reader = _loaded(spec, args)
    started, cpu_started = time.monotonic(), time.process_time()
    with PredictionWriter(args.output) as writer:
        _answer(topics, heads, passages, reader, writer, args.batch_size)
    if not is_stream(args.output):
        about = {"reader": spec.kind, "model": utf8(spec.model), "quote": spec.quote, "contexts": n_contexts}
        about |= {"batch_size": args.batch_size, "threads": args.threads}
        about |= {"device": args.device, "dtype": args.dtype or "float32"}
        run_and_texts = {"run": utf8(path), "passages": utf8(passages.name)}
        seconds = {
            "seconds": round(time.monotonic() - started, 1),
            "cpu_seconds": round(time.process_time() - cpu_started, 2),  # of all threads
        }
        values = {"topics": utf8(args.topics), **about, **run_and_texts, "n_topics": len(topics), **seconds}
        with atomic_writer(args.output.with_name(f"{args.output.name}.config.json")) as file:
            file.write(json_file(values))
        print(utf8(args.output))
    _tell(args, questions)
    return 0


def _searched(args: argparse.Namespace, index: str, n_contexts: int) -> Path:
    """The run of a search, beside the answers that are to come."""
    path = beside(args.output)
    given = {name: getattr(args, name) for name in ("topics", "topics_format", "preset", "threads")}
    given |= {"index": index, "output": path, "hits": max(args.hits, n_contexts)}
    given |= {name: value for name in ("device", "dtype") if (value := getattr(args, name)) is not None}
    options = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    from seal_ir.search.__main__ import main as search  # --help and --run do without it

    search([*options, *(["--yes"] if args.yes else [])])
    return path


def _passages(
    args: argparse.Namespace, directory: Path | None, heads: Mapping[str, Sequence[str]]
) -> Passages:
    if directory is not None:
        return IndexPassages(directory)
    return CollectionPassages(args.collection, args.input, wanted_of(heads))


def _loaded(spec: ReaderSpec, args: argparse.Namespace) -> Reader:
    """The reader, loaded before an output is opened, so that one that cannot be loaded leaves none."""
    if lacks_weights(spec.model):
        ensure_weights(spec.model, args.yes)
    use_threads(args.threads)
    return load_reader(spec, args.device, args.dtype)


def _answer(
    topics: Sequence[Query],
    heads: Mapping[str, Sequence[str]],
    passages: Passages,
    reader: Reader,
    writer: PredictionWriter,
    batch_size: int,
) -> None:
    """Writes the answers, batch by batch."""
    progress = Progress(len(topics), "questions")
    for at in range(0, len(topics), batch_size):
        batch = topics[at : at + batch_size]
        contexts = [passages.read(heads[query.id]) for query in batch]
        answers = reader.read([query.text for query in batch], contexts)
        for query, answer in zip(batch, answers, strict=True):
            writer.write(Prediction(query.id, query.text, answer))
        progress.advance(len(batch))
    progress.close()


def _tell(args: argparse.Namespace, questions: Questions | None) -> None:
    """EM and F1, where there are answers to compare with and the predictions are a file."""
    if questions is None:
        print("not measured: these topics have no answers; give them with --answers", file=sys.stderr)
    elif is_stream(args.output):
        print("not measured: the answers went to a stream; give --output a file", file=sys.stderr)
    else:
        sys.stdout.write(as_text(measured(args.output, questions, args.seed)))


if __name__ == "__main__":
    run(main)
