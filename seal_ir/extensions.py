"""The extension modules of the FM-index engines, built from cpp/; not every build of seal-ir has both."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from seal_ir.errors import IndexDirError

NATIVE, SDSL = "native", "sdsl"
_INSTALL = {
    NATIVE: "run `make install` again",
    SDSL: "install libsdsl-dev (apt) and run `make install` again",
}


def extension(name: str) -> Any:
    """The extension module of an engine.

    It is found by its name: import-linter would take an import of it for one of the package `seal_ir`.

    Raises:
        IndexDirError: it was not built; says what to install.
    """
    try:
        return import_module(f"seal_ir._{name}")
    except ImportError as error:
        raise IndexDirError(f"the {name} engine was not built here: {_INSTALL[name]} ({error})") from error
