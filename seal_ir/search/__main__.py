"""`python -m seal_ir.search`: search topics and write a run, in the spelling of Pyserini's commands."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from seal_ir.command import run
from seal_ir.config import PRESETS, SearchConfig, covering, from_toml, preset
from seal_ir.errors import UsageError
from seal_ir.formats.files import atomic_writer
from seal_ir.formats.named import Places, resolve_topics
from seal_ir.formats.pages import first_hits, fold_hits
from seal_ir.formats.topics import TOPICS_FORMATS, datapoint_inputs, read_topics
from seal_ir.formats.trec import OUTPUT_FORMATS, RunWriter
from seal_ir.index.engine import utf8
from seal_ir.index.registry import index_directory, index_for
from seal_ir.progress import Progress
from seal_ir.records import Hit, Query, QueryKeys
from seal_ir.search.pipeline import batched, overlapped
from seal_ir.search.searcher import DEFAULT_BATCH_SIZE, SealSearcher

_NAMED = 10  # topics without hits that are named on stderr


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seal_ir.search", description="Search topics with SEAL and write a run file."
    )
    add = parser.add_argument
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add("--index", help="directory or registered name; default: the best one built for these topics")
    add("--output", type=Path, required=True, help="run file; with several presets, run.PRESET.trec each")
    add("--hits", type=int, default=100, help="documents per topic (%(default)s)")
    presets = f"one or more of {', '.join(PRESETS)}; published is a slow baseline for benchmarks only"
    add("--preset", nargs="+", default=["intersective"], help=presets)
    add("--config", type=Path, help="TOML file with [decode] and [rank] settings over the preset's")
    add("--model", help="folder, hub name or smollm2-135m; default: the one the index was built for")
    add("--beam", type=int, help="hypotheses kept per step (15)")
    add(
        "--rescore",
        action="store_true",
        help="read all keys in a second pass of the model; changes only time",
    )
    add("--batch-size", type=int, default=DEFAULT_BATCH_SIZE, help="queries decoded together (%(default)s)")
    add(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="of torch, and of ranking (%(default)s)",
    )
    add("--device", help="cpu, cuda, cuda:1; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16, or auto: what the device does fastest")
    add("--tag", help="sixth column of the run (default: seal-PRESET)")
    add("--topics-format", default="auto", choices=TOPICS_FORMATS, help="auto looks into the file")
    add("--output-format", default="trec", choices=OUTPUT_FORMATS, help="(%(default)s)")
    add("--remove-duplicates", action="store_true", help="keep the first hit of each docid only")
    add("--max-passage", action="store_true", help="write pages: the first passage of each, under its id")
    add("--max-passage-hits", type=int, default=100, help="pages per topic (%(default)s)")
    add("--max-passage-delimiter", default="#", help="what ends the page in a docid (%(default)s)")
    return parser


def main(arguments: list[str]) -> int:
    """Search; 0 when the runs are written."""
    args = _parser().parse_args(arguments)
    for name in ("hits", "batch_size", "threads", "max_passage_hits"):
        if getattr(args, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} is {getattr(args, name)}; it must be at least 1")
    if not args.max_passage_delimiter:
        raise UsageError("--max-passage-delimiter is empty; give one or more characters, such as '#'")
    configs = [_config(name, args) for name in dict.fromkeys(args.preset)]
    places = Places.from_environment()
    directory = _index_directory(args, places)
    topics_path = resolve_topics(args.topics, places)
    topics = read_topics(topics_path, args.topics_format)
    inputs = datapoint_inputs(topics_path, topics, args.topics_format)
    outputs = [_output(args.output, config.preset, len(configs)) for config in configs]
    writers = [
        RunWriter(path, tag=_tag(args, config), output_format=args.output_format, inputs=inputs)
        for path, config in zip(outputs, configs, strict=True)
    ]
    searcher = SealSearcher(
        directory,
        args.model,
        config=replace(configs[0], decode=covering(configs)),
        device=args.device,
        dtype=args.dtype,
        batch_size=args.batch_size,
    )
    _set_threads(args.threads)
    _ = searcher.generator  # a model that cannot be loaded is told before any output is opened
    started = time.monotonic()
    with ExitStack() as stack:
        for writer in writers:
            stack.enter_context(writer)
        without = _search(searcher, topics, configs, writers, args)
    seconds = time.monotonic() - started
    for path, config in zip(outputs, configs, strict=True):
        if not path.is_file():  # a pipe or a device has nothing beside it
            continue
        _save_config(path, config, searcher, args, len(topics), seconds)
        print(path)
    if without:
        some = ", ".join(without[:_NAMED]) + (", ..." if len(without) > _NAMED else "")
        print(f"{len(without)} of {len(topics)} topics have no hits: {some}", file=sys.stderr)
    if len(without) == len(topics) and any(config.rank.smoothing > 0 for config in configs):
        print(
            "in a very small collection smoothing leaves no key a weight; try --preset paper", file=sys.stderr
        )
    return 0


def _search(
    searcher: SealSearcher,
    topics: list[Query],
    configs: list[SearchConfig],
    writers: list[RunWriter],
    args: argparse.Namespace,
) -> list[str]:
    """Decode each batch once and rank it under every config; returns the topics that have no hits."""
    progress = Progress(len(topics), "queries")
    without = []
    passage = ""
    n_truncated = 0

    def decoded(batch: Sequence[Query]) -> list[QueryKeys]:
        nonlocal n_truncated
        found = searcher.decode_counted([topic.text for topic in batch])
        n_truncated += found.n_truncated
        return found.queries

    def ranked(keys: QueryKeys) -> list[list[Hit]]:
        rankings = [searcher.rank(keys, args.hits, config) for config in configs]
        return [_written(searcher.hits(ranking, texts=False), args) for ranking in rankings]

    with closing(overlapped(batched(topics, args.batch_size), decoded, ranked, args.threads)) as results:
        for batch, found in results:
            for topic, by_config in zip(batch, found, strict=True):
                for hits, writer in zip(by_config, writers, strict=True):
                    writer.write(topic.id, hits)
                    if args.output_format == "kilt" and not passage:
                        passage = _passage(hits, args.max_passage_delimiter)
                if not any(by_config):
                    without.append(topic.id)
            progress.advance(len(batch))
    progress.close()
    if n_truncated:
        print(f"{n_truncated} queries were longer than the model reads and were cut", file=sys.stderr)
    if passage:
        print(f"{passage} and the like were written as page ids; --max-passage writes pages", file=sys.stderr)
    return without


def _passage(hits: list[Hit], delimiter: str) -> str:
    return next((hit.docid for hit in hits if delimiter in hit.docid), "")


def _written(hits: list[Hit], args: argparse.Namespace) -> list[Hit]:
    if args.remove_duplicates:
        hits = first_hits(hits)
    return fold_hits(hits, args.max_passage_delimiter, args.max_passage_hits) if args.max_passage else hits


def _config(name: str, args: argparse.Namespace) -> SearchConfig:
    config = preset(name)
    if args.config:
        config = from_toml(args.config, config)
    if args.beam is not None:
        config = replace(config, decode=replace(config.decode, beam=args.beam))
    if args.rescore:
        config = replace(config, decode=replace(config.decode, rescore=True))
    return config


def _index_directory(args: argparse.Namespace, places: Places) -> Path:
    if args.index is None:
        entry = index_for(args.topics, places)
        print(f"index: {entry.name} ({entry.directory})", file=sys.stderr)
        return entry.directory
    return index_directory(args.index, places)


def _output(path: Path, preset_name: str, n_presets: int) -> Path:
    if not path.name:
        raise UsageError(f"{path}: is a folder; name a file to write")
    return path if n_presets == 1 else path.with_name(f"{path.stem}.{preset_name}{path.suffix}")


def _tag(args: argparse.Namespace, config: SearchConfig) -> str:
    return f"seal-{config.preset}" if args.tag is None else utf8(args.tag)


def _set_threads(n: int) -> None:
    import torch

    torch.set_num_threads(n)


def _save_config(
    path: Path,
    config: SearchConfig,
    searcher: SealSearcher,
    args: argparse.Namespace,
    n_topics: int,
    seconds: float,
) -> None:
    """`OUTPUT.config.json`: all that is needed to make the run again, and how long it took."""
    values: dict[str, Any] = {
        **config.to_dict(),
        "topics": utf8(args.topics),
        "index": utf8(searcher.index.directory),
        "model": utf8(args.model) if args.model else searcher.index.manifest.model,
        "hits": args.hits,
        "topics_format": args.topics_format,
        "output_format": args.output_format,
        "remove_duplicates": args.remove_duplicates,
        "max_passage": args.max_passage,
        "max_passage_hits": args.max_passage_hits,
        "max_passage_delimiter": args.max_passage_delimiter,
        "batch_size": args.batch_size,
        "threads": args.threads,
        "device": args.device,
        "dtype": args.dtype or "float32",
        "n_topics": n_topics,
        "seconds": round(seconds, 1),
    }
    with atomic_writer(path.with_name(f"{path.name}.config.json")) as file:
        json.dump(values, file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    run(main)
