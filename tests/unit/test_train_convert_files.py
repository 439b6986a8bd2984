"""Checkpoints that want something run, are damaged, or hold something else: one line, nothing left behind."""

from __future__ import annotations

import builtins
import collections
import os
import pickle
import random
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.convert.fairseq_reading import read_checkpoint
from seal_ir.errors import InputError
from tests.helpers import fairseq_bart
from tests.helpers.commands import Runner
from tests.helpers.converting import Refused

ROWS = fairseq_bart.n_tokens()


@pytest.fixture
def refused(call: Runner, tmp_path: Path) -> Refused:
    return Refused(call, tmp_path)


class Runs:
    """Unpickled, it would call something."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


class Stranger:
    """A class that only this test knows."""


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("place", ["args", "model", "cfg", "last_optimizer_state", "the whole", "in args"])
def test_a_pickle_that_would_run_something_is_refused(
    refused: Refused, tmp_path: Path, place: str, *, old: bool
) -> None:
    evil = Runs(os.system, f"touch {tmp_path / 'ran'}")
    content: Any = {"args": fairseq_bart.arguments(), "model": fairseq_bart.random_state(ROWS)}
    if place == "the whole":
        content = evil
    elif place == "in args":
        content["args"] = fairseq_bart.arguments(user_dir=evil)
    else:
        content[place] = evil
    torch.save(content, tmp_path / "model.pt", _use_new_zipfile_serialization=not old)
    refused(tmp_path / "model.pt", "model.pt: refused: it names", f"{os.system.__module__}.system")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Stranger(), "Stranger"),
        (Runs(builtins.eval, "1"), "eval"),
        (Runs(getattr, "x", "upper"), "getattr"),
        (Runs(torch.load, "x"), "torch.serialization.load"),
        (Path("x"), "pathlib"),
        (collections.deque(), "collections.deque"),
    ],
)
def test_a_class_or_function_that_is_not_allowed_is_named(
    refused: Refused, tmp_path: Path, value: object, name: str
) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", {}, fairseq_bart.arguments(user_dir=value))
    refused(path, "refused: it names", name, "only tensors, builtin values and argparse.Namespace")


def test_what_other_code_has_allowed_is_refused_all_the_same(refused: Refused, tmp_path: Path) -> None:
    before = torch.serialization.get_safe_globals()
    path = fairseq_bart.save(tmp_path / "model.pt", {}, fairseq_bart.arguments(user_dir=Stranger()))
    torch.serialization.add_safe_globals([Stranger])
    try:
        refused(path, "refused: it names", "Stranger")
        assert Stranger in torch.serialization.get_safe_globals()
        assert Namespace not in torch.serialization.get_safe_globals()
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


@pytest.mark.parametrize("value", [torch.zeros(2), torch.float16, torch.device("cpu"), bytearray(b"x")])
def test_settings_are_builtin_values_only(refused: Refused, tmp_path: Path, value: object) -> None:
    state = fairseq_bart.random_state(ROWS)
    path = fairseq_bart.save(tmp_path / "model.pt", state, fairseq_bart.arguments(lr=[{"deep": (value,)}]))
    refused(path, "refused: args.lr is a", type(value).__name__, "builtin values only")


def test_settings_that_hold_themselves_are_read(tmp_path: Path) -> None:
    args = fairseq_bart.arguments(inner=Namespace(values=[1, {2}, (3.0, None)]))
    args.inner.values.append(args.inner)
    read = read_checkpoint(fairseq_bart.save(tmp_path / "model.pt", {}, args))
    assert read.settings["encoder_layers"] == 2


def test_files_that_are_no_checkpoint(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    refused(path, "model.pt: cannot be opened: No such file")
    path.mkdir()
    refused(path, "model.pt: is a folder; name the checkpoint in it")
    path.rmdir()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4",
        b"PK\3\4" + bytes(100),
        b"\x80\x02",
        b"hello",
        bytes(5000),
        pickle.dumps({"model": {}}, protocol=4),
    ],
    ids=range(7),
)
def test_contents_that_are_no_checkpoint(refused: Refused, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    refused(path, "model.pt: truncated, damaged or no checkpoint")


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ([1], "a list"),
        ({"weights": {}}, "['weights']"),
        ({"model": [1]}, "['model']"),
        ({"model": {}}, "its settings (args) are None"),
        ({"model": {}, "args": [1]}, "its settings (args) are [1]"),
        ({"model": {}, "cfg": {"model": 3}}, "its settings (cfg['model']) are 3"),
        ({"model": {3: torch.zeros(1)}}, "named 3"),
        ({"model": {"a": 3}}, "model['a'] is a int; expected a tensor"),
        ({"model": {"a": torch.eye(2).to_sparse()}}, "model['a'] is no dense tensor"),
        ({"model": {"a": torch.zeros(2, device="meta")}}, "model['a'] is no dense tensor"),
        ({"model": {"a": torch.zeros(1).expand(9)}}, "model['a'] claims 9 values and holds fewer"),
    ],
)
def test_files_that_hold_something_else(refused: Refused, tmp_path: Path, content: object, seen: str) -> None:
    path = tmp_path / "model.pt"
    torch.save(content, path)
    refused(path, "model.pt: ", seen)


@pytest.mark.parametrize("old", [False, True])
def test_every_truncation_is_refused(tmp_path: Path, *, old: bool) -> None:
    path = tmp_path / "model.pt"
    content = {"args": fairseq_bart.arguments(), "model": {"a": torch.arange(100.0)}}
    torch.save(content, path, _use_new_zipfile_serialization=not old)
    whole = path.read_bytes()
    for n in [*range(0, len(whole), 37), len(whole) - 1]:
        path.write_bytes(whole[:n])
        with pytest.raises(InputError, match=r"truncated, damaged or|it names \w*\.,") as error:
            read_checkpoint(path)
        assert "\n" not in str(error.value)


def test_damage_is_refused_or_is_in_a_value(tmp_path: Path) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", {"a": torch.arange(100.0)})
    whole, source, n_refused = path.read_bytes(), random.Random(5), 0
    for _ in range(150):
        data = bytearray(whole)
        data[source.randrange(len(data))] = source.randrange(256)
        path.write_bytes(data)
        try:
            read_checkpoint(path)
        except InputError as error:
            assert "\n" not in str(error)
            n_refused += 1
    assert n_refused > 20
