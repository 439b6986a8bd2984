"""A language model that is loaded when the first query comes, and what it writes for queries.

Importing this loads no torch; the model's weights do, when they are first asked for.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from seal_ir.arguments import instance
from seal_ir.config import DecodeConfig, SearchConfig
from seal_ir.decode.beam import Decoded, decode
from seal_ir.decode.prompts import note_cut
from seal_ir.decode.recorder import Recorder
from seal_ir.decode.rescore import rescore
from seal_ir.errors import ModelError
from seal_ir.formats.io.files import on_disk
from seal_ir.index.reader import Index
from seal_ir.index.value_lengths import Lengths, longest
from seal_ir.index.view import View
from seal_ir.keys.lookup import recounted
from seal_ir.lm.protocols import Generator
from seal_ir.processes import OwnOfProcess, check_device, wait_passively
from seal_ir.published import decode as published
from seal_ir.records import NO_UNIGRAMS, TITLE, QueryKeys
from seal_ir.text.tokenizer import TextTokenizer

logger = logging.getLogger(__name__)


class LazyGenerator:
    """The language model of an index, loaded on first use; may be asked from several threads.

    A process that is forked from here goes on with the model that is loaded here. Pickled and copied it loads
    its model again; a model that was given loaded is pickled along, and shared by copies.

    Attributes:
        name: what it is loaded by; that of the index for a model that was given loaded.
    """

    def __init__(
        self, index: Index, model: str | Generator | None, device: str | None, dtype: str | None
    ) -> None:
        """Load nothing yet.

        Args:
            index: what the model is to write for.
            model: by name, loaded, or None for the model that the index was built for.
            device: see `load_generator`.
            dtype: see `load_generator`.
        """
        self._index = index
        self._given = _chosen(model, on_disk(index.manifest.model))
        self.name = self._given if isinstance(self._given, str) else on_disk(index.manifest.model)
        self._model = self._given  # by name until the first query
        self._loading = OwnOfProcess(threading.Lock)
        self._told: set[str] = set()
        self._device, self._dtype = device, dtype

    def get(self) -> Generator:
        """The model.

        Raises:
            ModelError: it cannot be loaded, or has another tokenizer than the index; or it is on a device
                that this process cannot use, as it was forked.
        """
        with self._loading.get():
            if isinstance(self._given, str):
                check_device(self._device)
            if isinstance(self._model, str):
                wait_passively()
                from seal_ir.lm.load import load_generator  # torch is loaded here, not before

                started = time.monotonic()
                self._model = load_generator(self._model, self._device, self._dtype)
                logger.info("loaded the model %s: %.1f s", self.name, time.monotonic() - started)
            generator = self._model
        check_tokenizer(self._index, generator.tokenizer)
        self._index.tokenizer = generator.tokenizer  # its equal: to make the index's own takes 0.1 s
        return generator

    def decode(
        self,
        queries: Sequence[str],
        config: SearchConfig,
        index: Index,
        recorder: Recorder | None = None,
    ) -> Decoded:
        """The keys that the model writes for a batch of queries, in the way that `config` wants them written.

        Says once which values of the index are too long to be written.

        Args:
            queries: the queries.
            config: the settings.
            index: what the keys are of: the model's index, or a view of it.
            recorder: watches the decoding of a single query; not that of the slow path.

        Raises:
            ModelError: as `get`.
        """
        if isinstance(index, View) and not len(index.allowed):
            return Decoded([QueryKeys((), NO_UNIGRAMS) for _ in queries])
        generator = self.get()
        for told in left_out(config.decode, index):
            if told not in self._told:
                self._told.add(told)
                logger.warning("%s", told)
        settings = settings_for(index, config)
        if config.slow_path:
            decoded = published.decode(generator, index, queries, settings)
        else:
            decoded = decode(generator, index, queries, settings, recorder=recorder)
        if isinstance(index, View) and index.counts == "collection":
            decoded = decoded._replace(queries=recounted(index.whole, decoded.queries))
        if config.slow_path or not settings.rescore:
            return decoded
        rescored = rescore(generator, queries, decoded.queries, settings)
        cut = dict(decoded.cut)
        for place, limit in rescored.cut.items():
            note_cut(cut, place, limit)
        return decoded._replace(queries=rescored.queries, cut=cut)

    def following(self, index: Index) -> LazyGenerator:
        """The same model, loaded if it is loaded here, for a later state of the index."""
        with self._loading.get():
            other = LazyGenerator(index, self._given, self._device, self._dtype)
            other._model, other._told = self._model, set(self._told)
        return other

    def release(self) -> None:
        """Let go of a model that was loaded here; the next query loads it again."""
        self._model = self._given

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._given, str):
            _check_pickles(self._given)
        return LazyGenerator, (self._index, self._given, self._device, self._dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyGenerator:
        return LazyGenerator(deepcopy(self._index, memo), self._given, self._device, self._dtype)


def check_tokenizer(index: Index, tokenizer: TextTokenizer) -> None:
    """Refuse a model with another tokenizer than the index has.

    Raises:
        ModelError: it has another one.
    """
    if tokenizer.fingerprint != index.manifest.tokenizer:
        raise ModelError(
            f"{index.directory}: built with the tokenizer of {index.manifest.model!r}, which "
            "is not this model's; index the collection again with --model"
        )


def _check_pickles(model: Generator) -> None:
    """Refuse, before anything is pickled, a model that cannot be.

    Raises:
        ModelError: it cannot be pickled.
    """
    try:
        with Path(os.devnull).open("wb") as nowhere:
            pickle.dump(model, nowhere, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - what a model is made of raises what it likes
        raise ModelError(
            f"a searcher whose model was given loaded cannot be pickled, as the model cannot ({error}); give"
            " the model's folder or name instead, so that each process loads it"
        ) from error


def _chosen(model: object, default: str) -> str | Generator:
    """The model by name, which may be a path, or loaded."""
    if isinstance(model, str | os.PathLike):
        return os.fspath(model)
    return default if model is None else instance(model, Generator, "model")


def settings_for(index: Index, config: SearchConfig) -> DecodeConfig:
    """The settings of decoding, with no more steps than the index needs; the slow path takes all of them."""
    return config.decode if config.slow_path else fitted(config.decode, index)


def fitted(config: DecodeConfig, index: Lengths) -> DecodeConfig:
    """Settings with no more steps than the longest values have, which changes no key."""
    if config.title_steps:
        config = replace(config, title_steps=min(config.title_steps, longest(index, (TITLE,))))
    if config.fields:
        config = replace(config, field_steps=min(config.field_steps, longest(index, config.fields)))
    return config


def left_out(config: DecodeConfig, index: Lengths) -> list[str]:
    """A sentence for each title or field of which some values are too long to be written whole."""
    told = []
    for name in config.written:
        if name in index.whole_fields and (sentence := _left_out(name, config.steps(name), index)):
            told.append(sentence)
    return told


def _left_out(name: str, steps: int, index: Lengths) -> str:
    lengths = index.value_lengths(name)
    n, n_all = int(lengths[steps + 1 :].sum()), int(lengths[2:].sum())  # an empty one is never written
    what, setting = ("titles", "title") if name == TITLE else (f"values of field {name!r}", "field")
    if not n:
        return ""
    return (
        f"{n:,} of {n_all:,} {what} are longer than {steps} tokens, the end included, and cannot be written"
        f" whole; [decode] {setting}_steps = {len(lengths) - 1}, in a --config file, reaches all of them"
    )
