"""Settings of a search from TOML files, over those of a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seal_ir.config import SearchConfig
from seal_ir.errors import UsageError, shown
from seal_ir.structured import load_toml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def tables_of(path: Path) -> dict[str, dict[str, Any]]:
    """The tables of a TOML file of settings: `[decode]`, `[rank]` and `[fusion]`, as far as it has them.

    Raises:
        UsageError: the file cannot be read, or holds something else.
    """
    try:
        tables = load_toml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot read settings: {error}") from error
    unknown = sorted(set(tables) - {"decode", "rank", "fusion"})
    if unknown:
        raise UsageError(
            f"{path}: unknown table {shown(unknown[0])}; settings live in [decode], [rank] and [fusion]"
        )
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {name} = {shown(table)} must be a table, [{name}]")
    return tables


def from_toml(path: Path, base: SearchConfig) -> SearchConfig:
    """`base` with the values of the `[decode]` and `[rank]` tables of a TOML file.

    Raises:
        UsageError: the file cannot be read, or names a setting that does not exist.
    """
    tables = tables_of(path)
    try:
        return replace(
            base,
            decode=updated(base.decode, tables.get("decode", {})),
            rank=updated(base.rank, tables.get("rank", {})),
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def updated(config: T, values: Mapping[str, Any]) -> T:
    """Settings with values from a TOML table over them.

    Raises:
        UsageError: a name is unknown, or a value means nothing.
    """
    names = {field.name: field for field in fields(config)}
    for name, value in values.items():
        if name not in names:
            raise UsageError(f"unknown setting {shown(name)}; known are {', '.join(names)}")
        default = getattr(config, name)
        expected = (int, float) if isinstance(default, float) else type(default)
        if isinstance(default, tuple):
            expected = list
        if not isinstance(value, expected) or (isinstance(value, bool) and not isinstance(default, bool)):
            kind = "list" if expected is list else type(default).__name__
            raise UsageError(f"{name} = {shown(value)} must be a {kind}")
    frozen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return replace(config, **frozen)
