"""`python -m seal_ir.index.download NAME`: a registered index that is published, instead of building it."""

from __future__ import annotations

from pathlib import Path

from seal_ir.command import CommandParser, run
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.io import published
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.resolve import Places
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.index.registry import IndexEntry, registered


def downloaded(entry: IndexEntry, agreed: bool) -> Path:
    """The directory of a registered index, fetched where it is not there.

    Says what and how large before it begins, and asks on a terminal.

    Args:
        entry: the index.
        agreed: do not ask.

    Raises:
        UsageError: it is nowhere to download from, nobody agreed, or it cannot be written.
        InputError: the download failed, or holds something else than an index.
        IndexDirError: the index in it is damaged.
    """
    if entry.present:
        return entry.directory
    if entry.published is None:
        raise UsageError(f"index {entry.name!r} is not published; build it with: {entry.build}")
    url = entry.published.download.url

    def check(folder: Path) -> None:
        try:
            Index(folder, check="bytes")
        except IndexDirError as error:
            told = str(error).replace(f"{folder}/", "")  # where it was unpacked is gone
            raise IndexDirError(f"{url}: {told}; nothing was kept") from error

    return published.downloaded(entry.published, (MANIFEST,), check, agreed)


def main(arguments: list[str]) -> int:
    """Download an index; 0 when it is there."""
    parser = CommandParser(
        prog="python -m seal_ir.index.download", description="Download a registered index."
    )
    parser.add_argument("name", help="registered name")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    args = parser.parse_args(arguments)
    entries = {entry.name: entry for entry in registered(Places.from_environment())}
    if args.name not in entries:
        raise UsageError(f"{args.name}: no registered index; registered are: {', '.join(entries) or 'none'}")
    print(utf8(downloaded(entries[args.name], args.yes)))  # noqa: T201 - a command
    return 0


if __name__ == "__main__":
    run(main)
