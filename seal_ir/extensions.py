"""The extension modules, built from cpp/; not every build of seal-ir has both FM-index engines."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from seal_ir.errors import IndexDirError

NATIVE, SDSL = "native", "sdsl"  # the FM-index engines
RANK = "rank"  # ranking, and the token stores that it reads
_AGAIN = "install seal-ir again (in a checkout: `make install`)"
INSTALL = {
    NATIVE: _AGAIN,
    SDSL: "wheels leave it out; install libsdsl-dev (apt) and run `make install` in a checkout",
    RANK: _AGAIN,
}


def extension(name: str) -> Any:
    """The extension module of this name.

    It is found by its name: import-linter would take an import of it for one of the package `seal_ir`.

    Raises:
        IndexDirError: it was not built; says what to install.
    """
    try:
        return import_module(f"seal_ir._{name}")
    except ImportError as error:
        raise IndexDirError(f"the {name} engine was not built here: {INSTALL[name]} ({error})") from error
