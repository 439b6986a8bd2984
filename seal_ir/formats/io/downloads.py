"""Files from the network whose size and checksum are known: fetched in pieces, resumed, checked, unpacked."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, UsageError, one_line, shown
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.outputs import handle_of, locked, make_parents, put_in_place, scratch_folder

TIMEOUT_SECONDS = 10
_ATTEMPTS = 3  # in a row that bring nothing
_PIECE = 1 << 20
_PLAIN = {"Accept-Encoding": "identity"}
_DAMAGED = (tarfile.TarError, EOFError, ValueError, lzma.LZMAError, zlib.error)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ADVICE = "make room, or set SEAL_IR_CACHE to another folder"
Report = Callable[[int], object]


def _is_web(url: str) -> bool:
    try:
        return urllib.parse.urlsplit(url).scheme in ("http", "https")
    except ValueError:  # brackets that hold no address of a machine
        return False


@dataclass(frozen=True, slots=True)
class Download:
    """A file that can be fetched.

    Attributes:
        url: http or https.
        sha256: of its content, in hexadecimal.
        n_bytes: its size.
        mirrors: other addresses of the same file, for when that one fails.
    """

    url: str
    sha256: str
    n_bytes: int
    mirrors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be fetched or checked."""
        for url in (self.url, *self.mirrors):
            if not isinstance(url, str):
                raise TypeError(f"an address is {shown(url)}; it must be a string")
            if not _is_web(url):
                raise InputError(f"{shown(url)} is no address to download from; it must begin with https://")
            if "@" in urllib.parse.urlsplit(url).netloc:
                raise InputError(
                    f"{shown(url)}: an address holds no user name and no password; leave them out"
                )
        if not _SHA256.fullmatch(self.sha256) or self.n_bytes < 1:
            raise InputError(f"{self.url}: its sha256 must be 64 digits of 0-9a-f, and its size positive")

    @classmethod
    def of(cls, table: Mapping[str, Any], place: str) -> Download:
        """What a registry's table `download` says.

        Raises:
            InputError: a name in it is missing or unknown, or it cannot be fetched; names the place.
        """
        try:
            return cls(**{**table, "mirrors": tuple(table.get("mirrors", ()))})
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        except (TypeError, AttributeError) as error:
            raise InputError(
                f"{place}: download is {shown(table)}; it must have url, sha256, n_bytes, and may have"
                " mirrors"
            ) from error


def fetch(download: Download, target: Path, report: Report) -> None:
    """Put the file at a place, whole and checked, or not at all.

    What has come lies beside the place until it is complete; another call, or the next mirror, goes on from
    there. A redirection is followed, to http or https.

    Args:
        download: what to fetch.
        target: where it goes.
        report: told how many bytes there are now.

    Raises:
        InputError: no address answers, or each ends early or gives another file than it should.
        UsageError: it cannot be written, or another process is fetching it.
    """
    make_parents(target)
    part = target.with_name(f".{target.name}.{download.sha256[:12]}.part")
    faults = []
    with writing(target, _ADVICE), _alone(part):
        for url in (download.url, *download.mirrors):
            try:
                _complete(replace(download, url=url), part, report)
                _compare(replace(download, url=url), part)
            except InputError as error:
                faults.append(str(error))
            else:
                return put_in_place(part, target)
    raise InputError("; and ".join(faults))


def _compare(download: Download, part: Path) -> None:
    with part.open("rb") as stream:
        seen = hashlib.file_digest(stream, "sha256").hexdigest()
    if seen != download.sha256:
        os.truncate(part, 0)
        raise InputError(
            f"{download.url}: its sha256 is {seen} where {download.sha256} is expected; it is"
            " another file or was damaged on the way, try again later"
        )


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """A file that no other process adds to inside the block; it is gone afterwards if it is empty.

    Raises:
        UsageError: another one does.
    """
    part.touch()
    with handle_of(part) as handle:
        alone = True
        with suppress(OSError):  # a file system without locks
            alone = locked(handle, part)
        if not alone:
            raise UsageError(f"{part}: another process is downloading it; wait until it is done")
        try:
            yield
        finally:
            if part.is_file() and not part.stat().st_size:
                part.unlink()


def _complete(download: Download, part: Path, report: Report) -> None:
    """Fetch until the part has its full size, with a few attempts that go on where the last one ended."""
    failed = 0
    while (size := part.stat().st_size) != download.n_bytes:
        if size > download.n_bytes:
            os.truncate(part, 0)
            raise InputError(f"{download.url}: is larger than the {download.n_bytes:,} bytes it should have")
        fault = _append(download, part, size, report)
        grown = part.stat().st_size > size
        failed = 0 if grown else failed + 1
        if (fault and not grown) or failed >= _ATTEMPTS:
            told = fault or "it ends early"
            raise InputError(
                f"{download.url}: {told}, after {size:,} of {download.n_bytes:,} bytes; check the network and"
                " try again: it goes on from there"
            )


def _append(download: Download, part: Path, size: int, report: Report) -> str:
    """Add to the part what one request brings, one byte more than it should have at most; what failed."""
    request = urllib.request.Request(download.url, headers=_PLAIN)  # noqa: S310 - http or https, see above
    if size:
        request.add_header("Range", f"bytes={size}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            resumed = answer.status == 206 and f"bytes {size}-" in answer.headers.get("Content-Range", "")
            if size and not resumed:
                os.truncate(part, 0)  # the server gives all of it again
                size = 0
            with part.open("ab") as stream:  # read1: what has come is kept when the rest does not
                while size <= download.n_bytes and (piece := answer.read1(_PIECE)):
                    stream.write(piece[: download.n_bytes + 1 - size])
                    size += len(piece)
                    report(min(size, download.n_bytes))
    except urllib.error.HTTPError as error:
        if error.code == 416:  # it has no such part
            os.truncate(part, 0)
        return f"the server says {error.code} {one_line(error.reason)}"
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        return f"no answer ({one_line(error)})"
    return ""


def unpack(archive: Path, folder: Path, holding: Sequence[str], check: Callable[[Path], object]) -> None:
    """Put what a tar archive holds at a place, in one step: the folder in it that has a file of these names.

    Args:
        archive: tar, plain or compressed with gzip, bzip2 or xz.
        folder: where it goes; nothing may be there.
        holding: names of files. Folders inside of the one that has such a file may have them, too.
        check: is given what will be there, and raises where that is not sound.

    Raises:
        InputError: it is no archive, or damaged; it holds a link, a device or a name outside of the folder,
            or not one folder with such a file.
        UsageError: it cannot be written.
    """
    with writing(folder, _ADVICE), scratch_folder(folder) as scratch:
        try:
            with tarfile.open(archive, "r:*") as members:
                members.extractall(scratch / "all", filter=_plain)  # noqa: S202 - see `_plain`
        except (*_DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's; those of gzip and bzip2 have no number
            raise InputError(f"{archive.name}: cannot be unpacked ({one_line(error, 200)})") from error
        having = {path.parent for name in holding for path in (scratch / "all").glob(f"**/{name}")}
        found = [place for place in having if having.isdisjoint(place.parents)]
        if len(found) != 1:
            names = " or ".join(holding)
            raise InputError(f"{archive.name}: {len(found)} folders in it hold {names}, not one")
        check(found[0])
        put_in_place(found[0], folder)


def _plain(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Files and folders inside of the path only, without their owners and modes."""
    if not (member.isfile() or member.isdir()):
        raise tarfile.FilterError(f"{member.name!r} is neither a file nor a folder")
    return tarfile.data_filter(member, path)
