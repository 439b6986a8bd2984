"""What Pyserini knows, from a process of its own: no JVM runs where an index is built by forked processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from seal_ir.errors import InputError, SealError, UsageError

_PROGRAM = "seal_ir.pyserini_data"


def pyserini_records(kind: str, name: str) -> Iterator[list[Any]]:
    """Records of a kind, one at a time, as `seal_ir.pyserini_data` has them; it is ended with the iteration.

    Args:
        kind: "documents", "topics" or "qrels".
        name: of a Lucene index, topics or judgements.

    Raises:
        UsageError: Pyserini, or a Java that it can run on, is missing.
        InputError: it knows no such name, cannot read or download what it means, or was killed.
    """
    command = [sys.executable, "-m", _PROGRAM, kind, name]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, encoding="utf-8", env=environment, start_new_session=True
    ) as process:
        end: dict[str, Any] = {}
        try:
            for line in process.stdout or ():
                value = json.loads(line)
                if isinstance(value, list):
                    yield value
                else:
                    end = value
        except ValueError:  # a line that was cut short
            end = {}
        finally:
            process.kill()
    if "end" not in end:
        raise _fault(kind, name, end)


def _fault(kind: str, name: str, end: dict[str, Any]) -> SealError:
    if "usage" in end:
        return UsageError(end["usage"])
    told = end.get("error", "the process that reads them with Pyserini was killed; is there enough memory?")
    return InputError(f"{kind} of {name}: {told}")
