"""Models by name: which there are, and where those that are published are (collections/models.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, ModelError, shown
from seal_ir.formats.io.downloads import Download
from seal_ir.formats.io.published import Published
from seal_ir.formats.io.resolve import Places

FETCH = "python -m seal_ir.models fetch"
CONFIGS = ("config.json", "adapter_config.json")  # one of them is in every model folder
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a hub name has a slash


class AbsentModelError(ModelError):
    """A model is published and has not been downloaded; the message says how to.

    Attributes:
        published: what to download.
    """

    def __init__(self, published: Published) -> None:
        super().__init__(published.absent)
        self.published = published

    def __reduce__(self) -> tuple[Any, ...]:  # an exception is made anew from its message otherwise
        return AbsentModelError, (self.published,)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that the registry knows.

    Attributes:
        name: short name.
        description: one line.
        licence: as SPDX writes it.
        n_bytes: about how large it is; 0 where nobody has said.
        download: an archive of its folder, where it is published; else it comes with this package, or says
            itself how it is made.
    """

    name: str
    description: str
    licence: str
    n_bytes: int = 0
    download: Download | None = None


def registered_models(places: Places) -> list[ModelEntry]:
    """All entries, in the order of the file.

    Raises:
        InputError: one means nothing.
    """
    path = places.collections / "models.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8")).get("model", []) if path.is_file() else []
    return [_entry(table, str(path)) for table in tables]


def _entry(table: Mapping[str, Any], place: str) -> ModelEntry:
    for name in ("name", "description", "licence"):
        value = table.get(name)
        if not isinstance(value, str) or (name == "name" and not _NAME.fullmatch(value)):
            raise InputError(
                f"{place}: {name} of a [[model]] is {shown(value)}; it must be a string, and a name made of"
                " letters, digits, '.', '_' and '-'"
            )
    download = table.get("download")
    return ModelEntry(
        name=table["name"],
        description=table["description"],
        licence=table["licence"],
        n_bytes=table.get("n_bytes", 0),
        download=None if download is None else Download.of(download, f"{place}: {table['name']}"),
    )


def find_published(name: str) -> Path | None:
    """The folder of a published model that has been downloaded; None for names that are no such model's.

    Raises:
        AbsentModelError: it has not been.
        InputError: there is no place for the cache, or the registry means nothing.
    """
    if not _NAME.fullmatch(name):
        return None
    places = Places.from_environment()
    entry = next((entry for entry in registered_models(places) if entry.name == name), None)
    if entry is None or entry.download is None:
        return None
    folder = places.cache / "models" / name
    if not any((folder / config).is_file() for config in CONFIGS):
        command = f"{FETCH} {name}"
        raise AbsentModelError(Published("model", name, entry.download, folder, command, entry.licence))
    return folder
