"""`python -m seal_ir.search`: search topics and write a run, in the spelling of Pyserini's commands."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.command import run
from seal_ir.config import PRESETS, SearchConfig, configured, covering
from seal_ir.decode.beam import Decoded
from seal_ir.decode.lazy import DEFAULT_BATCH_SIZE
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
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.fusion import METHODS, Fusion
from seal_ir.search.hybrid import BM25, Hybrid, hybrid_with, is_searched, name_of
from seal_ir.search.pipeline import batched, overlapped
from seal_ir.search.searcher import SealSearcher
from seal_ir.search.stored import StoredKeys

_NAMED = 10  # topics without hits that are named on stderr
Decode = Callable[[Sequence[Query]], Decoded]


class _Sources(NamedTuple):
    """What makes the rankings: keys from somewhere, an index, and what SEAL's are fused with."""

    searcher: SealSearcher
    decode: Decode
    hybrid: Hybrid | None


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
    add("--keys", type=Path, help="keys of python -m seal_ir.encode, folder or file, instead of a model's")
    add("--fuse", help="fuse with bm25, a run file or a Lucene index; SEAL's own run goes to run.seal.trec")
    add("--fusion", choices=METHODS, help="of ranks, with k = 60 (rrf, default), or of normalised scores")
    add("--alpha", type=float, help="SEAL's share in an interpolation (0.5)")
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
    add("--tag", help="sixth column of the run (default: seal-PRESET, seal-PRESET+bm25 when fused)")
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
    configs = [
        configured(name, args.config, beam=args.beam, rescore=args.rescore)
        for name in dict.fromkeys(args.preset)
    ]
    fusion = _fusion(args)
    places = Places.from_environment()
    directory = _index_directory(args, places)
    topics_path = resolve_topics(args.topics, places)
    topics = read_topics(topics_path, args.topics_format)
    inputs = datapoint_inputs(topics_path, topics, args.topics_format)
    outputs = _outputs(args, configs)
    writers = [
        RunWriter(path, tag=tag, output_format=args.output_format, inputs=inputs) for path, tag in outputs
    ]
    searcher = SealSearcher(
        directory,
        args.model,
        config=replace(configs[0], decode=covering(configs)),
        device=args.device,
        dtype=args.dtype,
        batch_size=args.batch_size,
    )
    hybrid = None
    if args.fuse is not None:
        bm25 = Bm25Config(hits=args.hits, threads=args.threads)
        hybrid = hybrid_with(args.fuse, searcher.index, topics, fusion, bm25, places.cache / "lucene")
    decode, about = _decoding(searcher, topics, configs, args)
    started = time.monotonic()
    with ExitStack() as stack:
        for writer in writers:
            stack.enter_context(writer)
        without = _search(_Sources(searcher, decode, hybrid), topics, configs, writers, args)
    about |= {"n_topics": len(topics), "seconds": round(time.monotonic() - started, 1)}
    if hybrid is not None:
        about["fusion"] = hybrid.description()
    for (path, _), config in zip(outputs, configs, strict=False):  # of the runs; the rest is beside them
        if _is_stream(path):  # which has nothing beside it
            continue
        _save_config(path, config, searcher, args, about)
        print(path)
    _tell_without(without, topics, configs, hybrid)
    return 0


def _tell_without(
    without: list[str], topics: list[Query], configs: list[SearchConfig], hybrid: Hybrid | None
) -> None:
    if without:
        some = ", ".join(without[:_NAMED]) + (", ..." if len(without) > _NAMED else "")
        whose = " of SEAL's" if hybrid else ""
        print(f"{len(without)} of {len(topics)} topics have no hits{whose}: {some}", file=sys.stderr)
    if len(without) == len(topics) and any(config.rank.smoothing > 0 for config in configs):
        print(
            "in a very small collection smoothing leaves no key a weight; try --preset paper", file=sys.stderr
        )


def _decoding(
    searcher: SealSearcher, topics: list[Query], configs: list[SearchConfig], args: argparse.Namespace
) -> tuple[Decode, dict[str, Any]]:
    """What gives topics their keys: a file, or the model, which is loaded here; and what to tell of it."""
    if args.keys is not None:
        if args.device is not None:
            raise UsageError("--device does not go with --keys: no model runs; leave it out")
        stored = StoredKeys(args.keys, searcher.index, topics, configs, model=args.model, dtype=args.dtype)
        return stored.decoded, stored.description()
    _set_threads(args.threads)
    _ = searcher.generator  # a model that cannot be loaded is told before any output is opened
    return lambda batch: searcher.decode_counted([topic.text for topic in batch]), {}


def _search(
    sources: _Sources,
    topics: list[Query],
    configs: list[SearchConfig],
    writers: list[RunWriter],
    args: argparse.Namespace,
) -> list[str]:
    """Decode each batch once and rank it under every config; returns the topics that SEAL has no hits for."""
    searcher, decode, hybrid = sources
    progress = Progress(len(topics), "queries")
    without = []
    passage = ""
    n_truncated = 0

    def decoded(batch: Sequence[Query]) -> list[QueryKeys]:
        nonlocal n_truncated
        found = decode(batch)
        n_truncated += found.n_truncated
        return found.queries

    def ranked(keys: QueryKeys) -> list[list[Hit]]:
        rankings = [searcher.rank(keys, args.hits, config) for config in configs]
        return [searcher.hits(ranking, texts=False) for ranking in rankings]

    with closing(overlapped(batched(topics, args.batch_size), decoded, ranked, args.threads)) as results:
        for batch, found in results:
            for topic, by_config in zip(batch, found, strict=True):
                rankings = hybrid.rankings(topic.id, by_config) if hybrid else by_config
                for ranking, writer in zip(rankings, writers, strict=False):  # not all need be written
                    hits = _written(ranking, args)
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


def _index_directory(args: argparse.Namespace, places: Places) -> Path:
    if args.index is None:
        entry = index_for(args.topics, places)
        print(f"index: {entry.name} ({entry.directory})", file=sys.stderr)
        return entry.directory
    return index_directory(args.index, places)


def _fusion(args: argparse.Namespace) -> Fusion:
    for name in ("fusion", "alpha"):
        if args.fuse is None and getattr(args, name) is not None:
            raise UsageError(f"--{name} needs --fuse: with bm25, a run file or a Lucene index")
    fusion = Fusion(args.fusion or "rrf", 0.5 if args.alpha is None else args.alpha)
    if args.alpha is not None and fusion.method != "interpolation":
        raise UsageError("--alpha goes with --fusion interpolation; ranks are fused without weights")
    return fusion


def _outputs(args: argparse.Namespace, configs: list[SearchConfig]) -> list[tuple[Path, str]]:
    """Files to write and their tags: the run of each preset, then what those are fused from."""
    path: Path = args.output
    if not path.name:
        raise UsageError(f"{path}: is a folder; name a file to write")
    runs = [path if len(configs) == 1 else _beside(path, config.preset) for config in configs]
    tags = [f"seal-{config.preset}" for config in configs]
    if args.tag is not None:
        named = [utf8(args.tag)] * len(runs)
    else:
        named = tags if args.fuse is None else [f"{tag}+{name_of(args.fuse)}" for tag in tags]
    outputs = list(zip(runs, named, strict=True))
    if args.fuse is not None and not _is_stream(path):
        outputs += [(_beside(run, "seal"), tag) for run, tag in zip(runs, tags, strict=True)]
        outputs += [(_beside(path, BM25), BM25)] if is_searched(args.fuse) else []
        if Path(args.fuse).resolve() in [output.resolve() for output, _ in outputs]:
            raise UsageError(f"--fuse {args.fuse}: would be written over; give another --output")
    return outputs


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device, /dev/stdout included wherever that leads."""
    return path.parts[:2] == ("/", "dev") or (path.exists() and not path.is_file())


def _beside(path: Path, word: str) -> Path:
    return path.with_name(f"{path.stem}.{word}{path.suffix}")


def _set_threads(n: int) -> None:
    import torch

    torch.set_num_threads(n)


def _save_config(
    path: Path,
    config: SearchConfig,
    searcher: SealSearcher,
    args: argparse.Namespace,
    about: Mapping[str, Any],
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
        **about,
    }
    with atomic_writer(path.with_name(f"{path.name}.config.json")) as file:
        json.dump(values, file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    run(main)
