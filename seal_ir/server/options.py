"""The options of `python -m seal_ir.server`, and what they mean."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from seal_ir.command import CommandParser, add_batch_size, add_threads, check_options
from seal_ir.config import DEFAULT_PRESET, PRESETS, SearchConfig
from seal_ir.errors import UsageError
from seal_ir.formats.io.inputs import rereadable
from seal_ir.search.options import add_yes, configured
from seal_ir.server.limits import DEFAULT_LIMITS, Limits

KEY_VARIABLE = "SEAL_IR_API_KEY"
LOCAL = ("127.0.0.1", "localhost", "::1")


def parser() -> argparse.ArgumentParser:
    """All options with their defaults, the most used first."""
    made = CommandParser(
        prog="python -m seal_ir.server",
        description="Serve indexes over HTTP, with the routes and the JSON of Pyserini's REST API, or to "
        f"language models (MCP). The environment's {KEY_VARIABLE}, or --key-file, holds a key to ask for.",
    )
    add = made.add_argument
    indexes = (
        "directories or registered names, or NAME=DIR; requests say the name, or the directory's last part"
    )
    add("--index", nargs="+", required=True, help=indexes)
    add_yes(made)
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=int, default=8081, help="port to listen on; 0 takes a free one")
    add("--preset", nargs="+", default=[DEFAULT_PRESET], help=f"that requests may name: {', '.join(PRESETS)}")
    add("--bm25", action="store_true", help="offer BM25's ranking, too (Pyserini), to compare with")
    add("--mcp", choices=("http", "stdio"), help="offer MCP's tools at /mcp, or on stdin and stdout only")
    add(
        "--key-file", type=Path, help=f"file with the key that requests must bring; instead of {KEY_VARIABLE}"
    )
    add("--writable", action="store_true", help="let requests with the key add and delete documents")
    add("--refresh", type=float, default=5.0, help="seconds between looks for commits; 0 for none")
    add("--log-requests", action="store_true", help="a line on stderr for each request, its query included")
    _add_limits(made.add_argument_group("limits"))
    decoding = made.add_argument_group("decoding")
    add_threads(decoding, "of torch, and of ranking")
    decoding.add_argument("--model", help="folder, hub name or packaged model; default: each index's own")
    decoding.add_argument("--config", type=Path, help="TOML file with settings over the presets'")
    decoding.add_argument("--device", help="cpu, cuda, cuda:1; default: CUDA where there is one")
    decoding.add_argument("--dtype", help="float32 (default), bfloat16, float16 or auto")
    return made


def _add_limits(group: argparse._ArgumentGroup) -> None:
    add, known = group.add_argument, DEFAULT_LIMITS
    add_batch_size(group, known.batch_size, "queries decoded together, at most")
    add("--wait-ms", type=float, default=known.wait_ms, help="how long a query waits for others")
    add("--max-waiting", type=int, default=known.max_waiting, help="queries that wait; more get 429")
    add("--timeout", type=float, default=known.timeout_s, help="seconds until a request gets 504")
    add("--max-hits", type=int, default=known.max_hits, help="of a request")
    add("--max-query-chars", type=int, default=known.max_query_chars, help="of a query")
    add("--max-body-bytes", type=int, default=known.max_body_bytes, help="of a request's body")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, each one possible by itself.

    Raises:
        UsageError: a number means nothing, or options do not go together.
    """
    args = parser().parse_args(arguments)
    check_options(args, port=0, refresh=0.0, threads=1)
    if args.port > 65535:
        raise UsageError(f"--port is {args.port}; it must be at most 65535")
    if args.mcp == "stdio" and args.writable:
        raise UsageError(
            "--writable does not go with --mcp stdio, which has no tool that writes; leave it out"
        )
    if args.mcp == "stdio" and args.bm25:
        raise UsageError("--bm25 does not go with --mcp stdio, which has no tool for it; leave it out")
    return args


def limits_of(args: argparse.Namespace) -> Limits:
    """How much the server takes on.

    Raises:
        UsageError: a number means nothing.
    """
    return Limits(
        max_hits=args.max_hits,
        max_query_chars=args.max_query_chars,
        max_body_bytes=args.max_body_bytes,
        batch_size=args.batch_size,
        wait_ms=args.wait_ms,
        max_waiting=args.max_waiting,
        timeout_s=args.timeout,
    )


def configs_of(args: argparse.Namespace) -> dict[str, SearchConfig]:
    """The settings of each preset that requests may name.

    Raises:
        UsageError: a preset is unknown, or the file of settings is none.
    """
    settings = None if args.config is None else rereadable(args.config)  # once for each preset
    return {name: configured(name, settings) for name in dict.fromkeys(args.preset)}


def key_of(args: argparse.Namespace) -> str | None:
    """The key that requests must bring, if there is one; stderr is told where a server is open to others.

    Raises:
        UsageError: the file cannot be read; or the key is none that a header can hold; or there must be one.
    """
    key = os.environ.get(KEY_VARIABLE)
    source = KEY_VARIABLE
    if args.key_file is not None:
        source = f"--key-file {args.key_file}"
        try:
            key = args.key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{source}: cannot read the key: {error}") from error
    if key is not None and (not key.isascii() or not key.isprintable() or key.split() != [key]):
        raise UsageError(f"{source}: a key is printable ASCII without white space, and not empty")
    if key is None and args.writable:
        raise UsageError(
            f"--writable needs a key that requests must bring: give --key-file or {KEY_VARIABLE}"
        )
    if key is None and args.host not in LOCAL and args.mcp != "stdio":
        sys.stderr.write(
            f"{args.host}: others can reach this server, and it asks for no key ({KEY_VARIABLE})\n"
        )
    return key
