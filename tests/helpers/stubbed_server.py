"""`python -m seal_ir.server` on the echo model of tiny.py: a process of its own, but without torch."""

from __future__ import annotations

from tests.helpers.stubbed import Stubbed, without_torch

if __name__ == "__main__":
    without_torch(Stubbed().load_generator)
    from seal_ir.command import run
    from seal_ir.server.__main__ import main

    run(main)
