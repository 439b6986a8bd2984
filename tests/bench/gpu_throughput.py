"""How fast a BART-large-shaped model decodes and ranks NQ-sized queries on a GPU.

`python -m tests.bench.gpu_throughput [--index INDEX] [--queries 3610] [--beam 5 15]`

The model has BART-large's shape and random weights: a forward pass costs what it costs, what is written
means nothing. Its output bias is the log frequency of each token in the index, so that about as many of
its candidates occur as a real model's would; the queries are the first words of passages. Seconds are of
the clock on the wall. Forward passes are only started in "model"; waiting for them falls into "read". What
the session does around them falls into "other".
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BartConfig, BartForConditionalGeneration

from seal_ir.command import run
from seal_ir.config import DecodeConfig, SearchConfig
from seal_ir.decode.beam import decode
from seal_ir.errors import UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index
from seal_ir.lm.device import DTYPES
from seal_ir.lm.load import wire
from seal_ir.lm.protocols import Generator
from seal_ir.records import QueryKeys
from seal_ir.search.pipeline import batched
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.description import SEQ2SEQ, ModelDescription
from seal_ir.text.symbols import FIRST_TOKEN
from tests.bench.search_parts import Watch, instrumented

LARGE = {"encoder_layers": 12, "decoder_layers": 12, "d_model": 1024, "heads": 16, "ffn": 4096}
SMALL = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "heads": 4, "ffn": 128}
VOCABULARY = 50_265
QUERY_WORDS = 9  # an NQ question has 9 words in the mean
COMPARED = 64  # queries decoded in float32 as well


def random_bart(index: Index, shape: dict[str, int], device: torch.device, dtype: torch.dtype) -> Generator:
    """The same random weights for every device and precision, biased towards what the index holds."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=max(VOCABULARY, index.tokenizer.n_vocabulary),
        d_model=shape["d_model"],
        encoder_layers=shape["encoder_layers"],
        decoder_layers=shape["decoder_layers"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=shape["ffn"],
        decoder_ffn_dim=shape["ffn"],
    )
    network: Any = BartForConditionalGeneration(config).eval()
    with torch.no_grad():
        network.get_output_embeddings().weight.mul_(2.0)  # distributions that differ from row to row
    first = index.first_symbols
    counts = (first.ranges[..., 1] - first.ranges[..., 0]).sum(axis=1)
    known = (first.symbols >= FIRST_TOKEN) & (first.symbols < FIRST_TOKEN + config.vocab_size)
    tokens = first.symbols[known].astype(np.int64) - FIRST_TOKEN
    network.final_logits_bias[0, torch.from_numpy(tokens)] = torch.from_numpy(np.log1p(counts[known])).float()
    description = ModelDescription(SEQ2SEQ, "{query} || body || +", "{query} || title || +", "\n")
    return wire(network.to(device, dtype), index.tokenizer, description)


def first_words(index: Index, n: int) -> list[str]:
    """The first words of n passages, evenly spread over the index; fewer passages are taken again."""
    numbers = np.linspace(0, index.n_documents - 1, n).astype(np.int64)
    found: list[str] = []
    for at in range(0, n, 256):
        texts = (document.text or document.title for document in index.documents(numbers[at : at + 256]))
        found += [" ".join(text.split()[:QUERY_WORDS]) for text in texts]
    return found


def measure(
    searcher: SealSearcher, queries: Sequence[str], batch_size: int
) -> tuple[dict[str, float], list[QueryKeys]]:
    """Seconds by part for all queries, and their keys (those of the first `COMPARED`)."""
    watch = Watch(time.perf_counter)
    kept: list[QueryKeys] = []
    with instrumented(searcher, watch), watch.part("other"):
        for batch in batched(queries, batch_size):
            decoded = decode(searcher.generator, searcher.index, batch, searcher.config.decode)
            with watch.part("score"):
                for keys in decoded.queries:
                    searcher.rank(keys, 100)
            kept += decoded.queries[: max(0, COMPARED - len(kept))]
    seconds = {part: watch.seconds[part] for part in ("model", "read", "constraint", "other")}
    return {**seconds, "rank": sum(watch.seconds.values()) - sum(seconds.values())}, kept


def overlap(searcher: SealSearcher, ours: Sequence[QueryKeys], theirs: Sequence[QueryKeys]) -> float:
    """Mean share of the first 20 documents that two lists of keys agree on."""
    shares = []
    for pair in zip(ours, theirs, strict=True):
        a, b = ({item.document for item in searcher.rank(keys, 20)} for keys in pair)
        shares.append(len(a & b) / max(len(a), len(b), 1))
    return float(np.mean(shares))


def report(args: argparse.Namespace, device: torch.device, beam: int) -> dict[str, Any]:
    """Measure one beam in the precision asked for, compare with float32, and print both."""
    index = Index(_directory(args.index))
    config = SearchConfig(decode=DecodeConfig(beam=beam, body_steps=10))
    queries = first_words(index, args.queries)
    shape = SMALL if args.small else LARGE
    cuda = device.type == "cuda"
    searcher = SealSearcher(
        index.directory, random_bart(index, shape, device, getattr(torch, args.dtype)), config=config
    )
    measure(searcher, queries[: min(2, args.batch_size)], args.batch_size)  # warm up
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    started = time.perf_counter()
    seconds, keys = measure(searcher, queries, args.batch_size)
    total = time.perf_counter() - started
    peak = torch.cuda.max_memory_allocated(device) if cuda else 0
    single = SealSearcher(index.directory, random_bart(index, shape, device, torch.float32), config=config)
    _, reference = measure(single, queries[: len(keys)], args.batch_size)
    row = {
        "device": torch.cuda.get_device_name(device) if cuda else "cpu",
        "index": f"{index.n_documents:,} documents, {index.n_tokens:,} tokens",
        "beam": beam,
        "dtype": args.dtype,
        "batch_size": args.batch_size,
        "queries": len(queries),
        "queries_per_second": round(len(queries) / total, 2),
        "minutes_for_3610": round(3610 * total / len(queries) / 60, 2),
        "shares": {part: round(value / total, 4) for part, value in sorted(seconds.items())},
        "peak_device_memory_bytes": peak,
        "overlap_at_20_with_float32": round(overlap(single, keys, reference), 4),
    }
    print(json.dumps(row), flush=True)
    return row


def _directory(index: str) -> Path:
    return Path(index) if Path(index).is_dir() else named_index(index, Places.from_environment()).directory


def main(arguments: list[str]) -> int:
    """Print one JSON object per beam; 0 when all are measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", default="demo", help="directory or registered name; take the largest there is"
    )
    parser.add_argument("--queries", type=int, default=3610)
    parser.add_argument("--beam", type=int, nargs="+", default=[5, 15])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a model of toy size, to see that all works")
    parser.add_argument("--output", type=Path, help="write the rows here too, as JSON")
    args = parser.parse_args(arguments)
    if args.queries < 1 or args.batch_size < 1:
        raise UsageError("--queries and --batch-size must be at least 1")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(
            "there is no CUDA device here; --device cpu --small --queries 2 shows that all works"
        )
    rows = [report(args, torch.device(args.device), beam) for beam in args.beam]
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
