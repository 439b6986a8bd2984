"""Folders that are published as archives: registered indexes and models, downloaded when they are wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.command import Progress, confirm
from seal_ir.errors import redacted
from seal_ir.formats.io.downloads import Download, fetch, unpack


@dataclass(frozen=True, slots=True)
class Published:
    """A folder that is published.

    Attributes:
        kind: "index" or "model".
        name: by which it is registered.
        download: an archive of it.
        folder: where it goes.
        command: what downloads it.
        licence: under which it may be used; "" where nobody has said.
    """

    kind: str
    name: str
    download: Download
    folder: Path
    command: str
    licence: str = ""

    @property
    def size(self) -> str:
        """How large the archive is."""
        return f"{self.download.n_bytes / 1e6:,.1f} MB"

    @property
    def absent(self) -> str:
        """What to tell where it is wanted and not there."""
        return f"{self.kind} {self.name!r} is not here; download it ({self.size}) with: {self.command}"


def downloaded(
    published: Published, holding: Sequence[str], check: Callable[[Path], object], agreed: bool
) -> Path:
    """The folder, fetched, unpacked and checked, or nothing.

    Says what and how large before it begins, and asks on a terminal.

    Args:
        published: the folder.
        holding: see `unpack`.
        check: is given the folder before it is in its place, and raises where it is not sound.
        agreed: do not ask.

    Raises:
        UsageError: nobody agreed, or it cannot be written.
        InputError: the download failed, or is no such archive.
        SealError: it is not sound.
    """
    folder, download, size = published.folder, published.download, published.size
    licence = f", licence {published.licence}," if published.licence else ""
    sys.stderr.write(f"{published.name}: {size}{licence} from {redacted(download.url)} to {folder}\n")
    if not agreed:
        what = f"{published.kind} {published.name!r}"
        told = f"{what} would be a download of {size}; agree with --yes ({published.command} --yes)"
        confirm("download it?", told, f"{what} was not downloaded")
    archive = folder.with_name(f"{published.name}.tar")
    progress, seen = Progress(download.n_bytes, "bytes"), 0

    def report(n_bytes: int) -> None:
        nonlocal seen
        progress.advance(n_bytes - seen)
        seen = n_bytes

    fetch(download, archive, report)
    progress.close()
    try:
        unpack(archive, folder, holding, check)
    finally:
        archive.unlink(missing_ok=True)
    return folder
