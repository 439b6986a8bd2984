"""One process of bench_search.py: a model, an index, a side, and its runs."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from search_indexes import use_published_engine
from search_models import SHAPES, random_bart
from search_parts import clock_seconds, measure, peak_rss

from seal_ir.config import SearchConfig, preset
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import Generator
from seal_ir.search.searcher import SealSearcher

if TYPE_CHECKING:
    from bench_search import Job

PRESETS = {"ours": "intersective", "published": "published"}
WARM_UP = ["who was the first person to walk on the moon"]


def work(job: Job) -> dict[str, Any]:
    """Measure; the values of an `Outcome` as JSON."""
    torch.set_num_threads(1)
    directory = Path(job.directory)
    index = Index(directory)
    config = preset(PRESETS[job.side])
    model: str | Generator = job.model
    if job.model in SHAPES:
        model = random_bart(SHAPES[job.model], index, job.queries[:8])
    decode = config.decode
    least = replace(decode, beam=1, body_steps=1, title_steps=1)
    warm = _searcher(directory, model, replace(config, decode=least), job)
    measure(warm, WARM_UP, 1)  # weights are read, shared prompts are known
    model = warm.generator
    runs = []
    for run in job.runs:
        searcher = _searcher(directory, model, replace(config, decode=replace(decode, beam=run.beam)), job)
        earlier, queries = job.queries[: run.before], job.queries[run.before : run.before + run.n]
        if run.threads > 1:
            torch.set_num_threads(run.threads)
            runs.append({"wall": clock_seconds(searcher, queries, run.batch, run.threads)})
            torch.set_num_threads(1)
        else:
            ours = earlier and job.side == "ours"
            before = {"before": measure(searcher, earlier, run.batch).seconds} if ours else {}
            runs.append({**asdict(measure(searcher, queries, run.batch)), **before})
    engine = type(searcher.index._engines[0]).__name__
    names = {"PublishedEngine": "csa_wt_int"}
    return {
        "n_tokens": index.n_tokens,
        "engine": names.get(engine, index.manifest.segments[0].engine),
        "peak_rss": peak_rss(),
        "runs": runs,
    }


def _searcher(directory: Path, model: str | Generator, config: SearchConfig, job: Job) -> SealSearcher:
    searcher = SealSearcher(directory, model, config=config, device="cpu", dtype=job.dtype)
    if job.side == "published":
        use_published_engine(searcher.index)
    return searcher
