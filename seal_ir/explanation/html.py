"""Hits and explanations as HTML for notebooks and pages: no script, no address, all of it escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import exp
from typing import TYPE_CHECKING

from seal_ir.decode.recorder import Decoding, Step
from seal_ir.explanation.marks import highlights
from seal_ir.records import UNIGRAM, HitKey

if TYPE_CHECKING:
    from seal_ir.explanation.values import Explanation

_MOST_SHOWN = 12  # keys of a table; the rest are counted
# Control characters, the NUL among them, that HTML has no place for.
_UNSHOWN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\N{REPLACEMENT CHARACTER}")


def escaped(text: str) -> str:
    """Text that is nothing but text in HTML, quotes and control characters included."""
    return escape(text.translate(_UNSHOWN), quote=True)


def hit_html(docid: str, score: float, contents: str, keys: Sequence[HitKey], rank: int = 0) -> str:
    """A ranked document with its keys highlighted, and a table of these."""
    place = f"{rank}. " if rank else ""
    return (
        '<div style="margin:0 0 1em">'
        f"<div><b>{place}{escaped(docid)}</b> <code>{score:.4f}</code></div>"
        f'<div style="white-space:pre-wrap">{marked_html(contents, keys)}</div>'
        f"{keys_html(keys)}</div>"
    )


def marked_html(contents: str, keys: Sequence[HitKey]) -> str:
    """A text with what keys took marked, the stronger the more they added there."""
    pieces = highlights(contents, keys)
    most = max((abs(piece.share) for piece in pieces), default=0.0)
    parts, at = [], 0
    for piece in pieces:
        strength = 0.25 + 0.65 * (abs(piece.share) / most if most else 1.0)
        style = f"background:rgba(255,196,0,{strength:.2f});color:inherit"
        parts += [
            escaped(contents[at : piece.start]),
            f'<mark style="{style}" title="{piece.share:.4f}">{escaped(piece.text)}</mark>',
        ]
        at = piece.end
    return "".join([*parts, escaped(contents[at:])])


def keys_html(keys: Sequence[HitKey]) -> str:
    """A table of the keys that added most, with bars; unigrams are summed up."""
    rows = sorted((key for key in keys if key.kind != UNIGRAM), key=lambda key: -key.fraction)
    body = [_row(key) for key in rows[:_MOST_SHOWN]]
    rest = rows[_MOST_SHOWN:]
    unigrams = [key for key in keys if key.kind == UNIGRAM]
    for name, some in (("further keys", rest), ("unigrams", unigrams)):
        if some:
            share, part = sum(key.share for key in some), sum(key.fraction for key in some)
            body.append(
                f"<tr><td><i>{len(some)} {name}</i></td><td></td><td>{share:.4f}</td><td>{_bar(part)}</td>"
                "<td></td></tr>"
            )
    head = "".join(f"<th>{name}</th>" for name in ("key", "kind", "share", "of the score", "F(n)"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _row(key: HitKey) -> str:
    return (
        f"<tr><td>{escaped(key.text)}</td><td>{escaped(key.kind)}</td><td>{key.share:.4f}</td>"
        f"<td>{_bar(key.fraction)}</td><td>{key.count:,}</td></tr>"
    )


def _bar(fraction: float) -> str:
    width = round(100 * min(max(fraction, 0.0), 1.0))
    style = f"display:inline-block;height:.7em;width:{width}px;background:#c80;vertical-align:middle"
    return f'<span style="{style}"></span> {100 * fraction:.1f}&nbsp;%'


def explanation_html(found: Explanation) -> str:
    """A document's explanation."""
    score = "" if found.score is None else f" <code>{found.score:.4f}</code>"
    parts = [
        f"<div><b>{escaped(found.docid)}</b>{score} <i>{escaped(found.status)}</i>:"
        f" {escaped(found.reason)}</div>"
    ]
    if found.contents is not None:
        text = marked_html(found.contents, found.keys)
        parts += [f'<div style="white-space:pre-wrap">{text}</div>', keys_html(found.keys)]
    for title, keys in (("held, and adding nothing", found.unused), ("not held", found.lacking)):
        if keys:
            rows = "".join(
                f"<tr><td>{escaped(key.text)}</td><td>{escaped(key.kind)}</td><td>{key.weight:.4f}</td>"
                f"<td>{key.count:,}</td></tr>"
                for key in keys
            )
            head = "<tr><th>key</th><th>kind</th><th>weight</th><th>F(n)</th></tr>"
            parts.append(
                f"<details><summary>{title}</summary><table><thead>{head}</thead>"
                f"<tbody>{rows}</tbody></table></details>"
            )
    return f'<div style="margin:0 0 1em">{"".join(parts)}</div>'


def decoding_html(found: Decoding) -> str:
    """How the keys were written, a list in a list for each step."""
    return "".join(
        f"<h2>{escaped(kind)}</h2><ol>{''.join(map(_step_html, steps))}</ol>" for kind, steps in found.kinds
    )


def _step_html(step: Step) -> str:
    rows = []
    for item in step.hypotheses:
        refused = ", ".join(
            f"<s>{escaped(token.text)}</s> {exp(token.logprob):.3f}" for token in item.refused
        )
        rows.append(
            f"<li><code>{escaped(item.text) or '&nbsp;'}</code> P {exp(item.logprob):.4f}, F {item.count:,},"
            f" {item.n_allowed:,} may follow with {100 * item.allowed_mass:.0f} % of the model's"
            f" probability; not in the collection: {refused or 'nothing'}</li>"
        )
    return f"<li><ul>{''.join(rows)}</ul></li>"
