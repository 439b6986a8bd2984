"""`python -m seal_ir.server`: indexes over HTTP, as Pyserini serves its own, or to language models (MCP)."""

from __future__ import annotations

from contextlib import nullcontext
from importlib.util import find_spec

from seal_ir.command import run
from seal_ir.errors import UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.lm.device import use_threads
from seal_ir.server.options import configs_of, key_of, limits_of, parsed
from seal_ir.server.served import named, opened, tried

_NEEDED = ("fastapi", "mcp", "prometheus_client", "uvicorn")


def main(arguments: list[str]) -> int:
    """Serve until the process is told to stop; 0 when what was under way has been answered."""
    args = parsed(arguments)
    missing = next((name for name in _NEEDED if find_spec(name) is None), None)
    if missing is not None:
        raise UsageError(f"{missing} is not installed; get it with: pip install 'seal-ir[server]'")
    from seal_ir.server import serving  # what is needed is there
    from seal_ir.server.bm25 import with_bm25

    limits, configs, key = limits_of(args), configs_of(args), key_of(args)
    places = Places.from_environment()
    directories = named(args.index, places, args.yes)
    with nullcontext() if args.mcp == "stdio" else serving.bound(args.host, args.port) as listening:
        use_threads(args.threads)
        served = opened(
            directories, configs, model=args.model, device=args.device, dtype=args.dtype, yes=args.yes
        )
        tried(served)
        if listening is None:
            return serving.serve_stdio(served, limits, args.threads)
        if args.bm25:
            served = with_bm25(served, places.cache / "lucene", args.threads)
        options = serving.HttpOptions(
            key=key,
            writable=args.writable,
            mcp=args.mcp == "http",
            refresh_s=args.refresh,
            log_requests=args.log_requests,
        )
        return serving.serve_http(served, limits, args.threads, listening, options)


if __name__ == "__main__":
    run(main)
