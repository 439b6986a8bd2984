"""`python -m seal_ir.explain`: which keys made a query's hits, or why a document is none of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from seal_ir.command import run
from seal_ir.explain.answers import Answer
from seal_ir.explain.options import parsed
from seal_ir.explanation.documents import MOST_LACKING
from seal_ir.explanation.terminal import Run
from seal_ir.formats.io.files import atomic_writer, utf8
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.resolve import Places
from seal_ir.index.filters import Filter
from seal_ir.records import Query
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.fused import FusedHit, fused_hits
from seal_ir.search.fusion import Fusion
from seal_ir.search.hybrid import hybrid_with, name_of
from seal_ir.search.options import configured, filter_of, fusion_of, index_of, loaded_model
from seal_ir.search.searcher import SealSearcher
from seal_ir.structured import json_file

_TOPIC = "1"  # the id of the query in run files that it is fused with


def main(arguments: list[str]) -> int:
    """Explain; 0 when it is shown or written."""
    args = parsed(arguments)
    settings = None if args.config is None else rereadable(args.config)
    config = configured(args.preset, settings, beam=args.beam, rescore=args.rescore)
    fusion = fusion_of(args, settings)
    places = Places.from_environment()
    directory = index_of(args.index, "demo", places, args.yes)
    searcher = SealSearcher(directory, args.model, config=config, device=args.device, dtype=args.dtype)
    allowed = filter_of(args, searcher.index)
    loaded_model(searcher, args.threads, args.yes)
    answer = _answer(searcher, args, allowed, fusion, places.cache / "lucene")
    if args.html is not None:
        with atomic_writer(args.html) as file:
            file.write(answer.page())
        print(utf8(args.html))
    elif args.json:
        sys.stdout.write(json_file(answer.to_dict()))
    else:
        _show(answer.text(args.full))
    return 0


def _answer(
    searcher: SealSearcher,
    args: argparse.Namespace,
    allowed: Filter | None,
    fusion: Fusion | None,
    folder: Path,
) -> Answer:
    about = args.query, args.preset
    if args.docid is not None:
        found = searcher.explain(
            args.query,
            args.docid,
            args.hits,
            filter=allowed,
            decoding=args.decoding,
            n_lacking=MOST_LACKING,
        )
        return Answer(*about, explanation=found, decoding=found.decoding)
    decoding = searcher.trace(args.query, filter=allowed) if args.decoding else None
    depth = max(args.hits, fusion.depth) if fusion else args.hits
    hits = searcher.search(args.query, depth, filter=allowed)
    if fusion is None:
        return Answer(*about, hits, decoding=decoding)
    within = searcher if allowed is None else searcher.within(allowed)
    topics = [Query(_TOPIC, args.query)]
    bm25 = Bm25Config(hits=args.hits, threads=args.threads)
    hybrid = hybrid_with(args.fuse, within.index, topics, fusion, bm25, folder)
    names = _names(args.fuse)
    others = {name: other.run.get(_TOPIC, ()) for name, other in zip(names, hybrid.others, strict=True)}
    fused: list[FusedHit] = fused_hits(hits, others, fusion, args.hits)
    return Answer(*about, hits, fused, decoding=decoding)


def _names(sources: Sequence[str]) -> list[str]:
    """Of the rankings, each once."""
    names: list[str] = []
    for source in sources:
        name = name_of(source)
        names.append(name if name not in names else f"{name}.{len(names)}")
    return names


def _show(runs: Iterable[Run]) -> None:
    """Text, coloured where `rich` is installed and stdout is a terminal."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        for run_ in runs:
            sys.stdout.write(run_.text)
        return
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False, markup=False)
    console.print(Text.assemble(*((run_.text, run_.style) for run_ in runs)), end="")


if __name__ == "__main__":
    run(main)
