"""A server in this process: uvicorn on a free port of loopback, over the echo model of tiny.py."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from seal_ir.config import preset
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.app import create_app
from seal_ir.server.limits import Limits
from seal_ir.server.metrics import Metrics
from seal_ir.server.served import ServedIndex
from seal_ir.server.service import Service
from seal_ir.server.serving import bound, web_config
from tests.helpers import stub, tiny
from tests.helpers.waiting import wait_until

KEY = "a-key-of-tests"
PRESETS = ("paper", "lm")


class HeldModel(tiny.EchoModel):
    """The echo model, which can be held before a batch, and counts the prompts of each.

    Attributes:
        may_go: a batch waits for it.
        began: is set with each batch.
        n_prompts: of each batch, body and title together.
    """

    def __init__(self) -> None:
        super().__init__(tiny.tokenizer().n_vocabulary, max_tokens=512)
        self.may_go, self.began = threading.Event(), threading.Event()
        self.may_go.set()
        self.n_prompts: list[int] = []

    def start(self, prompts: Sequence[Prompt]) -> stub.StubSession:
        self.n_prompts.append(len(prompts))
        self.began.set()
        assert self.may_go.wait(30)
        return super().start(prompts)


def held_generator() -> tuple[HeldModel, Generator]:
    model = HeldModel()
    return model, replace(tiny.generator(), model=model)


def served(index: Path, generator: Generator | None = None, name: str = "tiny") -> ServedIndex:
    configs = {name: preset(name) for name in PRESETS}
    searcher = SealSearcher(index, generator or tiny.generator(), config=configs[PRESETS[0]])
    return ServedIndex(name, "tiny", searcher, configs)


@contextmanager
def running(*indexes: ServedIndex, limits: Limits | None = None, **options: Any) -> Iterator[str]:
    """A server; gives its URL. `options` are those of `create_app`."""
    with stoppable(*indexes, limits=limits, **options) as (url, _):
        yield url


@contextmanager
def running_two(folder: Path, odd: Sequence[Document]) -> Iterator[str]:
    """A server of two indexes built here, `tiny` and `odd`, the second of these documents; gives its URL."""
    tiny.build(folder / "tiny")
    tiny.build(folder / "odd", odd)
    generator = tiny.generator()
    with running(*(served(folder / name, generator, name) for name in ("tiny", "odd"))) as url:
        yield url


@contextmanager
def stoppable(
    *indexes: ServedIndex, limits: Limits | None = None, **options: Any
) -> Iterator[tuple[str, uvicorn.Server]]:
    """A server, and its URL; it is told to stop at the end if it was not before."""
    metrics = Metrics()
    limits = limits or Limits()
    service = Service(indexes, limits, told=metrics.batch)
    app = create_app(service, metrics, **options)
    listening = bound("127.0.0.1", 0)
    server = uvicorn.Server(web_config(app, limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", server
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
        listening.close()
