"""A checkpoint of fairseq: a pickle of tensors and settings, read without running anything it names."""

from __future__ import annotations

import argparse
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seal_ir.convert.torch_files import check_tensor, load_torch
from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown

_PLAIN = (type(None), bool, int, float, str, bytes)
_LISTS = (list, tuple, set)
_DICTS = (dict, OrderedDict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint says of the model; the optimiser's state is left where it is.

    Attributes:
        path: the file, for messages.
        tensors: the network's state by fairseq's names, dense and on the CPU.
        settings: of the architecture, by the names of fairseq's options; builtin values only.
    """

    path: Path
    tensors: dict[str, torch.Tensor]
    settings: dict[str, Any]


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint of fairseq; a zip archive is mapped, so that only what is used takes memory.

    Raises:
        InputError: it cannot be read, names a class or function other than tensors, OrderedDict and
            argparse.Namespace, or is no checkpoint of fairseq.
    """
    state = load_torch(path)
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        seen = shown(sorted(map(str, state))) if isinstance(state, dict) else f"a {type(state).__name__}"
        raise InputError(
            f"{path}: not a checkpoint of fairseq: holds {seen}; expected 'model' with the tensors by name,"
            " and 'args' or 'cfg'"
        )
    for name, value in state["model"].items():
        check_tensor(path, "model", name, value)
    return Checkpoint(path, dict(state["model"]), _settings(path, state))


def _settings(path: Path, state: dict[Any, Any]) -> dict[str, Any]:
    """The options of the architecture: `cfg["model"]` since fairseq 0.10.1, `args` before."""
    place, found = "cfg['model']", state.get("cfg")
    if isinstance(found, dict):
        found = found.get("model")
    if found is None:
        place, found = "args", state.get("args")
    values = vars(found) if type(found) is argparse.Namespace else found
    if not isinstance(values, dict):
        raise InputError(
            f"{path}: not a checkpoint of fairseq: its settings ({place}) are {shown(found)}; expected an"
            " argparse.Namespace or a dict"
        )
    _check_plain(path, place, values)
    return dict(values)


def _check_plain(path: Path, place: str, values: dict[Any, Any]) -> None:
    """Refuse settings that are no builtin values, however deep; a pickle may hold itself."""
    waiting: list[tuple[str, Any]] = [(f"{place}.{name}", value) for name, value in values.items()]
    seen: set[int] = set()
    while waiting:
        name, value = waiting.pop()
        if type(value) in _PLAIN or id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is argparse.Namespace:
            value = vars(value)
        if type(value) in _LISTS:
            waiting += [(name, item) for item in value]
        elif type(value) in _DICTS:
            waiting += [(name, item) for pair in value.items() for item in pair]
        else:
            raise InputError(
                f"{path}: refused: {name} is a {type(value).__module__}.{type(value).__name__}; settings"
                " may be builtin values only"
            )
