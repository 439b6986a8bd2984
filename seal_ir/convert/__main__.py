"""`python -m seal_ir.convert`: files of ours out of others', and KILT's out of ours."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from seal_ir.command import CommandParser, check_options, run
from seal_ir.convert.kilt_passages import write_passages
from seal_ir.convert.kilt_predictions import write_output
from seal_ir.convert.kilt_questions import write_questions
from seal_ir.convert.nq320k import convert
from seal_ir.convert.overlap import read_overlap, write_splits
from seal_ir.convert.passages import write_passage_collection
from seal_ir.convert.runs import NEED_TOPICS, convert_run
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions, collection_kinds
from seal_ir.formats.collections.splitting import Split
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import check_several
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from seal_ir.formats.runs.trec import OUTPUT_FORMATS
from seal_ir.formats.topics.answers import answers_of_topics
from seal_ir.formats.topics.reading import TOPICS_FORMATS, datapoint_inputs, read_topics
from seal_ir.records import Query


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.convert",
        description="Make files of ours out of published data, or out of runs.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    nq320k = commands.add_parser(
        "nq320k", help="a collection, topics, judgements, pairs of Natural Questions"
    )
    nq320k.set_defaults(command=_nq320k)
    for split in ("train", "dev"):
        nq320k.add_argument(
            f"--{split}", type=Path, required=True, help="examples: .jsonl or .jsonl.gz, or a folder of them"
        )
    nq320k.add_argument("--output", type=Path, required=True, help="folder that SEAL_IR_DATA names")
    nq320k.add_argument(
        "--long-answers", action="store_true", help="only questions with a long answer (default: all)"
    )
    overlap = commands.add_parser("overlap", help="ids of the topics that overlap with training questions")
    overlap.set_defaults(command=_overlap)
    overlap.add_argument("--input", type=Path, required=True, help="annotations: nq-annotations.jsonl")
    overlap.add_argument(
        "--output",
        type=Path,
        required=True,
        help="what PREFIX.question-overlap.ids.txt and the like begin with",
    )
    passages = commands.add_parser("passages", help="a collection of the passages of any collection")
    passages.set_defaults(command=_passages)
    add = passages.add_argument
    add("--input", type=Path, required=True, help="file or folder of documents")
    add("--collection", default="JsonCollection", help=", ".join(collection_kinds()))
    add("--malformed", default="error", choices=("error", "skip"), help="what to do with bad records")
    add("--split", default="words:100", help="words:N or words:N:OVERLAP, as in seal_ir.index (%(default)s)")
    add("--output", type=Path, required=True, help="file to write: .jsonl or .jsonl.gz")
    _add_kilt(commands)
    _add_run(commands.add_parser("run", help="a run of any system, in another format"))
    return parser


def _add_kilt(commands: Any) -> None:
    passages = commands.add_parser("kilt-passages", help="KILT's gold file with passages for pages")
    passages.set_defaults(command=_kilt_passages)
    add = passages.add_argument
    add("--gold", type=Path, required=True, help="KILT's datapoints: fever-dev-kilt.jsonl and the like")
    add("--knowledge-source", type=Path, required=True, help="KILT's pages: kilt_knowledgesource.json")
    add("--split", default="words:100", help="how the index is split (%(default)s)")
    add("--output", type=Path, required=True, help="file to write")
    questions = commands.add_parser("kilt-questions", help="KILT's files of TriviaQA with their questions")
    questions.set_defaults(command=_kilt_questions)
    add = questions.add_argument
    add("--gold", type=Path, required=True, help="KILT's datapoints: triviaqa-dev_id-kilt.jsonl and the like")
    add("--questions", type=Path, required=True, help="TriviaQA's own file, or topics with the same ids")
    add("--output", type=Path, required=True, help="file to write")
    predictions = commands.add_parser("kilt-predictions", help="KILT's file of a run, of answers, or of both")
    predictions.set_defaults(command=_kilt_predictions)
    add = predictions.add_argument
    add("--topics", required=True, help="KILT's datapoints, or other topics: file or name")
    add("--run", type=Path, help="the run that is the evidence, TREC's or KILT's")
    add("--predictions", type=Path, help="the answers, one a topic")
    add("--max-passage", action="store_true", help="fold passages into pages")
    add("--max-passage-delimiter", default="#", help="what ends the page in a passage's id (%(default)s)")
    add("--hits", type=int, default=100, help="pages a topic (%(default)s)")
    add("--output", type=Path, required=True, help="file to write")


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(command=_run)
    add = run.add_argument
    add("--run", type=Path, required=True, help="TREC's, KILT's, DPR's or another of docs/formats.md")
    add("--output", type=Path, required=True, help="file to write, or -")
    formats = (*OUTPUT_FORMATS, *PASSAGE_FORMATS)
    add("--output-format", default="trec", choices=formats, help="(%(default)s)")
    add("--topics", help="file or name; default: those of the run, where the format holds no questions")
    add("--topics-format", default="auto", choices=TOPICS_FORMATS, help="auto looks into the file")
    told = "with --input: where texts are read that the run brings none of"
    add("--collection", default="JsonCollection", help=f"{told}: {', '.join(collection_kinds())}")
    add("--input", type=Path, help="the collection: file or folder")
    add("--tag", default="converted", help="sixth column of a TREC run (%(default)s)")


def main(arguments: list[str]) -> int:
    """Make the files; 0 when they are there."""
    args = _parser().parse_args(arguments)
    args.command(args)
    return 0


def _nq320k(args: argparse.Namespace) -> None:
    found = convert(args.train, args.dev, args.output, long_answers=args.long_answers, tell=_tell)
    for split, counts in found.items():
        _tell(f"{split}: {counts}")


def _overlap(args: argparse.Namespace) -> None:
    annotations = read_overlap(args.input)
    check_several(args.output)
    counts = write_splits(annotations, args.output)
    told = ", ".join(f"{label.replace('_', ' ')} {count:,}" for label, count in counts.items())
    _tell(f"{len(annotations):,} questions: {told}")


def _run(args: argparse.Namespace) -> None:
    if args.topics is None and args.output_format in NEED_TOPICS:
        raise UsageError(f"--output-format {args.output_format} holds the questions; give --topics")
    topics, answers = None, {}
    if args.topics is not None:
        places = Places.from_environment()
        path = resolve_topics(args.topics, places)
        topics = read_topics(path, args.topics_format)
        if args.output_format == "kilt":  # which repeats inputs with their marks
            inputs = datapoint_inputs(path, topics, args.topics_format)
            topics = [Query(query.id, inputs[query.id]) for query in topics]
        if args.output_format in PASSAGE_FORMATS:
            answers = answers_of_topics(args.topics, path, args.topics_format, places)
    texts = None if args.input is None else (args.collection, rereadable(args.input))
    done = convert_run(
        args.run, args.output, args.output_format, topics, texts, answers=answers, tag=args.tag
    )
    _tell(
        f"{done.topics:,} topics, {done.without:,} of them without results;"
        f" {done.unknown:,} topics of the run are left out"
    )


def _passages(args: argparse.Namespace) -> None:
    options = ReadOptions(malformed=args.malformed, will_split=True)
    collection = Collection(args.collection, args.input, options)
    if collection.note:
        _tell(collection.note)
    count = write_passage_collection(collection, Split.parse(args.split), args.output)
    _tell(f"{collection.counts}; {count:,} passages")


def _kilt_passages(args: argparse.Namespace) -> None:
    split = Split.parse(args.split)
    _tell(str(write_passages(args.gold, args.knowledge_source, split, args.output)))


def _kilt_questions(args: argparse.Namespace) -> None:
    _tell(f"{write_questions(args.gold, args.questions, args.output):,} questions")


def _kilt_predictions(args: argparse.Namespace) -> None:
    check_options(args, hits=1)
    if args.run is None and args.predictions is None:
        raise UsageError("nothing to write; name a run with --run, answers with --predictions, or both")
    if not args.max_passage_delimiter:
        raise UsageError("--max-passage-delimiter is empty; give one or more characters, such as '#'")
    counts = write_output(
        resolve_topics(args.topics, Places.from_environment()),
        args.run,
        args.predictions,
        args.output,
        delimiter=args.max_passage_delimiter if args.max_passage else None,
        hits=args.hits,
    )
    _tell(str(counts))


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    run(main)
