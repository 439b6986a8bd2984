"""What an index's longest values make of the settings that limit how long a title or field may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seal_ir.config import DecodeConfig
from seal_ir.index.reader import Index
from seal_ir.records import TITLE


def fitted(config: DecodeConfig, index: Index) -> DecodeConfig:
    """Settings with no more steps than the longest values have, which changes no key."""
    if config.title_steps:
        config = replace(config, title_steps=min(config.title_steps, longest(index, (TITLE,))))
    if config.fields:
        config = replace(config, field_steps=min(config.field_steps, longest(index, config.fields)))
    return config


def longest(index: Index, fields: Iterable[str]) -> int:
    """Tokens of the longest value of some fields, the end included, at least 1; absent fields have none."""
    known = [name for name in fields if name in index.whole_fields]
    return max([1, *(len(index.value_lengths(name)) - 1 for name in known)])


def left_out(config: DecodeConfig, index: Index) -> list[str]:
    """A sentence for each title or field of which some values are too long to be written whole."""
    told = []
    for name in config.written:
        if name in index.whole_fields and (sentence := _left_out(name, config.steps(name), index)):
            told.append(sentence)
    return told


def _left_out(name: str, steps: int, index: Index) -> str:
    lengths = index.value_lengths(name)
    n, n_all = int(lengths[steps + 1 :].sum()), int(lengths[2:].sum())  # an empty one is never written
    what, setting = ("titles", "title") if name == TITLE else (f"values of field {name!r}", "field")
    if not n:
        return ""
    return (
        f"{n:,} of {n_all:,} {what} are longer than {steps} tokens, the end included, and cannot be written"
        f" whole; [decode] {setting}_steps = {len(lengths) - 1}, in a --config file, reaches all of them"
    )
