"""What an index holds and where its bytes go, as values and as a table to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from seal_ir.index.manifest import Manifest, SegmentInfo
from seal_ir.index.reader import Index

_DIGITS = re.compile(r"(?<=^deleted)\.[0-9a-f]{12}\.")


def statistics(index: Index) -> dict[str, Any]:
    """The figures of an index, as plain JSON values.

    Bytes are sums over segments: `engine` by part of the FM-index, `files` by name of file. Documents and
    tokens are live ones; `n_deleted` are in the files still, which would be smaller by about
    `merge_saves_bytes` without them.
    """
    manifest = index.manifest
    files: dict[str, int] = {}
    for path, entry in manifest.files.items():
        name = _DIGITS.sub(".", path.rpartition("/")[2])
        files[name] = files.get(name, 0) + int(entry["size"])
    return {
        "format": manifest.version,
        "engine": ", ".join(dict.fromkeys(segment.engine for segment in manifest.segments)),
        "layout": ", ".join(dict.fromkeys(segment.layout for segment in manifest.segments)),
        "library": manifest.library,
        "model": manifest.model,
        "tokenizer": manifest.tokenizer,
        "fields": list(manifest.fields),
        "collection": dict(manifest.collection),
        "stored": dict(manifest.stored),
        "raw": manifest.has_raw,
        "n_documents": manifest.n_documents,
        "n_tokens": manifest.n_tokens,
        "n_deleted": sum(s.n_documents - s.n_live for s in manifest.segments),
        "segments": [_of_segment(s) for s in manifest.segments],
        "merge_saves_bytes": sum(_saved(manifest, s) for s in manifest.segments),
        "engine_bytes": index.engine_sizes(),
        "file_bytes": files,
        "bytes": sum(files.values()),
    }


def _of_segment(segment: SegmentInfo) -> dict[str, Any]:
    n_deleted = segment.n_documents - segment.n_live
    known = {"name": segment.name, "n_documents": segment.n_live, "n_tokens": segment.n_live_tokens}
    return known | {"n_deleted": n_deleted}


def _saved(manifest: Manifest, segment: SegmentInfo) -> int:
    """Bytes of a segment that are of deleted documents, by their share in its tokens."""
    if segment.deleted is None:
        return 0
    n_bytes = sum(e["size"] for name, e in manifest.files.items() if name.startswith(f"{segment.name}/"))
    share = segment.deleted.n_tokens / segment.n_tokens
    return int(n_bytes * share) + int(manifest.files[segment.deleted.file]["size"])


def as_table(values: dict[str, Any]) -> str:
    """`statistics` as lines of text, sizes also in bits per token."""
    return "\n".join([*_facts(values), "", *_sizes(values)])


def _facts(values: dict[str, Any]) -> Iterator[str]:
    engine = f"{values['engine']}, layout {values['layout']}"
    library = f" (linked with {values['library']})" if values["library"] else ""
    segments = values["segments"]
    facts = {
        "documents": f"{values['n_documents']:,}",
        "tokens": f"{values['n_tokens']:,}",
        "segments": f"{len(segments)}, of at most {max(s['n_tokens'] for s in segments):,} tokens",
        "deleted": f"{values['n_deleted']:,} documents; a merge would save"
        f" {values['merge_saves_bytes']:,} bytes",
        "fields": ", ".join(values["fields"]),
        "stored": ", ".join(f"{name} ({kind})" for name, kind in values["stored"].items()) or "no field",
        "raw records": "kept" if values["raw"] else "not kept",
        "model": str(values["model"]),
        "tokenizer": values["tokenizer"],
        "engine": engine + library,
        "format": str(values["format"]),
        "collection": ", ".join(f"{name} {value}" for name, value in values["collection"].items()),
    }
    return (f"{name:<12} {value}" for name, value in facts.items())


def _sizes(values: dict[str, Any]) -> Iterator[str]:
    rows = [
        *((f"engine: {part}", n_bytes) for part, n_bytes in values["engine_bytes"].items()),
        *(("file: " + name, n_bytes) for name, n_bytes in sorted(values["file_bytes"].items())),
        ("all files", values["bytes"]),
    ]
    width = max(len(name) for name, _ in rows)
    yield f"{'size':<{width}} {'bytes':>16} {'bits/token':>11}"
    for name, n_bytes in rows:
        yield f"{name:<{width}} {n_bytes:>16,} {8 * n_bytes / values['n_tokens']:>11.3f}"
