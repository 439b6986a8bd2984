"""The old name of `python -m seal_ir.convert`, kept for one release."""

from __future__ import annotations

import sys

from seal_ir.command import run
from seal_ir.convert.__main__ import main

if __name__ == "__main__":
    print(
        "python -m seal_ir.formats is now python -m seal_ir.convert; the old name goes with 0.3",
        file=sys.stderr,
    )
    run(main)
