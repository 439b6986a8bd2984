"""A checkpoint of fairseq: a pickle of tensors and settings, read without running anything it names."""

from __future__ import annotations

import argparse
import re
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.inputs import is_special

_ZIP = b"PK\x03\x04"  # how the archives of torch >= 1.6 begin
_ONLY = "only tensors, builtin values and argparse.Namespace may be in it"
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
    state = _load(path)
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        seen = shown(sorted(map(str, state))) if isinstance(state, dict) else f"a {type(state).__name__}"
        raise InputError(
            f"{path}: not a checkpoint of fairseq: holds {seen}; expected 'model' with the tensors by name,"
            " and 'args' or 'cfg'"
        )
    for name, value in state["model"].items():
        _check_tensor(path, name, value)
    return Checkpoint(path, dict(state["model"]), _settings(path, state))


@contextmanager
def _namespaces_only() -> Iterator[None]:
    """Inside the block torch makes argparse namespaces, and of what other code has allowed it nothing."""
    allowed = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals([argparse.Namespace])
    try:
        yield
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(allowed)


def _load(path: Path) -> Any:
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name the checkpoint in it, a file that ends in .pt")
    if is_special(path):
        raise InputError(f"{path}: a checkpoint is not read from a pipe; give a file")
    try:
        with _namespaces_only(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the pickle's age; what cannot be read is an error below
            with path.open("rb") as stream:
                mapped = stream.read(len(_ZIP)) == _ZIP
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror or error}") from error
    except Exception as error:  # noqa: BLE001 - damage shows as any kind of error
        raise InputError(f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Torch's message in our words: the global that is refused, or else what is wrong with the file."""
    text = str(error).rpartition("WeightsUnpickler error:")[2]
    named = re.search(r"GLOBAL ([^\s,;]+)", text)
    if named:
        return f"refused: it names {named[1]}, which loading would run; {_ONLY}"
    lines = [line.strip() for line in text.strip().splitlines()]
    return f"truncated, damaged or no checkpoint: {lines[0] if lines else type(error).__name__}"


def _check_tensor(path: Path, name: object, value: object) -> None:
    """Refuse what is no plain tensor, or claims more values than the file holds."""
    if not isinstance(name, str):
        raise InputError(f"{path}: a tensor is named {shown(name)}; names must be strings")
    if not isinstance(value, torch.Tensor) or type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise InputError(f"{path}: model[{name!r}] is a {type(value).__name__}; expected a tensor")
    dense = value.layout == torch.strided and not (value.is_nested or value.is_quantized)
    if not dense or value.device.type != "cpu":
        raise InputError(f"{path}: model[{name!r}] is no dense tensor with values; expected one")
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise InputError(f"{path}: model[{name!r}] claims {value.numel():,} values and holds fewer")


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
