"""Values of a TOML table by name and type, with faults that name the file, the section and the key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown


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
            raise InputError(
                f"{self.where}: unknown key {shown(unknown[0])}; it may hold {', '.join(allowed)}"
            )
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
