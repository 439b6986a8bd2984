"""JSON files hold no NaN and no infinity, for which JSON has no word."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seal_ir
from seal_ir.formats.collections.hub import read_dataset
from seal_ir.records import Document
from seal_ir.structured import json_file, json_line
from seal_ir.train.fit.result import write_report

SOURCES = sorted(Path(seal_ir.__file__).parent.rglob("*.py"))
ODD = [math.nan, math.inf, -math.inf]


def no_number(constant: str) -> Any:
    raise AssertionError(f"{constant} in JSON")


def read(text: str) -> Any:
    return json.loads(text, parse_constant=no_number)


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_number_becomes_null_wherever_it_stands(odd: float) -> None:
    value = {"a": odd, "b": [1.5, (odd, {"c": odd})], "d": "NaN", "e": 2**70}
    expected = {"a": None, "b": [1.5, [None, {"c": None}]], "d": "NaN", "e": 2**70}
    assert read(json_line(value)) == read(json_file(value)) == expected
    assert read(json_line(odd)) is None


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb", "\udcc3\udca9", "\udc00\ud800"])
def test_half_a_surrogate_pair_is_written_and_read_back(half: str) -> None:
    """As in records from elsewhere, whose escapes say so; pairs and other text stand as they are."""
    value = {half: [half, {"é\U0001f40b": half}]}
    for options in ({}, {"compact": True}, {"ascii_only": True}, {"indent": 1}):
        written = json_line(value, **options).encode()
        assert json.loads(written) == value
        assert options == {"ascii_only": True} or "é\U0001f40b".encode() in written


def test_sound_values_are_written_as_ever() -> None:
    value = {"b": "é", "a": [1, 0.1, None, True]}
    assert json_line(value) == json.dumps(value, ensure_ascii=False)
    assert json_line(value, ascii_only=True, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert json_file(value) == json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    assert json_line({"a": Path("x")}, default=str) == '{"a": "x"}'
    with pytest.raises(TypeError):
        json_line({"a": Path("x")})


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_i7_no_module_writes_json_that_may_hold_nan(path: Path) -> None:
    """By `json_text`, or with `allow_nan=False`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = (getattr(node.func.value, "id", ""), node.func.attr)
            if called in (("json", "dump"), ("json", "dumps")):
                said = {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords}
                assert said.get("allow_nan") is False, f"{path}:{node.lineno}"


def test_a_training_report_and_the_raw_record_of_a_dataset(tmp_path: Path) -> None:
    write_report(tmp_path, {"figures": {"loss": math.nan}})
    assert read((tmp_path / "training.json").read_text()) == {"figures": {"loss": None}}
    pq.write_table(pa.table({"id": ["1"], "text": ["x"], "score": [math.nan]}), tmp_path / "rows.parquet")
    ((_, document),) = read_dataset(tmp_path / "rows.parquet", keep_raw=True)
    assert isinstance(document, Document)
    assert read(document.raw or "") == {"id": "1", "text": "x", "score": None}
