"""From changes to the next generation: new segments are built, others kept, and the manifest is replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.errors import InputError
from seal_ir.index.changes import Changes
from seal_ir.index.deletions import write_deleted
from seal_ir.index.generations import clear_replaced, commit, named_by_content
from seal_ir.index.home import Home
from seal_ir.index.manifest import (
    NEWEST_FORMAT,
    Deletions,
    Manifest,
    SegmentInfo,
    check_files,
    tokenizer_name,
)
from seal_ir.index.parts import Part


def committed(home: Home, base: Manifest, parts: Sequence[Part], changes: Changes) -> Manifest:
    """Make the changes a generation; returns its manifest.

    Args:
        home: the index.
        base: the manifest that the changes are made to; without segments where there is no index yet.
        parts: its segments.
        changes: collected below `home.working`.

    Raises:
        InputError: no document would be left.
        IndexDirError: the disk or memory is full, or a file is damaged.
        OSError: a file cannot be written; the old generation is untouched.
    """
    with home.making() as folder:
        kept = [segment for at, part in enumerate(parts) if (segment := _kept(folder, part, changes, at))]
        new = []
        for writer, dead, n_tokens in changes.finish():
            info = home.build(writer)
            writer.folder.rename(folder / info.name)
            if len(dead):
                info = replace(info, deleted=Deletions(write_deleted(folder, dead), len(dead), n_tokens))
            new.append(info)
        if not kept and not new:
            raise InputError(
                f"{home.directory}: every document would be deleted, and an index holds at least one;"
                " add others in the same commit, or remove the directory"
            )
        counts = {"added": changes.n_added, "deleted": changes.n_deleted}
        facts = {name: base.collection.get(name, 0) + n for name, n in counts.items()}
        return _put(home, folder, base, kept, new, facts)


def merged(
    home: Home, base: Manifest, parts: Sequence[Part], groups: Sequence[range], first: int
) -> Manifest:
    """Rewrite groups of neighbouring segments without their deleted documents; returns the new manifest.

    Args:
        home: the index.
        base: its manifest.
        parts: its segments.
        groups: ascending; segments in none of them stay as they are.
        first: the number of the first new segment.

    Raises:
        IndexDirError: the disk or memory is full, or a file is damaged.
        OSError: a file cannot be written; the old generation is untouched.
    """
    with home.making() as folder:
        segments: list[SegmentInfo] = []
        made: set[str] = set()
        end = 0
        for group in groups:
            segments += [part.info for part in parts[end : group.start]]
            end = group.stop
            members = parts[group.start : group.stop]
            _check_whole(home.directory, base, members)
            items = chain.from_iterable(part.live() for part in members)
            for writer, _ in home.cutter.segments(items, folder, first + len(made)):
                info = home.build(writer)
                made.add(info.name)
                segments.append(info)
        segments += [part.info for part in parts[end:]]
        return _put(home, folder, base, segments, [], {}, made)


def _kept(folder: Path, part: Part, changes: Changes, at: int) -> SegmentInfo | None:
    """A segment after the changes; None where nothing of it is left."""
    dead = changes.dead(at)
    if not len(dead):
        return part.info
    before = part.info.deleted.n_tokens if part.info.deleted else 0
    numbers = np.union1d(part.deleted, dead)
    if len(numbers) == part.info.n_documents:
        return None
    n_tokens = before + part.n_tokens(dead)
    return replace(part.info, deleted=Deletions(write_deleted(folder, numbers), len(numbers), n_tokens))


def _put(
    home: Home,
    folder: Path,
    base: Manifest,
    kept: Sequence[SegmentInfo],
    new: Sequence[SegmentInfo],
    facts: Mapping[str, Any],
    made: Collection[str] = (),
) -> Manifest:
    """Commit `kept`, of which `made` lie in the folder, and then `new`, which all do."""
    names = {segment.name for segment in new} | set(made)
    if not base.segments:
        path = folder / tokenizer_name(home.tokenizer.fingerprint)
        path.write_text(home.tokenizer.definition, encoding="utf-8", newline="\n")
    home.progress("computing checksums", sum(segment.n_documents for segment in [*kept, *new]))
    own = [segment for segment in [*kept, *new] if segment.name in names]
    named, files = named_by_content(folder, own)
    renamed = {before.name: after for before, after in zip(own, named, strict=True)}
    segments = tuple(renamed.get(segment.name, segment) for segment in [*kept, *new])
    folders = {segment.name for segment in segments}
    lists = {segment.deleted.file for segment in segments if segment.deleted}
    stay = {
        name: entry
        for name, entry in base.files.items()
        if name not in files
        and (name == base.tokenizer_file or name in lists or name.partition("/")[0] in folders)
    }
    manifest = replace(
        base,
        segments=segments,
        files=dict(sorted({**stay, **files}.items())),
        collection={**base.collection, **facts},
        version=NEWEST_FORMAT,
        unknown=(),
    )
    commit(home.directory, folder, manifest, stay)
    clear_replaced(home.directory)
    return manifest


def _check_whole(directory: Path, manifest: Manifest, parts: Sequence[Part]) -> None:
    """Compare all bytes of segments with the manifest: damage must not be copied as if it were sound."""
    folders = {part.info.name for part in parts}
    names = [name for name in manifest.files if name.partition("/")[0] in folders]
    check_files(directory, manifest, names)
