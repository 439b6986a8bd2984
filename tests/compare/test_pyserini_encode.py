"""The interface of the installed Pyserini's encoders, read from its source: quicker than importing it."""

from __future__ import annotations

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.encode.options import GROUPS, REFUSED, parse
from seal_ir.errors import UsageError

SPEC = find_spec("pyserini")
pytestmark = pytest.mark.skipif(SPEC is None, reason="pyserini is not installed (extra `pyserini`)")
VALUES = {"--fields": ["text"], "--encoder-class": ["seal"], "--shard-id": ["0"], "--shard-num": ["1"]}
FLAGS = {"--fp16"}


def source(name: str) -> ast.Module:
    """A module of pyserini.encode."""
    assert SPEC is not None
    assert SPEC.submodule_search_locations
    path = Path(SPEC.submodule_search_locations[0]) / "encode" / name
    return ast.parse(path.read_text(encoding="utf-8"))


def options() -> dict[str, list[str]]:
    """Pyserini's options by group: calls of `GROUP_parser.add_argument`."""
    found: dict[str, list[str]] = {name: [] for name in GROUPS}
    for node in ast.walk(source("__main__.py")):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            assert isinstance(node.func.value, ast.Name)
            assert isinstance(node.args[0], ast.Constant)
            found[node.func.value.id.removesuffix("_parser")].append(str(node.args[0].value))
    return found


def test_every_option_is_taken_or_refused_with_a_reason() -> None:
    theirs = options()
    assert {"--corpus", "--shard-id"} <= set(theirs["input"])
    assert {"--embeddings", "--to-faiss"} <= set(theirs["output"])
    assert {"--encoder", "--batch-size", "--pooling"} <= set(theirs["encoder"])
    for group, names in theirs.items():
        for option in names:
            line = {"input": ["--corpus", "c"], "output": ["--embeddings", "e"], "encoder": []}
            line[group] = [*line[group], option, *([] if option in FLAGS else VALUES.get(option, ["1"]))]
            words = [word for name, rest in line.items() for word in (name, *rest)]
            if option in REFUSED[group]:
                n_values = REFUSED[group][option][0]
                words = words if n_values else [word for word in words if word != "1"]
                with pytest.raises(UsageError, match=f"{option} does not apply"):
                    parse(words)
            else:
                assert parse(words)


def test_the_encoder_has_pyserinis_methods() -> None:
    (theirs,) = (
        node
        for node in source("_base.py").body
        if isinstance(node, ast.ClassDef) and node.name == "QueryEncoder"
    )
    methods = {
        node.name: [arg.arg for arg in node.args.args]
        for node in theirs.body
        if isinstance(node, ast.FunctionDef)
    }
    public = [name for name in methods if not name.startswith("_")]
    assert set(public) >= {"encode", "load_encoded_queries"}
    for name in public:
        method = inspect.getattr_static(SealQueryEncoder, name)
        function = method.__func__ if isinstance(method, classmethod) else method
        assert list(inspect.signature(function).parameters) == methods[name]
    assert set(methods["__init__"]) <= set(inspect.signature(SealQueryEncoder.__init__).parameters)
    attributes = {
        node.attr
        for node in ast.walk(theirs)
        if isinstance(node, ast.Attribute) and node.attr.startswith("has_")
    }
    assert attributes == {"has_model", "has_encoded_query"}
