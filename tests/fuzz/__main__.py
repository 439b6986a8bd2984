"""`python -m tests.fuzz --minutes N [--only NAME ...]`: every reader on hostile files, from a fresh seed.

Files that break the contract are kept in tests/golden/fuzz;
tests/unit/test_hostile_files.py reads them again.
"""

from __future__ import annotations

import argparse
import faulthandler
import secrets
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.fuzz.contract import SECONDS
from tests.fuzz.reader import Reader
from tests.fuzz.readers import READERS
from tests.fuzz.runs import faults, named, prepared, save


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="of each reader (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=[reader.name for reader in READERS], metavar="NAME")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    args = parser.parse_args(arguments)
    seed = secrets.randbits(32) if args.seed is None else args.seed
    print(f"# seed {seed}", flush=True)
    readers = [named(name) for name in args.only] if args.only else READERS
    n_broken = sum(_fuzz(reader, 60 * args.minutes, Random(f"{seed} {reader.name}")) for reader in readers)
    return 1 if n_broken else 0


def _fuzz(reader: Reader, seconds: float, chance: Random) -> int:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, prepared(reader, Path(folder)) as of:
        began = time.monotonic()
        # What hangs in compiled code hears no signal; the traceback then says where.
        faulthandler.dump_traceback_later(seconds + 10 * SECONDS, exit=True)
        for found in faults(of, seconds, chance, counts):
            print(f"{save(found)}: {found.why[:300]}", file=sys.stderr, flush=True)
        faulthandler.cancel_dump_traceback_later()
        rate = counts.total() / (time.monotonic() - began)
    shares = " ".join(f"{counts[name]:>8,} {name}" for name in ("read", "refused", "broken"))
    print(f"{reader.name:<22}{counts.total():>9,} files{rate:>8,.0f} a second {shares}", flush=True)
    return counts["broken"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
