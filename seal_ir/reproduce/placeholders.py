"""What the sections of a table file share: placeholders, and the needs that it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.needs import GPU, Need, package
from seal_ir.reproduce.spec import NO_DATA, Topics
from seal_ir.reproduce.values import Fields


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
        """The text with its placeholders filled in; {topics} and {out} are those of the set.

        Raises:
            InputError: there is no such placeholder.
        """
        own = {} if topics is None else {"topics": str(topics.file), "out": str(topics.runs)}
        try:
            return value.format_map({**self.fill, **own})
        except KeyError as error:
            raise InputError(
                f"{fields.where}: unknown placeholder {{{error.args[0]}}} in {shown(value)}"
            ) from None
        except (ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{fields.where}: {shown(value)}: bad placeholder ({error})") from None

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
