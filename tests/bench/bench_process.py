"""What the index benchmark measures in processes of their own: builds, and the memory of two readers."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_text import BOUNDARY, Text, load

PUBLISHED, NATIVE, SMALL, SDSL = "published", "native", "small", "sdsl"
SYSTEMS = (PUBLISHED, NATIVE, SMALL, SDSL)
LOCATED = 100_000  # rows that a reader locates before its memory is read


class Built(NamedTuple):
    """What building took."""

    cpu_seconds: float
    peak_bytes: int  # above what the process held with the text in memory
    size: int  # of the file


def path_of(system: str, folder: Path) -> Path:
    return folder / f"{system}.index"


def open_system(system: str, folder: Path) -> Any:
    from seal_ir import _native, _sdsl

    module = {PUBLISHED: _sdsl.Baseline, SDSL: _sdsl.Engine}.get(system, _native.Engine)
    return module.open(str(path_of(system, folder)))


def build(system: str, folder: Path) -> Built:
    """Index the text of `folder` in a new process."""
    return Built(**json.loads(_run("build", system, folder).communicate()[0]))


def two_readers(system: str, folder: Path) -> dict[str, float]:
    """Resident and proportional bytes that each of two processes gained by opening and using an index."""
    readers = [_run("read", system, folder) for _ in range(2)]
    try:
        before = [_ask(reader) for reader in readers]
        for reader in readers:
            _tell(reader)
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.readline()  # both have used it
        for reader in readers:
            _tell(reader)
        after = [_ask(reader) for reader in readers]
    finally:
        for reader in readers:
            reader.communicate()
    gains = {
        kind: [new[kind] - old[kind] for old, new in zip(before, after, strict=True)] for kind in after[0]
    }
    return {kind: float(np.mean(gain)) for kind, gain in gains.items()}


def _run(task: str, system: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, task, system, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _tell(reader: subprocess.Popen[str]) -> None:
    assert reader.stdin is not None
    reader.stdin.write("\n")
    reader.stdin.flush()


def _ask(reader: subprocess.Popen[str]) -> dict[str, int]:
    assert reader.stdout is not None
    found: dict[str, int] = json.loads(reader.stdout.readline())
    return found


# In the new process.


def _builder(system: str, text: Text, folder: Path) -> Callable[[], object]:
    from seal_ir import _sdsl
    from seal_ir.index import native  # noqa: F401 - so that its import is not measured
    from seal_ir.index.engine import EngineSpec, build_engine

    path = path_of(system, folder)
    if system == PUBLISHED:
        return lambda: _sdsl.build_published(str(path), text.symbols)
    if system == SDSL:
        return lambda: _sdsl.build(str(path), text.symbols, text.starts, BOUNDARY, str(folder))
    spec = EngineSpec("native", "small" if system == SMALL else "default")
    return lambda: build_engine(spec, path, text.symbols, text.starts, folder)


def _memory(name: str, kind: str) -> int:
    """Bytes in a line of /proc/self."""
    for line in Path("/proc/self", name).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/self/{name} has no {kind}")


def _build(system: str, folder: Path) -> None:
    text = load(folder)
    call = _builder(system, text, folder)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts anew
    before = _memory("status", "VmHWM")
    started = time.process_time()
    call()
    seconds = time.process_time() - started
    peak = _memory("status", "VmHWM") - before
    print(json.dumps(Built(seconds, peak, path_of(system, folder).stat().st_size)._asdict()))


def _read(system: str, folder: Path) -> None:
    from seal_ir import _native, _sdsl  # noqa: F401 - loaded before the first reading

    starts = np.load(folder / "starts.npy")
    n_tokens = len(np.load(folder / "symbols.npy", mmap_mode="r"))
    rows = np.random.default_rng(1).integers(1, n_tokens, LOCATED)
    if system == PUBLISHED:
        rows = rows[: LOCATED // 10]  # it holds the whole file in any case
    print(json.dumps({kind: _memory("smaps_rollup", kind) for kind in ("Rss", "Pss")}), flush=True)
    sys.stdin.readline()
    engine = open_system(system, folder)
    _ = engine.locate(rows, starts) if system == PUBLISHED else engine.locate(rows)
    del _
    print("used", flush=True)
    sys.stdin.readline()
    print(json.dumps({kind: _memory("smaps_rollup", kind) for kind in ("Rss", "Pss")}), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=("build", "read"))
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    (_build if options.task == "build" else _read)(options.system, options.folder)
