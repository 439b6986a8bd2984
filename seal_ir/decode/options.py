"""Options that every command has which decodes; `seal_ir.config` and `load_generator` say what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path

from seal_ir.config import DEFAULT_BATCH_SIZE
from seal_ir.formats.topics.reading import TOPICS_FORMATS
from seal_ir.options import add_batch_size, add_threads


def add_topics_format(parser: argparse._ActionsContainer) -> None:
    """How the topics are written."""
    parser.add_argument(
        "--topics-format", default="auto", choices=TOPICS_FORMATS, help="auto looks into the file"
    )


def add_index(parser: argparse._ActionsContainer) -> None:
    """The index whose n-grams are written."""
    parser.add_argument(
        "--index", help="directory or registered name; default: the best one built for these topics"
    )


def add_settings(parser: argparse._ActionsContainer) -> None:
    """Settings over those of the preset."""
    parser.add_argument(
        "--config", type=Path, help="TOML file with [decode] and [rank] settings over the preset's"
    )


def add_decoding(parser: argparse._ActionsContainer, threads: str) -> None:
    """How the model decodes, and on what; `threads` says what those are of."""
    add_batch_size(parser, DEFAULT_BATCH_SIZE, "queries decoded together")
    add_threads(parser, threads)
    add = parser.add_argument
    add("--device", help="cpu, cuda, cuda:1; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16, or auto: what the device does fastest")
    add("--beam", type=int, help="hypotheses kept per step (15)")
    add(
        "--rescore",
        action="store_true",
        help="read all keys in a second pass of the model; changes only time",
    )
