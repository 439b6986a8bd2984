"""What a module says whose package is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seal_ir.errors import MissingPackageError


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Turns an import that fails inside the block into one line that names the extra.

    Raises:
        MissingPackageError: something could not be imported.
    """
    try:
        yield
    except ImportError as error:
        raise MissingPackageError(
            f"{what} is needed here ({error}); pip install 'seal-ir[{extra}]'"
        ) from error
