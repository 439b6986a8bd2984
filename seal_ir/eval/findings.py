"""What an evaluation notices that makes its figures doubtful: told as warnings, and refused when strict."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from seal_ir.errors import InputError

logger = logging.getLogger(__name__)

KINDS = {  # what is looked for, as docs/eval.md lists it
    "missing-topics": "topics without results",
    "missing-answers": "topics without a written answer",
    "unknown-topics": "results or written answers for topics that are none",
    "unknown-documents": "documents that the collection lacks",
    "no-relevant": "no relevant document among the results, or none judged so",
    "ties": "figures that depend on the order of equal scores",
    "depth": "measures that look deeper than the run goes",
    "unjudged": "few judged documents at the top",
    "ranks": "ranks that contradict scores",
    "answers": "answers that cannot be looked for or compared with, or that any text holds",
    "judgements": "judgements of other topics, or repeated",
    "training": "topics that are also training questions",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or looks so.

    Attributes:
        kind: one of `KINDS`.
        text: where it is, what was seen and what follows, in one line.
    """

    kind: str
    text: str


def tell(findings: Sequence[Finding]) -> None:
    """Log each as a warning, a line each."""
    for finding in findings:
        logger.warning("%s", finding.text)


def refuse(findings: Sequence[Finding]) -> None:
    """Take no findings at all.

    Raises:
        InputError: there is one; names the first.
    """
    if findings:
        n = len(findings)
        raise InputError(
            f"strict: {n} warning{'s' if n > 1 else ''}, the first: {findings[0].text};"
            " mend what is told, or measure without strict"
        )
