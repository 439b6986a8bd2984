"""What callers hand in: texts, ids, numbers and settings, looked at where they come in.

Every public entry takes any iterable by position, and refuses what it cannot mean in one sentence that names
the argument, the position and the value. Nothing behind the entries looks again.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.errors import ArgumentError, UsageError, shown

MOST = (1 << 63) - 1  # of any number that says how many; what is sized by it has its own, smaller limits
T = TypeVar("T")
_INT64 = np.iinfo(np.int64)
_MOST_OF_A_PART = 255  # bytes
_MOST_OF_THE_LAST = 240  # what is made beside it has a name with its own in it


def text(value: object, name: str) -> str:
    """The value, if it is text that UTF-8 can write.

    Raises:
        ArgumentError: it is not.
    """
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is {_seen(value)}; it must be text")
    plain = str.__str__(value)  # numpy's strings become Python's
    if not plain.isascii():
        try:
            plain.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"{name} is {shown(plain)}; its character {error.start} is a lone surrogate, which is no text"
                "; decode the bytes it came from anew"
            ) from None
    return plain


def texts(values: Iterable[str], name: str) -> list[str]:
    """Texts by position, whatever holds them: a list, a pandas Series in its own order, a generator...

    Raises:
        ArgumentError: `values` does not hold one text after the other, or one of them is no text.
    """
    return [text(value, f"{name}[{at}]") for at, value in enumerate(items(values, name))]


def ids(values: Iterable[Hashable], name: str) -> list[str]:
    """Distinct ids by position. Integers stay what they are: Pyserini makes them of topics' ids.

    Raises:
        ArgumentError: `values` does not hold one id after the other, or one is neither text nor an integer,
            or comes twice.
    """
    found: list[str] = []
    places: dict[Hashable, int] = {}
    for at, value in enumerate(items(values, name)):
        known = text_or_whole(value, f"{name}[{at}]")
        if known in places:
            raise ArgumentError(
                f"{name}[{at}] is {shown(known)} again, after {name}[{places[known]}]; ids must be distinct"
            )
        places[known] = at
        found.append(known)  # type: ignore[arg-type]  # what comes in as an integer goes out as one
    return found


def text_or_whole(value: object, name: str) -> str | int:
    """The value, if it is text or an integer.

    Raises:
        ArgumentError: it is neither.
    """
    if isinstance(value, str):
        return text(value, name)
    number = integer(value)
    if number is None:
        raise ArgumentError(f"{name} is {_seen(value)}; it must be text or an integer")
    return number


def whole(value: object, name: str, least: int | None = None) -> int:
    """The value as Python's integer, numpy's too; neither a float nor a truth value is one.

    Raises:
        ArgumentError: it is no integer, or below `least`.
    """
    number = integer(value)
    if number is None:
        raise ArgumentError(f"{name} is {_seen(value)}; it must be an integer")
    if least is not None and number < least:
        raise ArgumentError(f"{name} is {shown(number)}; it must be at least {least}")
    return number


def integer(value: object) -> int | None:
    """Python's integer of an integer of any kind, numpy's too; None of all else, truth values among it."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def wholes(values: Iterable[int] | Ints, name: str) -> Ints:
    """Integers by position, int64 [n]; those beyond its bounds become the last ones within.

    Raises:
        ArgumentError: `values` does not hold one integer after the other.
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
        return values.astype(np.int64, copy=False)
    numbers = [whole(value, f"{name}[{at}]") for at, value in enumerate(items(values, name))]
    return np.array([max(_INT64.min, min(number, _INT64.max)) for number in numbers], dtype=np.int64)


def instance(value: object, kind: type[T], name: str) -> T:
    """The value, if it is of a class of ours.

    Raises:
        ArgumentError: it is not.
    """
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} is {_seen(value)}; it must be a {kind.__name__}")
    return value


def instances(values: Iterable[T], kind: type[T], name: str) -> list[T]:
    """Values of a class of ours by position.

    Raises:
        ArgumentError: `values` does not hold one after the other.
    """
    return [instance(value, kind, f"{name}[{at}]") for at, value in enumerate(items(values, name))]


def choice(value: object, name: str, allowed: Collection[str]) -> None:
    """Refuse a value that is none of several words.

    Raises:
        ArgumentError: it is none of them.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(f"{name} is {shown(value)}; choose one of {', '.join(allowed)}")


def check_least(settings: object, **least: float) -> None:
    """Refuse settings with numbers that mean nothing, not a number among them.

    Args:
        settings: an object with them as attributes.
        **least: the least value of each, by its name; looked at in this order. Where that is an integer, the
            value must be one, of 64 bits at most.

    Raises:
        UsageError: one is below its least, too large or no such number.
    """
    for name, smallest in least.items():
        value = getattr(settings, name)
        number = value if isinstance(smallest, float) else integer(value)
        if number is None or isinstance(number, bool | str):
            kind = "a number" if isinstance(smallest, float) else "an integer"
            raise UsageError(f"{name} is {shown(value)} ({type(value).__name__}); it must be {kind}")
        check_range(name, number, smallest)


def check_range(name: str, number: float, smallest: float) -> None:
    """Refuse a number below its least, which not a number is too, or an integer of more than 64 bits.

    Raises:
        UsageError: it is one of these.
    """
    if not number >= smallest:
        raise UsageError(f"{name} is {shown(number)}; it must be at least {smallest}")
    if isinstance(number, int) and number > MOST:
        raise UsageError(f"{name} is {shown(number)}; it must be at most {MOST}")


def path(value: object, name: str) -> Path:
    """The value as a path.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise ArgumentError(f"{name} is {_seen(value)}; it must be a path")
    found = Path(value)
    sizes = [len(part.encode(errors="replace")) for part in found.parts]
    if sizes and (max(sizes) > _MOST_OF_A_PART or sizes[-1] > _MOST_OF_THE_LAST):
        most = f"{_MOST_OF_A_PART} bytes, and the last one {_MOST_OF_THE_LAST}"
        raise ArgumentError(f"{name} is {_seen(value)}; a part of a path has at most {most}")
    return found


def items(values: Iterable[object], name: str) -> Iterable[object]:
    """What a container holds, in its order; containers without one are refused, as are single texts."""
    if isinstance(values, str | bytes | bytearray):
        raise ArgumentError(f"{name} is {_seen(values)}, a single one; give a list of them")
    if isinstance(values, Mapping):
        raise ArgumentError(f"{name} is a mapping ({_kind(values)}); give its keys() or its values()")
    if isinstance(values, set | frozenset):
        raise ArgumentError(f"{name} is a {_kind(values)}, which has no order; give a list")
    if getattr(values, "ndim", 1) != 1:
        raise ArgumentError(
            f"{name} is a {_kind(values)} with {values.ndim} dimensions; give one column, or one row"  # type: ignore[attr-defined]
        )
    if not isinstance(values, Iterable):
        raise ArgumentError(f"{name} is {_seen(values)}; it must be a list or another iterable")
    if hasattr(values, "to_pylist"):  # pyarrow's, whose items are no text
        plain: list[object] = values.to_pylist()
        return plain
    return values


def _seen(value: object) -> str:
    return f"{shown(value)} ({_kind(value)})"


def _kind(value: object) -> str:
    return type(value).__name__
