"""Commands without torch, on the echo model of tiny.py: in this process, or in one of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from seal_ir.lm.protocols import Generator, Prompt
from tests.helpers import stub, tiny

if TYPE_CHECKING:
    import pytest


class Stubbed:
    """What stands for loading a model.

    Attributes:
        loaded: name, device and dtype of each model that was asked for.
        n_batches: how many were decoded, or begun.
        before_batch: is called with the number of each batch, from 0.
    """

    def __init__(self) -> None:
        self.loaded: list[tuple[str, str | None, str | None]] = []
        self.n_batches = 0
        self.before_batch: Callable[[int], object] = lambda n: None

    def load_generator(self, name: str, device: str | None, dtype: str | None) -> Generator:
        self.loaded.append((name, device, dtype))
        device, dtype = device or "cpu", dtype or "float32"
        runs_in = f"fastest-of-{device}" if dtype == "auto" else dtype
        return replace(tiny.generator(), model=_Watched(self), device=device, dtype=runs_in)


class _Watched(tiny.EchoModel):
    """The echo model, which says when it is given a batch."""

    def __init__(self, stubbed: Stubbed) -> None:
        super().__init__(tiny.tokenizer().n_vocabulary, max_tokens=512)
        self._stubbed = stubbed

    def start(self, prompts: Sequence[Prompt]) -> stub.StubSession:
        self._stubbed.n_batches += 1
        self._stubbed.before_batch(self._stubbed.n_batches - 1)
        return super().start(prompts)


def pretrained(load_generator: Callable[..., Generator]) -> ModuleType:
    """What stands for `seal_ir.lm.load`."""
    module = ModuleType("seal_ir.lm.load")
    module.load_generator = load_generator  # type: ignore[attr-defined]
    module.quiet_transformers = nullcontext  # type: ignore[attr-defined]
    return module


def stubbed_commands(monkeypatch: pytest.MonkeyPatch) -> Stubbed:
    """Keeps encode and search in this process from torch."""
    from seal_ir.search import options

    stubbed = Stubbed()
    monkeypatch.setitem(sys.modules, "seal_ir.lm.load", pretrained(stubbed.load_generator))
    monkeypatch.setattr(options, "use_threads", lambda n: None)
    return stubbed


def without_torch(load_generator: Callable[..., Generator]) -> None:
    """Keeps this whole process from torch; nothing of it may have been imported."""
    torch = ModuleType("torch")
    torch.set_num_threads = lambda n: None  # type: ignore[attr-defined]
    sys.modules.update({"torch": torch, "seal_ir.lm.load": pretrained(load_generator)})
