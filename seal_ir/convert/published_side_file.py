"""The side file of an index of the published system: a pickle, read without running anything it names."""

from __future__ import annotations

import pickle
import pickletools
import warnings
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.errors import InputError, one_line
from seal_ir.formats.io.files import shown

_CONTAINERS = "MARK EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_SET ADDITEMS"
_VALUES = "NONE INT BININT BININT1 BININT2 LONG LONG1 LONG4 UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8"
_MEMO = "PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET"
_SETS = "GLOBAL REDUCE"  # before protocol 4; the one global is checked
_OPCODES = frozenset(f"PROTO FRAME STOP {_CONTAINERS} {_VALUES} {_MEMO} {_SETS}".split())
_FAULTS = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)
_ONLY = "only lists, tuples, sets, strings, integers and None may be in it"


class SideFile(NamedTuple):
    """What `PREFIX.oth` says."""

    beginnings: Ints  # [n] or [n + 1], ascending from 0: where documents start in the text
    labels: list[str] | None  # [n], ids


class _Builtins(pickle.Unpickler):
    """Makes lists, tuples, sets, strings, numbers and None; nothing can be called but `set`."""

    def find_class(self, module: str, name: str) -> Any:
        """Sets are a global before protocol 4; every other one is refused."""
        return _the_set(module, name)


def _the_set(module: str, name: str) -> type:
    if (module, name) in (("builtins", "set"), ("__builtin__", "set")):
        return set
    raise pickle.UnpicklingError(f"it names {module}.{name}, which is refused: {_ONLY}")


def read_side_file(path: Path) -> SideFile:
    """Read the side file of a published index, running nothing that it names.

    Raises:
        InputError: it cannot be read, or is not a tuple of beginnings, occurring symbols and labels.
    """
    try:
        with path.open("rb") as stream:
            value = _unpickle(stream, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    if not isinstance(value, tuple | list) or len(value) != 3:
        raise InputError(f"{path}: holds {shown(value)}; expected beginnings, occurring symbols and labels")
    beginnings, occurring, labels = value
    if not _is_all(beginnings, list | tuple, int) or not beginnings:
        raise InputError(f"{path}: its beginnings are {shown(beginnings)}; expected a list of integers")
    if not _is_all(occurring, set | list | tuple, int):
        raise InputError(f"{path}: its occurring symbols are {shown(occurring)}; expected a set of integers")
    if labels is not None and not _is_all(labels, list | tuple, str):
        raise InputError(f"{path}: its labels are {shown(labels)}; expected a list of strings, or None")
    try:
        starts = np.array(beginnings, dtype=np.int64)
    except OverflowError as error:
        raise InputError(f"{path}: its beginnings are no positions ({error})") from error
    if starts[0] != 0 or (np.diff(starts) <= 0).any():
        raise InputError(f"{path}: its beginnings do not ascend from 0")
    return SideFile(starts, None if labels is None else list(labels))


def _unpickle(stream: BinaryIO, path: Path) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in a text, which are as they are
            _check_opcodes(stream)
            stream.seek(0)
            return _Builtins(stream).load()  # noqa: S301 - the unpickler above makes builtin values only
    except _FAULTS as error:
        raise InputError(f"{path}: not the side file of a published index: {one_line(error)}") from error


def _check_opcodes(stream: BinaryIO) -> None:
    """Refuse what makes other values than these, and memory for more of them than there are.

    Takes a second for a million numbers or strings.
    """
    strings = ["?", "?"]
    for n_seen, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        if opcode.name in ("GLOBAL", "INST"):
            _the_set(*str(argument).split(" ", 1))
        elif opcode.name == "STACK_GLOBAL":
            _the_set(*strings)
        elif isinstance(argument, str):
            strings = [strings[1], argument]
        if opcode.name not in _OPCODES:
            raise pickle.UnpicklingError(f"its opcode {opcode.name} is refused: {_ONLY}")
        if opcode.name.endswith("PUT") and int(argument or 0) > n_seen:
            raise pickle.UnpicklingError(f"it stores a value at {argument:,}, after {n_seen:,} opcodes")


def _is_all(values: object, kinds: Any, kind: type) -> bool:
    return isinstance(values, kinds) and all(type(value) is kind for value in values)
