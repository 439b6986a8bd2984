"""Values of a table file by name and type, with placeholders filled in; faults name file, section and key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, one_line
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.needs import GPU, Need, package
from seal_ir.reproduce.spec import NO_DATA, Topics

_LONG = 60  # characters of a name


@dataclass(frozen=True, slots=True)
class Fields:
    """One section of a table file.

    Attributes:
        where: file and section, for messages.
        values: what it says.
    """

    where: str
    values: Mapping[str, Any]

    def only(self, *allowed: str) -> Fields:
        """These fields themselves.

        Raises:
            InputError: there is a key that is not allowed.
        """
        unknown = [key for key in self.values if key not in allowed]
        if unknown:
            # Some of these are measures, as the table itself names them.
            known = [key if key.isprintable() and len(key) < _LONG else shown(key) for key in allowed]
            raise InputError(f"{self.where}: unknown key {shown(unknown[0])}; it may hold {', '.join(known)}")
        return self

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without a default it must be there."""
        return str(self._typed(key, str, "a string", default))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, or one string as a list of one; empty where it is absent."""
        value = self.values.get(key, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._fault(key, "a list of strings")
        return tuple(value)

    def flag(self, key: str) -> bool:
        """True or false; false where it is absent."""
        return bool(self._typed(key, bool, "true or false", False))

    def number(self, key: str, default: float | None = None) -> float:
        """A number that is not negative; without a default it must be there."""
        value = self._typed(key, (int, float), "a number", default)
        if isinstance(value, bool) or not 0 <= value < math.inf:
            raise self._fault(key, "a number of at least 0")
        return float(value)

    def section(self, key: str) -> Fields:
        """The section of this name below these; empty where it is absent."""
        return Fields(f"{self.where}: {key}", self._typed(key, dict, "a section", {}))

    def sections(self, key: str) -> list[Fields]:
        """The `[[key]]` sections below these, in their order."""
        found = self._typed(key, list, f"[[{key}]] sections", [])
        if not all(isinstance(item, dict) for item in found):
            raise self._fault(key, f"[[{key}]] sections")
        return [Fields(f"{self.where}: [[{key}]] {i}", item) for i, item in enumerate(found, start=1)]

    def _typed(self, key: str, kind: type | tuple[type, ...], what: str, default: Any) -> Any:
        if key not in self.values:
            if default is None:
                raise InputError(f"{self.where}: {shown(key)} is missing")
            return default
        if not isinstance(self.values[key], kind):
            raise self._fault(key, what)
        return self.values[key]

    def _fault(self, key: str, what: str) -> InputError:
        return InputError(f"{self.where}: {key} is {shown(self.values[key])}; it must be {what}")


@dataclass(frozen=True, slots=True)
class Context:
    """What the sections of one file share.

    Attributes:
        path: the file.
        folder: where runs go.
        fill: placeholders of the whole table.
        needs: by the names that the table gives them.
        has_keys: whether it is a table of keys.
    """

    path: Path
    folder: Path
    fill: Mapping[str, str]
    needs: Mapping[str, Need]
    has_keys: bool

    def filled(self, fields: Fields, value: str, topics: Topics | None = None) -> str:
        """The text with its placeholders filled in; {topics}, {out} and {set} are those of the set.

        Raises:
            InputError: there is no such placeholder.
        """
        own: dict[str, str] = {}
        if topics is not None:
            own = {"topics": str(topics.file), "out": str(topics.runs), "set": topics.within or topics.name}
        try:
            return value.format_map({**self.fill, **own})
        except KeyError as error:
            raise InputError(
                f"{fields.where}: unknown placeholder {shown(f'{{{error.args[0]}}}')} in {shown(value)}"
            ) from None
        except (ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{fields.where}: {shown(value)}: bad placeholder ({one_line(error)})") from None

    def paths(self, fields: Fields, key: str, topics: Topics | None = None) -> tuple[Path, ...]:
        """The list of files of this key."""
        return tuple(Path(self.filled(fields, value, topics)) for value in fields.texts(key))

    def needed(self, fields: Fields) -> tuple[Need, ...]:
        """Needs by the names that the table declares; other names are those of packages."""
        return tuple(self.needs.get(name) or package(name) for name in fields.texts("needs"))


def context_of(table: Fields, path: Path, folder: Path, places: Places, *, has_keys: bool) -> Context:
    """What the sections of a table share.

    Args:
        table: the whole file.
        path: the file.
        folder: where runs go.
        places: what {collections}, {cache} and {data} stand for.
        has_keys: whether it is a table of keys.

    Raises:
        InputError: a need is not one.
    """
    fill = {
        "collections": str(places.collections),
        "cache": str(places.cache),
        "data": NO_DATA if places.data is None else str(places.data),
        "here": str(path.parent),
    }
    context = Context(path, folder, fill, {"gpu": GPU}, has_keys=has_keys)
    section = table.section("need")
    declared = {name: _need(section.section(name), context) for name in section.values}
    return replace(context, needs={"gpu": GPU, **declared})


def _need(fields: Fields, context: Context) -> Need:
    fields.only("what", "get", "package", "file", "gpu", "disk_gb")
    file = fields.text("file", "")
    return Need(
        what=fields.text("what"),
        get=context.filled(fields, fields.text("get", "")),
        package=fields.text("package", ""),
        file=Path(context.filled(fields, file)) if file else None,
        gpu=fields.flag("gpu"),
        disk_gb=fields.number("disk_gb", 0.0),
    )
