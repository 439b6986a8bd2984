"""Models by name: which there are, and where those that are published are (collections/models.toml)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seal_ir.errors import ModelError
from seal_ir.formats.io.downloads import Download
from seal_ir.formats.io.published import Published
from seal_ir.formats.io.registries import REGISTERED_NAME, download_of, registry_sections
from seal_ir.formats.io.resolve import Places

FETCH = "python -m seal_ir.models fetch"
CONFIGS = ("config.json", "adapter_config.json")  # one of them is in every model folder


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
    return [
        ModelEntry(
            name=section["name"],
            description=section["description"],
            licence=section["licence"],
            n_bytes=section.get("n_bytes", 0),
            download=download_of(section, path),
        )
        for section in registry_sections(path, "model", ("description", "licence"))
    ]


def find_published(name: str) -> Path | None:
    """The folder of a published model that has been downloaded; None for names that are no such model's.

    Raises:
        AbsentModelError: it has not been.
        InputError: there is no place for the cache, or the registry means nothing.
    """
    if not REGISTERED_NAME.fullmatch(name):
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
