"""The memory and the time that a Fusion-in-Decoder reader takes for one question with many passages.

`python tests/bench/bench_reader.py [--size small] [--contexts 100] [--passage-tokens 250] [--answer-tokens 8]
[--encoder-layers N] [--dtype float32] [--device cpu] [--threads 1] [--only NAME] [--output FILE]`. Weights
are random, by the sizes of T5 small, base and large; passages are random tokens, each as long as it may be.
Each way runs in a process of its own:

- `chunks`: as the product reads: passages in chunks, the decoder without keys and values of passages;
- `whole`: all passages at once, the decoder as before;
- `chunks-keys`: in chunks, and the decoder keeps keys and values of passages, as transformers does;
- `whole-keys`: all passages at once, and keys and values.

One line a way: the weights, what is taken before reading and at the most while reading in MiB (resident
memory; on a GPU what torch took there), and seconds. All ways must write the same answer.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import T5Config, T5ForConditionalGeneration

from seal_ir.read.fid.description import FidDescription
from seal_ir.read.fid.fusion import CHUNK_TOKENS
from seal_ir.read.fid.loading import Parts
from seal_ir.read.fid.reader import FidReader
from seal_ir.text.tokenizer import TextTokenizer

SIZES = {
    "small": {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
    "base": {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
    "large": {"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24, "num_heads": 16},
}
WAYS = {  # tokens that are encoded together, and whether keys and values are kept
    "chunks": (CHUNK_TOKENS, False),
    "whole": (1 << 60, False),
    "chunks-keys": (CHUNK_TOKENS, True),
    "whole-keys": (1 << 60, True),
}
TOKENIZER = '{"added_tokens": [], "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}}'
MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--passage-tokens", type=int, default=250)
    parser.add_argument("--encoder-layers", type=int, help="fewer, as each one's values go in turn")
    parser.add_argument("--answer-tokens", type=int, default=8)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=WAYS, nargs="+", default=[*WAYS])
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measured(args)))
        return
    rows = []
    for way in args.only:
        done = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--one", way], stdout=subprocess.PIPE, check=True
        )
        rows.append(json.loads(done.stdout))
        print(json.dumps({key: value for key, value in rows[-1].items() if key != "answer"}), flush=True)
    if len({tuple(row["answer"]) for row in rows}) > 1:
        print("the ways differ in what they write", file=sys.stderr)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(rows, indent=1), encoding="utf-8")


@torch.inference_mode()
def measured(args: argparse.Namespace) -> dict[str, Any]:
    """One way's figures."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    sizes = SIZES[args.size]
    config = T5Config(
        vocab_size=32128,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
        **sizes,  # type: ignore[arg-type]
    )
    kind: Any = T5ForConditionalGeneration
    torch.set_default_dtype(getattr(torch, args.dtype))
    network = kind(config).to(args.device)
    torch.set_default_dtype(torch.float32)
    network.encoder.block = network.encoder.block[: args.encoder_layers]
    chunk_tokens, keep_keys = WAYS[args.one]
    description = FidDescription(args.passage_tokens, args.answer_tokens)
    parts = Parts(TextTokenizer(TOKENIZER), description, (0,), 1)
    reader = FidReader(network, parts, chunk_tokens, keep_keys=keep_keys)
    tokens = torch.randint(3, 32000, (args.contexts, args.passage_tokens)).tolist()
    network.generation_config.min_new_tokens = args.answer_tokens  # so that all ways take as many steps
    network.generate(torch.tensor([[5, 6, 7]], device=args.device), max_new_tokens=2, min_new_tokens=2)
    before = resident(args.device)
    started = time.perf_counter()
    (answer,) = reader.write([[tuple(row) for row in tokens]])
    return {
        "way": args.one,
        "size": args.size,
        "dtype": args.dtype,
        "contexts": args.contexts,
        "weights_mib": round(sum(p.numel() * p.element_size() for p in network.parameters()) / MIB),
        "before_mib": round(before / MIB),
        "peak_mib": round(taken(args.device) / MIB),
        "seconds": round(time.perf_counter() - started, 1),
        "answer": list(answer),
    }


def resident(device: str) -> int:
    """Bytes taken now."""
    if device.startswith("cuda"):
        return int(torch.cuda.memory_allocated())
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def taken(device: str) -> int:
    """Bytes at the most so far."""
    if device.startswith("cuda"):
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
