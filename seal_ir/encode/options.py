"""The sub-arguments of `python -m seal_ir.encode`, as Pyserini spells them: `input`, `output`, `encoder`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seal_ir.command import CommandParser, add_ray, add_refused, check_options
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.errors import UsageError
from seal_ir.search.options import add_decoding, add_index, add_topics_format

GROUPS = ("input", "output", "encoder")
_FIELDS: Mapping[str, Any] = {"nargs": "+", "default": ["text"], "help": "text, the one field of a query"}
_DENSE = "keys are n-grams with weights, not dense vectors"
# Pyserini's options that mean nothing for keys: how many values each takes, and why it is refused.
REFUSED: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "input": {
        "--docid-field": (1, "topics have their id under id, qid or _id"),
        "--delimiter": (1, "a query is one field"),
    },
    "output": {"--to-faiss": (0, _DENSE)},
    "encoder": {
        "--max-length": (1, "queries are cut to what the model reads"),
        "--dimension": (1, _DENSE),
        "--pooling": (1, _DENSE),
        "--l2-norm": (0, _DENSE),
        "--add-sep": (0, "the model's prompts are in its seal.json"),
        "--prefix": (1, "the model's prompts are in its seal.json"),
        "--explicit-truncate": (0, "queries are cut to what the model reads"),
        "--use-openai": (0, "models run here"),
        "--rate-limit": (1, "models run here"),
        "--multimodal": (0, "queries are text"),
    },
}


class Options(argparse.Namespace):
    """The options of all three groups."""


def parse(arguments: Sequence[str]) -> Options:
    """Options of a command line `input ... output ... encoder ...`, its groups in any order, each once.

    Raises:
        UsageError: a group is missing or comes twice, or an option does not apply to keys.
    """
    parser, groups = _parser()
    before, given = _cut(arguments)
    for words in (before, *given):
        for option in ("-h", "--help", "--version"):
            if option in words:
                groups.get(words[0], parser).parse_args([option])
    if before or sorted(words[0] for words in given) != sorted(GROUPS):
        raise UsageError(
            "write input --corpus ... output --embeddings ... encoder ..., each of the three once; see --help"
        )
    options = Options()
    for name, *words in given:
        groups[name].parse_args(words, namespace=options)
    _check(options)
    return options


def _cut(arguments: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """What stands before the first group, and the groups, each beginning with its name."""
    starts = [at for at, word in enumerate(arguments) if word in GROUPS]
    ends = [*starts[1:], len(arguments)]
    before = list(arguments[: starts[0]] if starts else arguments)
    return before, [list(arguments[at:end]) for at, end in zip(starts, ends, strict=False)]


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the whole line, for its help, and one of each group."""
    parser = CommandParser(
        prog="python -m seal_ir.encode",
        usage="%(prog)s input --corpus TOPICS output --embeddings FOLDER encoder [--index INDEX] ...",
        description="Let a model write the keys of queries, and keep them with their weights as JSON lines.",
        epilog="The options of a group: python -m seal_ir.encode encoder --help",
    )
    commands = parser.add_subparsers(
        title="groups of options, each needed once", metavar="", prog="python -m seal_ir.encode"
    )
    groups = {
        "input": commands.add_parser("input", help="--corpus TOPICS and how to read them"),
        "output": commands.add_parser("output", help="--embeddings FOLDER"),
        "encoder": commands.add_parser("encoder", help="the model, the index and how to decode"),
    }
    _add_input(groups["input"])
    add = groups["output"].add_argument
    add(
        "--embeddings",
        type=Path,
        required=True,
        help="folder for embeddings.jsonl, NAME.jsonl, or - for stdout",
    )
    _add_encoder(groups["encoder"])
    for name, group in groups.items():
        refused = REFUSED[name].items()
        add_refused(group, {option: (n, f"{why}; leave it out") for option, (n, why) in refused})
    return parser, groups


def _add_input(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--corpus", required=True, help="topics: a file, or a name such as nq-test or demo")
    add_topics_format(parser)
    add("--shard-id", type=int, default=0, help="which part of the topics, from 0")
    add("--shard-num", type=int, default=1, help="in how many parts the topics are cut")
    add("--fields", dest="input_fields", **_FIELDS)


def _add_encoder(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_index(parser)
    add("--encoder", help="folder, hub name or packaged name; default: the model the index was built for")
    served = "keys of intersective have titles too; they serve all without further fields but published"
    add("--preset", default=DEFAULT_PRESET, help=f"one of {', '.join(PRESETS)} (%(default)s); {served}")
    decoding = parser.add_argument_group("decoding")
    add_decoding(decoding, threads="of torch")
    add_ray(parser.add_argument_group("on a Ray cluster"))
    decoding.add_argument("--fp16", action="store_true", help="the same as --dtype float16")
    spelling = parser.add_argument_group("there because Pyserini has them").add_argument
    spelling("--encoder-class", choices=["seal"], help="there is one")
    spelling("--fields", dest="encoder_fields", **_FIELDS)


def _check(options: Options) -> None:
    for fields in (options.input_fields, options.encoder_fields):
        if fields != ["text"]:
            raise UsageError(f"--fields is {' '.join(fields)}; a query has one field, text")
    check_options(options, shard_num=1, batch_size=1, threads=1)
    if not 0 <= options.shard_id < options.shard_num:
        raise UsageError(f"--shard-id is {options.shard_id}; it must be in [0, {options.shard_num})")
    if options.fp16:
        if options.dtype not in (None, "float16"):
            raise UsageError(f"--fp16 and --dtype {options.dtype} contradict each other; give one of them")
        options.dtype = "float16"
