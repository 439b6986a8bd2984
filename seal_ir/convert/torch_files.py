"""A file of torch's: a pickle of tensors and builtin values, read without running anything it names."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.inputs import is_special

_ZIP = b"PK\x03\x04"  # how the archives of torch >= 1.6 begin
_ONLY = "only tensors, builtin values and argparse.Namespace may be in it"


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


def load_torch(path: Path) -> Any:
    """What the file holds; a zip archive is mapped, so that only what is used takes memory.

    Raises:
        InputError: it cannot be read, or names a class or function other than tensors, OrderedDict and
            argparse.Namespace.
    """
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


def check_tensor(path: Path, holder: str, name: object, value: object) -> None:
    """Refuse what is no plain tensor, or claims more values than the file holds.

    Args:
        path: the file, for messages.
        holder: what the tensor is an entry of.
        name: its name there.
        value: the tensor.

    Raises:
        InputError: it is one of these.
    """
    if not isinstance(name, str):
        raise InputError(f"{path}: a tensor is named {shown(name)}; names must be strings")
    if not isinstance(value, torch.Tensor) or type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise InputError(f"{path}: {holder}[{name!r}] is a {type(value).__name__}; expected a tensor")
    dense = value.layout == torch.strided and not (value.is_nested or value.is_quantized)
    if not dense or value.device.type != "cpu":
        raise InputError(f"{path}: {holder}[{name!r}] is no dense tensor with values; expected one")
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise InputError(f"{path}: {holder}[{name!r}] claims {value.numel():,} values and holds fewer")
