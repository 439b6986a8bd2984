"""`python -m seal_ir.encode` on the echo model of tests/tiny.py: a process of its own, but without torch."""

from __future__ import annotations

import sys
from types import ModuleType

from tests import tiny

if __name__ == "__main__":
    torch, pretrained = ModuleType("torch"), ModuleType("seal_ir.decode.pretrained")
    torch.set_num_threads = lambda n: None  # type: ignore[attr-defined]
    pretrained.load_generator = lambda name, device, dtype: tiny.generator()  # type: ignore[attr-defined]
    sys.modules.update({"torch": torch, "seal_ir.decode.pretrained": pretrained})
    from seal_ir.command import run
    from seal_ir.encode.__main__ import main

    run(main)
