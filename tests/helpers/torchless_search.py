"""`python -m seal_ir.search` where torch and transformers cannot be imported: what needs no model runs."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.modules.update({"torch": None, "transformers": None})  # type: ignore[dict-item]
    from seal_ir.command import run
    from seal_ir.search.__main__ import main

    run(main)
