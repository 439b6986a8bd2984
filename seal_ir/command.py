"""How every command ends: results on stdout, a user's fault in one line on stderr, a meaningful exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from seal_ir.errors import SealError, UsageError


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a command on `sys.argv` and exit: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the caller
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = main(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except UsageError as error:
        code = _fault(error, 2)
    except SealError as error:
        code = _fault(error, 1)
    except KeyboardInterrupt:
        code = _fault("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); keep the interpreter from complaining about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def _fault(error: object, code: int) -> int:
    text = " ".join(str(error).split())  # one line, whatever the message quotes
    if sys.stderr is not None:
        sys.stderr.write(f"error: {text}\n")
    return code
