"""Parameters that several routes take, with the limits of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query

from seal_ir.errors import shown
from seal_ir.server.failures import RequestError
from seal_ir.server.limits import Limits

IndexName = Annotated[str, Path(description="An index that is served.")]
Docid = Annotated[str, Path(description="Id of a document.")]
Parse = Annotated[bool, Query(description="Whether documents are JSON, or the text of their records.")]


def query_text(limits: Limits) -> Any:
    """A query that says something."""
    return Query(min_length=1, max_length=limits.max_query_chars, pattern=r"\S", description="The query.")


def n_hits(limits: Limits) -> Any:
    """How many documents a search is asked for."""
    return Query(ge=1, le=limits.max_hits, description="How many documents.")


def preset_name(presets: Sequence[str]) -> Any:
    """One of the presets that are served."""
    return Query(json_schema_extra={"enum": list(presets)}, description="Settings by name.")


def check_preset(preset: str, presets: Sequence[str]) -> None:
    """Refuse a preset that is not served.

    Raises:
        RequestError: it is none of them.
    """
    if preset not in presets:
        raise RequestError(f"preset is {shown(preset)}; it must be one of {', '.join(presets)}")
