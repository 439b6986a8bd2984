"""`python -m seal_ir.baselines.dense`: a dense retriever's run, its Faiss index built where there is none."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seal_ir.baselines.built_from import read_about
from seal_ir.baselines.dense.encoders import (
    DEFAULT_ENCODER,
    EncoderFiles,
    find_encoder,
    question_encoder_fits,
)
from seal_ir.baselines.dense.index_dir import check_about, is_faiss_index
from seal_ir.baselines.dense.searching import DenseConfig, search
from seal_ir.baselines.run_command import (
    collection_of,
    read_named_topics,
    run_parser,
    source_of,
    tell_build,
    write_run,
)
from seal_ir.command import add_threads, run
from seal_ir.errors import UsageError
from seal_ir.lm.device import use_threads
from seal_ir.pyserini_plugin import check_installed


def _parser() -> argparse.ArgumentParser:
    parser = run_parser(
        "dense", "Search topics with a dense retriever (Faiss, through Pyserini) and write a run file."
    )
    group = parser.add_argument_group("encoders and their index")
    add = group.add_argument
    add("--faiss", type=Path, required=True, help="Faiss index; built from --input where there is none")
    encoder = f"of passages: folder or hub name; default: the index's, for a new one {DEFAULT_ENCODER}"
    add("--encoder", help=encoder)
    add("--query-encoder", help="of questions, where it is another one, as DPR's; default: the index's")
    add("--device", help="of the encoder of passages: cpu, cuda; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16 or auto, in which passages are encoded")
    add_threads(group, "of torch and Faiss")
    return parser


def main(arguments: list[str]) -> int:
    """Build the index where there is none, and search; 0 when the run is written."""
    args = _parser().parse_args(arguments)
    config = DenseConfig(hits=args.hits, threads=args.threads)
    check_installed()
    use_threads(args.threads)
    topics = read_named_topics(args.topics)
    questions = _prepare(args)
    about = {"system": "dense", "query_encoder": questions.name, **read_about(args.faiss), **asdict(config)}
    ranked = search(args.faiss, questions, topics, config)
    write_run(args, ranked, len(topics), {**about, "index": str(args.faiss)})
    return 0


def _prepare(args: argparse.Namespace) -> EncoderFiles:
    """Build the index, or check that the one there is the one wanted; returns the encoder of questions."""
    there = is_faiss_index(args.faiss)
    if not there and args.input is None:
        raise UsageError(f"{args.faiss}: no Faiss index; give --input to build it")
    built = read_about(args.faiss) if there else {}
    name = args.encoder or built.get("encoder") or DEFAULT_ENCODER
    passages = find_encoder(name)
    asked = args.query_encoder or built.get("query_encoder") or name
    questions = find_encoder(asked)
    if not question_encoder_fits(passages, questions):
        raise UsageError(
            f"{asked} is no encoder of questions for {name}; name it with --query-encoder "
            "(of DPR: its question encoder)"
        )
    wanted = {**(asdict(source_of(args)) if args.input else {}), "encoder": _recorded(passages)}
    if there:
        dtype = {"dtype": args.dtype} if args.dtype not in (None, "auto") else {}
        check_about(args.faiss, {**wanted, **dtype})
    else:
        _build(args, passages, {**wanted, "query_encoder": _recorded(questions)})
    return questions


def _recorded(files: EncoderFiles) -> str:
    """How an index names an encoder: a folder by its absolute path, the packaged one by its name."""
    return files.source if Path(files.name).is_dir() else files.name


def _build(args: argparse.Namespace, passages: EncoderFiles, about: dict[str, Any]) -> None:
    from seal_ir.baselines.dense.building import build
    from seal_ir.baselines.dense.encoding import load_encoder

    collection = collection_of(args)
    encoder = load_encoder(passages, args.device, args.dtype)
    dtype = str(encoder.dtype).removeprefix("torch.")
    sys.stderr.write(f"model: {passages.name} on {encoder.device} in {dtype}\n")
    tell_build(collection, args.faiss, lambda: build(collection, args.faiss, encoder, about))


if __name__ == "__main__":
    run(main)
