"""The registries of collections/: TOML files whose sections name what can be fetched or made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, shown
from seal_ir.formats.io.downloads import Download
from seal_ir.structured import load_toml

# Of a folder, too; a hub name has a slash.
REGISTERED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NAMES_ARE = "at most 100 letters, digits, '.', '_' and '-'"


def registry_sections(path: Path, kind: str, texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """The `[[kind]]` sections of a registry, in their order; none where there is no file.

    Args:
        path: the file.
        kind: name of the sections.
        texts: what each must have as a string, beside a name.

    Raises:
        InputError: the file cannot be read, or a section lacks one of these or has another kind of value.
    """
    if not path.is_file():
        return []
    try:
        sections = load_toml(path).get(kind, [])
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a registry: {error}") from error
    if not isinstance(sections, list) or not all(isinstance(section, dict) for section in sections):
        raise InputError(f"{path}: {kind} is {shown(sections)}; it must be [[{kind}]] sections")
    for section in sections:
        _check(section, f"a [[{kind}]]", ("name", *texts), path)
    return sections


def _check(section: Mapping[str, Any], what: str, texts: Sequence[str], path: Path) -> None:
    for name in texts:
        value = section.get(name)
        if not isinstance(value, str) or (name == "name" and not REGISTERED_NAME.fullmatch(value)):
            raise InputError(
                f"{path}: {name} of {what} is {shown(value)}; it must be a string, and a name made of"
                f" {NAMES_ARE}"
            )
    size = section.get("n_bytes", 0)
    if type(size) is not int or size < 0:
        raise InputError(f"{path}: n_bytes of {what} is {shown(size)}; it must be a number of bytes")


def download_of(section: Mapping[str, Any], path: Path) -> Download | None:
    """What a section says to download; None where it is not published.

    Raises:
        InputError: it cannot be fetched so.
    """
    if "download" not in section:
        return None
    return Download.of(section["download"], f"{path}: {section['name']}")
