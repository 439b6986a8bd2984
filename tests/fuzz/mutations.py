"""Valid files made hostile: values of JSON and TOML replaced, lines and cells moved, bytes changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e-320, 1.7e308),
    *(
        float("nan"),
        float("inf"),
        float("-inf"),
        "",
        " ",
        "a",
        "\n",
        "a\nb",
        "\t",
        "\x00",
        "\ud800",
        "\u2028",
    ),
    *("\ufeff", "é", "0", "1e999", "../../x", "/", "q" * 3000, [], {}, [None], [[]], {"a": {}}, ["a", 1]),
    *({"": ""}, [0] * 40),
)
_TOML = (
    *("", "true", "-1", "0", "9223372036854775808", "1" * 5000, "nan", "inf", "-inf", "0.5", '""', '"\\n"'),
    *('"a"', "[]", "{}", '[""]', "[1, 'a']", "{a = 1}", "[[1]]", "1979-05-27", "'x'", '"../x"', '"{a}"'),
    *('["-"]', '"' + "q" * 3000 + '"', "[" * 3000, "{a=" * 3000, '"\\u0000"', '"/"'),
)
_PIECES = (
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r",
        b"\r\n",
        b"\n",
        b"\n\n",
        b"\t",
        b" ",
        b'"',
        b'""',
        b"'",
        b"\\",
    ),
    *(b"{", b"}", b"[", b"]", b",", b":", b"<", b"</", b"<top>", b"<num>", b"#", b"=", b"0", b"-1", b"nan"),
    *(
        b"1e999",
        b"9" * 5000,
        b"[" * 3000,
        b'{"a":' * 3000,
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\xed\xa0\x80",
    ),
    *(
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b"BZh9",
        b"\xfd7zXZ\x00",
        b"\x28\xb5\x2f\xfd",
        b"\x0c",
        b"\x1c",
        b"\x85",
    ),
    *(b"\\ud800", b"null", b"true", b"NaN", b"Infinity", b"\xf4\x8f\xbf\xbf", b"Q0", b"qid", b"\x80\x04."),
)


def mutated(content: bytes, chance: Random) -> bytes:
    """The content after one to three changes; of text that a change cannot parse, another kind is made."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(_CHANGES)(content, chance)
    return content


def _json_value(content: bytes, chance: Random) -> bytes:
    """A value anywhere in one JSON line, or in the whole file, replaced, dropped or doubled."""
    lines = content.splitlines(keepends=True)
    at = chance.randrange(len(lines)) if lines else 0
    whole = chance.random() < 0.5
    try:
        value = json.loads(content if whole else lines[at])
    except (ValueError, IndexError, RecursionError):
        return _toml_value(content, chance)
    value = _replaced(value, chance)
    try:
        text = json.dumps(value, ensure_ascii=chance.random() < 0.7, indent=chance.choice((None, None, 1)))
    except (ValueError, RecursionError):
        return content
    made = text.encode("utf-8", "surrogatepass")
    return made if whole else b"".join([*lines[:at], made + b"\n", *lines[at + 1 :]])


def _replaced(value: Any, chance: Random) -> Any:
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return chance.choice(_VALUES)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        changed = ([_replaced(value[at], chance)], [], [value[at]] * 2)
        return value[:at] + chance.choices(changed, (8, 1, 1))[0] + value[at + 1 :]
    name = chance.choice(list(value))
    rest = {key: item for key, item in value.items() if key != name}
    how = chance.random()
    if how < 0.1:
        return rest
    if how < 0.2:
        return {**rest, chance.choice(("", "id", "_id", name + "x", name.upper(), "\n")): value[name]}
    return {key: _replaced(item, chance) if key == name else item for key, item in value.items()}


def _toml_value(content: bytes, chance: Random) -> bytes:
    """The value of one `name = value`, or the name of a section, replaced."""
    places = list(re.finditer(rb"(?m)^(\w+ *= *|\[+)(.*?)(\]*)$", content))
    if not places:
        return _cells(content, chance)
    found = chance.choice(places)
    return content[: found.start(2)] + chance.choice(_TOML).encode() + content[found.end(2) :]


def _lines(content: bytes, chance: Random) -> bytes:
    """A line doubled, dropped, emptied, joined with the next, or moved."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    at = chance.randrange(len(lines))
    line, to = lines.pop(at), chance.randrange(len(lines) + 1)
    new = chance.choice(([line, line], [], [b"\n"], [line.rstrip(b"\n")], [line[: len(line) // 2] + b"\n"]))
    to = to if chance.random() < 0.2 else at
    return b"".join([*lines[:to], *new, *lines[to:]])


def _cells(content: bytes, chance: Random) -> bytes:
    """A word of a line replaced, dropped or doubled."""
    words = re.split(rb"(\s)", content)
    at = chance.randrange(len(words))
    words[at] = chance.choice((b"", words[at] + b" " + words[at], chance.choice(_PIECES), words[at] + b"\t"))
    return b"".join(words)


def _bits(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8)) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(content: bytes, chance: Random) -> bytes:
    """The end, the beginning, or a part of the middle is lost."""
    at, to = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice((content[:at], content[at:], content[:at] + content[to:]))


def _inserted(content: bytes, chance: Random) -> bytes:
    at, n = chance.randrange(len(content) + 1), chance.choice((0, 1, 4))
    piece = chance.choice((chance.choice(_PIECES), chance.randbytes(8), content[at : at + 50]))
    return content[:at] + piece + content[at + n :]


_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_json_value,) * 4,
    *(_toml_value, _lines, _lines, _cells, _bits, _bits, _cut, _inserted, _inserted),
)
