"""The old name of `python -m seal_ir.reproduce`, kept for one release."""

from __future__ import annotations

import sys

from seal_ir.command import run
from seal_ir.reproduce.__main__ import main

if __name__ == "__main__":
    print(
        "python -m seal_ir.baselines is now python -m seal_ir.reproduce; the old name goes with 0.3",
        file=sys.stderr,
    )
    run(main)
