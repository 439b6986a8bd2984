"""How an index directory goes from one generation to the next.

A generation is the files that one manifest names. Each has a name that no other content gets, so that the
files of two generations lie side by side. A build grows in `.building` inside the directory. When it is
complete its files are moved beside the old ones, and the manifest is replaced in one step: a build that dies
leaves the generation that was there. Files that no manifest names are removed after that, or by the next
build; readers remove nothing, and keep what they have opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from seal_ir.errors import IndexDirError
from seal_ir.formats.io.outputs import locked, make_parents, remove, sync
from seal_ir.index.directory import LOCK, WORKING, grown_beside, is_earlier, is_own, replaced_beside
from seal_ir.index.manifest import MANIFEST, Files, Manifest, SegmentInfo, describe_files, read_manifest
from seal_ir.index.replacing import built_elsewhere, check_empty

_DIGITS = 12  # hexadecimal, of the digest in a segment's name


@contextmanager
def building(directory: Path) -> Iterator[Path]:
    """A new folder inside the index directory, for one build at a time; it is gone afterwards.

    So is all that a build has left which did not come to its end, and the directory itself if it is new.

    Raises:
        UsageError: `directory` holds something that is not an index, or another build of it is running.
        OSError: it cannot be written.
    """
    _put_back(directory)
    _check_target(directory)
    is_new = not directory.exists()
    make_parents(directory)
    directory.mkdir(exist_ok=True)
    working, lock = directory / WORKING, directory / LOCK
    with lock.open("wb") as file:
        if not locked(file.fileno(), lock):
            raise built_elsewhere(directory)
        try:
            _clear(directory)
            working.mkdir()
            yield working
        finally:
            _clear(directory)
            lock.unlink(missing_ok=True)
            if is_new:
                with suppress(OSError):  # where it holds an index
                    directory.rmdir()


def named_by_content(working: Path, segments: Sequence[SegmentInfo]) -> tuple[list[SegmentInfo], Files]:
    """Give the folders of segments names that no other content gets; the segments, and all files.

    The same content gets the same name in every build.
    """
    described = describe_files(working)
    named = []
    for segment in segments:
        own = {name: entry for name, entry in described.items() if name.startswith(f"{segment.name}/")}
        sums = sorted(f"{path.rpartition('/')[2]} {entry['sha256']}\n" for path, entry in own.items())
        digest = hashlib.sha256("".join(sums).encode()).hexdigest()
        name = f"{segment.name}-{digest[:_DIGITS]}"
        (working / segment.name).rename(working / name)
        for path, entry in own.items():
            del described[path]
            described[f"{name}/{path.rpartition('/')[2]}"] = entry
        named.append(replace(segment, name=name))
    return named, dict(sorted(described.items()))


def commit(directory: Path, working: Path, manifest: Manifest, kept: Collection[str] = ()) -> None:
    """Make a finished build the generation of the directory; on disk to stay, when this returns.

    Files that are there already under their names have the same content, or are damaged: they are replaced.

    Args:
        directory: the index directory.
        working: where the files of the build lie.
        manifest: what it holds.
        kept: those of its files that stay where they are: the old generation has them, too.

    Raises:
        OSError: it cannot be written; the old generation is untouched.
    """
    made = [name for name in manifest.files if name not in kept]
    (working / MANIFEST).write_text(manifest.to_json(), encoding="utf-8", newline="\n")
    sync([working / MANIFEST, *(working / name for name in made)])
    targets = [directory / name for name in made]
    for name, target in zip(made, targets, strict=True):
        target.parent.mkdir(exist_ok=True)
        (working / name).replace(target)
    sync({*(target.parent for target in targets), directory})
    (working / MANIFEST).replace(directory / MANIFEST)
    sync([directory])


def _clear(directory: Path) -> None:
    """Remove what builds have left, and files of generations that have been replaced."""
    remove(directory / WORKING)
    clear_replaced(directory)


def clear_replaced(directory: Path) -> None:
    """Remove files of generations that have been replaced; for the process that holds the lock.

    Nothing but names that builds give is removed; and no files of an index whose manifest cannot be read.
    """
    present = (directory / MANIFEST).exists()
    try:
        named = {name.partition("/")[0] for name in read_manifest(directory).files} if present else set()
    except IndexDirError:
        return
    for path in directory.iterdir():
        if path.name in named or path.name in (LOCK, WORKING):
            continue
        if is_own(path.name) or (present and is_earlier(path.name)):
            remove(path)


def _put_back(directory: Path) -> None:
    """Undo what builds before format 4 have left beside the directory, where they were killed."""
    old, working = replaced_beside(directory), grown_beside(directory)
    if (old / MANIFEST).is_file() and not directory.exists():
        with suppress(FileNotFoundError):  # another build was quicker
            old.rename(directory)
    debris = [path for path in (old, working) if path.is_dir() and all(map(_is_of_index, path.iterdir()))]
    for path in debris:
        remove(path)
    if debris:
        directory.with_name(f".{directory.name}.lock").unlink(missing_ok=True)


def _is_of_index(path: Path) -> bool:
    """Whether it is part of an index of a format before 4, be it unfinished."""
    return path.name == MANIFEST or is_earlier(path.name.removeprefix("temporary-"))


def _check_target(directory: Path) -> None:
    is_index = directory.is_dir() and (
        (directory / MANIFEST).is_file() or all(is_own(path.name) for path in directory.iterdir())
    )
    if not is_index:
        check_empty(directory)
