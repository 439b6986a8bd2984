"""`python -m seal_ir.search`: search topics and write a run, in the spelling of Pyserini's commands."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.command import Progress, run
from seal_ir.config import SearchConfig, covering
from seal_ir.decode.prompts import CutQueries
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import atomic_writer, listed, utf8
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.runs.pages import first_hits, fold_hits
from seal_ir.formats.runs.passages import PassageWriter
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from seal_ir.formats.runs.trec import RunWriter
from seal_ir.formats.topics.answers import answers_of_topics
from seal_ir.formats.topics.reading import datapoint_inputs, read_topics
from seal_ir.rank.weights import weigh
from seal_ir.records import Hit, Query, QueryKeys, Ranked
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.hybrid import Hybrid, hybrid_with
from seal_ir.search.options import (
    configured,
    filter_of,
    fusion_of,
    index_of,
    loaded_model,
    outputs_of,
    parsed,
)
from seal_ir.search.passages import asked_topics, numbered, passages_of
from seal_ir.search.pipeline import Decode, QueryPipeline
from seal_ir.search.ray_options import decoders_of, opened_of
from seal_ir.search.stored import StoredKeys
from seal_ir.structured import json_file

_SMOOTHED = "in a very small collection smoothing leaves no key a weight; try --preset paper"
_UNLIKELY = (
    "to the model no key is likelier than the collection makes it by chance; search with a model that was "
    "trained to write passages from questions (docs/training.md)"
)


class _Runs(NamedTuple):
    """What makes the runs: keys from somewhere, ranked under each config, what is fused, and who writes.

    Attributes:
        pipeline: has the index, and the model.
        decode: gives keys instead of the model.
        configs: what to rank under.
        hybrid: what SEAL's rankings are fused with.
        writers: of the run of each config, then of what those are fused from; not all need be written.
    """

    pipeline: QueryPipeline
    decode: Decode | None
    configs: list[SearchConfig]
    hybrid: Hybrid | None
    writers: Sequence[RunWriter | PassageWriter]


def main(arguments: list[str]) -> int:
    """Search; 0 when the runs are written."""
    args = parsed(arguments)
    settings = None if args.config is None else rereadable(args.config)  # once for each preset
    configs = [
        configured(name, settings, beam=args.beam, rescore=args.rescore)
        for name in dict.fromkeys(args.preset)
    ]
    fusion = fusion_of(args, settings)
    places = Places.from_environment()
    directory = index_of(args.index, args.topics, places, args.yes)
    topics_path = resolve_topics(args.topics, places)
    topics = read_topics(topics_path, args.topics_format)
    outputs = outputs_of(args, configs)
    writers = _writers(args, topics, topics_path, places, outputs)
    pipeline = QueryPipeline(
        directory if args.ray is args.shards is args.decoders is None else opened_of(args, directory),
        args.model,
        config=replace(configs[0], decode=covering(configs)),
        device=args.device,
        dtype=args.dtype,
        batch_size=args.batch_size,
    )
    allowed = filter_of(args, pipeline.index)
    if allowed is not None:
        pipeline = pipeline.within(allowed)
        _tell(f"filter: {allowed.n_documents:,} of {pipeline.index.n_documents:,} documents")
    hybrid = None
    if fusion is not None:
        bm25 = Bm25Config(hits=args.hits, threads=args.threads)
        hybrid = hybrid_with(args.fuse, pipeline.index, topics, fusion, bm25, places.cache / "lucene")
    with ExitStack() as stack:
        decode, about = _decoding(pipeline, topics, configs, args, stack)
        started, cpu_started = time.monotonic(), time.process_time()
        for writer in writers:
            stack.enter_context(writer)
        runs = _Runs(pipeline, decode, configs, hybrid, writers)
        without, reasons = _search(runs, topics, args)
    about |= {
        "n_topics": len(topics),
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu_started, 2),  # of all threads
    }
    if allowed is not None:
        about["filter"] = {"of": utf8(args.filter), "counts": allowed.view.counts}
    if args.ray is not None:
        about |= {"ray": args.ray, "decoders": args.decoders}
    if hybrid is not None:
        about["fusion"] = hybrid.description()
    for (path, _), config in zip(outputs, configs, strict=False):  # of the runs; the rest is beside them
        if is_stream(path):  # which has nothing beside it
            continue
        _save_config(path, config, pipeline, args, about)
        print(utf8(path))
    _tell_without(without, topics, reasons, hybrid)
    return 0


def _writers(
    args: argparse.Namespace,
    topics: list[Query],
    topics_path: Path,
    places: Places,
    outputs: Sequence[tuple[Path, str]],
) -> Sequence[RunWriter | PassageWriter]:
    """A writer for each file, of a run or of passages."""
    output_format = args.output_format
    if output_format in PASSAGE_FORMATS:
        answers = answers_of_topics(args.topics, topics_path, args.topics_format, places)
        asked = asked_topics(topics, answers)
        return [PassageWriter(path, output_format, asked) for path, _ in outputs]
    inputs = datapoint_inputs(topics_path, topics, args.topics_format)
    return [RunWriter(path, tag=tag, output_format=output_format, inputs=inputs) for path, tag in outputs]


def _tell_without(
    without: list[str], topics: list[Query], reasons: Collection[str], hybrid: Hybrid | None
) -> None:
    if without:
        whose = " of SEAL's" if hybrid else ""
        _tell(f"{len(without)} of {len(topics)} topics have no hits{whose}: {listed(without)}")
    if len(without) == len(topics) and reasons:
        _tell(_SMOOTHED if _SMOOTHED in reasons else _UNLIKELY)


def _reasons(pipeline: QueryPipeline, keys: QueryKeys, configs: Sequence[SearchConfig]) -> Iterator[str]:
    """Why the keys of a topic bring no hits: it is tried whether some would without smoothing."""
    for config in configs:
        plain = replace(config, rank=replace(config.rank, smoothing=0.0))
        counting = any(key.kind in config.rank.kinds for key in keys.keys)
        counting = counting or (config.decode.stop and len(keys.unigrams.symbols) > 0)  # left out unweighed
        if config.rank.weight == "lm-fm" and counting and not config.rank.length:
            if pipeline.rank(keys, 1, plain):
                yield _SMOOTHED
            elif not weigh(keys, plain.rank, pipeline.index.n_tokens):
                yield _UNLIKELY


def _decoding(
    pipeline: QueryPipeline,
    topics: list[Query],
    configs: list[SearchConfig],
    args: argparse.Namespace,
    stack: ExitStack,
) -> tuple[Decode | None, dict[str, Any]]:
    """What gives topics their keys: a file, decoders, or the model (None), loaded here; and what to tell."""
    if args.keys is not None:
        for name in ("device", "decoders"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} does not go with --keys: no model runs; leave it out")
        stored = StoredKeys(args.keys, pipeline.index, topics, configs, model=args.model, dtype=args.dtype)
        return stored.decoded, stored.description()
    if args.decoders is not None:
        decoders = stack.enter_context(decoders_of(args, pipeline, topics))
        return decoders.decoded, {"device": decoders.device, "dtype": decoders.dtype}
    generator = loaded_model(pipeline, args.threads, args.yes)
    return None, {"device": generator.device, "dtype": generator.dtype}


def _search(runs: _Runs, topics: list[Query], args: argparse.Namespace) -> tuple[list[str], set[str]]:
    """Decode each batch once, rank it under every config, and write the rankings as they come.

    Returns:
        The topics that SEAL has no hits for, and reasons why keys of such brought none.
    """
    pipeline, decode, configs, hybrid, writers = runs
    progress = Progress(len(topics), "queries")
    cut = CutQueries()
    without: list[str] = []
    reasons: set[str] = set()
    short: set[str] = set()
    passage = ""
    k = max(args.hits, hybrid.fusion.depth) if hybrid else args.hits
    batches = pipeline.ranked_batches(topics, k, cut, configs, threads=args.threads, decode=decode)
    with closing(batches):
        for batch in batches:
            for topic, keys, ranked in zip(*batch, strict=True):
                if not any(ranked):
                    without.append(topic.id)
                    reasons.update(_reasons(pipeline, keys, configs))
                by_config = [pipeline.bare_hits(ranking) for ranking in ranked]
                rankings = hybrid.rankings(topic.id, by_config) if hybrid else by_config
                for n, ranking in enumerate(rankings[: len(writers)]):
                    hits = _write(runs, n, topic.id, ranking, ranked, args)
                    if _is_short(ranking, hits, args):
                        short.add(topic.id)
                    if args.output_format == "kilt" and not passage:
                        passage = _passage(hits, args.max_passage_delimiter)
            progress.advance(len(batch.queries))
    progress.close()
    _tell(cut.sentence())
    if short:
        _tell(
            f"{len(short)} of {len(topics)} topics have fewer than {args.max_passage_hits} pages, all"
            f" that their {args.hits} hits are of; raise --hits for more"
        )
    if passage:
        _tell(f"{passage} and the like were written as page ids; --max-passage writes pages")
    return without, reasons


def _tell(sentence: str) -> None:
    if sentence:
        print(sentence, file=sys.stderr)


def _passage(hits: list[Hit], delimiter: str) -> str:
    return next((hit.docid for hit in hits if delimiter in hit.docid), "")


def _write(
    runs: _Runs, n: int, qid: str, ranking: list[Hit], ranked: list[list[Ranked]], args: argparse.Namespace
) -> list[Hit]:
    """Writes the n-th ranking of a topic, and returns what was written; `ranked` is SEAL's by config."""
    writer, index = runs.writers[n], runs.pipeline.index
    if isinstance(writer, RunWriter):
        hits = _written(ranking, args)
        writer.write(qid, hits)
        return hits
    hits = _written(numbered(index, ranking), args)
    of = n % len(runs.configs)
    seal = ranked[of] if n < 2 * len(runs.configs) else []  # what follows is other systems'
    writer.write(qid, passages_of(index, runs.configs[of].rank, hits, seal))
    return hits


def _written(hits: list[Hit], args: argparse.Namespace) -> list[Hit]:
    if args.remove_duplicates:
        hits = first_hits(hits)
    return fold_hits(hits, args.max_passage_delimiter, args.max_passage_hits) if args.max_passage else hits


def _is_short(ranking: list[Hit], written: list[Hit], args: argparse.Namespace) -> bool:
    """Whether a topic has fewer pages than asked for where more hits might have given more."""
    return bool(args.max_passage) and len(written) < args.max_passage_hits and len(ranking) >= args.hits


def _save_config(
    path: Path,
    config: SearchConfig,
    pipeline: QueryPipeline,
    args: argparse.Namespace,
    about: Mapping[str, Any],
) -> None:
    """`OUTPUT.config.json`: all that is needed to make the run again, and how long it took."""
    values: dict[str, Any] = {
        **config.to_dict(),
        "topics": utf8(args.topics),
        "index": utf8(pipeline.index.directory),
        "model": utf8(pipeline.model),
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
        file.write(json_file(values))


if __name__ == "__main__":
    run(main)
