"""Options of all commands: defaults that the help shows, numbers that are capped, Pyserini's own options."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import seal_ir
from seal_ir import command as shared
from seal_ir.__main__ import COMMANDS
from seal_ir.__main__ import main as list_commands
from seal_ir.command import Foreign
from seal_ir.encode.options import GROUPS
from seal_ir.errors import UsageError
from seal_ir.index import __main__ as index
from seal_ir.index import pyserini_options as of_index
from seal_ir.search import options as search
from seal_ir.search import pyserini_options as of_search
from tests.helpers.commands import Runner, assert_fault, spawn

PACKAGE = Path(seal_ir.__file__).parent
OLD_NAMES = {"baselines": "reproduce", "formats": "convert"}  # of commands, kept for one release
SHOWN = [*COMMANDS, *(f"encode {group}" for group in GROUPS)]


def parser_of(command: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser whose help `python -m seal_ir.COMMAND --help` prints."""
    found: list[argparse.ArgumentParser] = []
    name, *words = command.split()
    with monkeypatch.context() as patched:
        patched.setattr(shared.CommandParser, "print_help", lambda self: found.append(self))
        try:
            module = importlib.import_module(f"seal_ir.{name}.__main__")
        except ModuleNotFoundError:
            module = importlib.import_module(f"seal_ir.{name}")
        with pytest.raises(SystemExit):
            module.main([*words, "--help"])
    return found[0]


def test_i20_every_command_is_listed(call: Runner) -> None:
    folders = [path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__main__.py")]
    modules = {".".join(folder.parts) for folder in folders} - {"", *OLD_NAMES}
    assert modules | {"pyserini_plugin"} == {name.split()[0] for name in COMMANDS}
    result = call(list_commands)
    assert result.code == 0
    lines = result.out.splitlines()
    for name, told in COMMANDS.items():
        assert sum(line.split() == [*name.split(), *told.split()] for line in lines) == 1, name
    assert max(map(len, lines)) < 100


@pytest.mark.slow
@pytest.mark.parametrize("old", OLD_NAMES)
def test_a_renamed_command_keeps_its_old_name_with_one_line_of_notice(old: str) -> None:
    """The same help, the same end, and the new name on stderr."""
    new = OLD_NAMES[old]
    results = [spawn(f"seal_ir.{name}", "--help") for name in (old, new)]
    assert [result.code for result in results] == [0, 0]
    assert results[0].out == results[1].out
    assert results[0].err == (
        f"python -m seal_ir.{old} is now python -m seal_ir.{new}; the old name goes with 0.3\n"
    )


@pytest.mark.parametrize(
    ("word", "told"), [("search", "write python -m seal_ir.search, with a dot"), ("serach", "no command")]
)
def test_i20_a_word_after_the_package_is_explained(call: Runner, word: str, told: str) -> None:
    assert_fault(call(list_commands, word, "--hits", 3), 2, told)


@pytest.mark.parametrize("command", SHOWN)
def test_i20_every_default_is_in_the_help(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = parser_of(command, monkeypatch)
    printed = re.sub(r"\s+", "", parser.format_help())
    n_defaults = 0
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if action.option_strings:
            assert action.help, f"{action.option_strings} has no help"
        if action.default in (None, False, argparse.SUPPRESS, []) or not action.option_strings:
            continue
        values = action.default if isinstance(action.default, list) else [action.default]
        text = parser._get_formatter()._expand_help(action)
        assert re.sub(r"\s+", "", text) in printed
        for value in values:
            assert str(value) in text, (action.option_strings, text)
        n_defaults += 1
    without = ("pyserini_plugin", "baselines.gensim", "convert", "encode output", "doctor", "models")
    assert n_defaults or command.startswith(without) or command == "encode"


def test_i20_a_default_is_added_where_the_help_does_not_say_it() -> None:
    parser = shared.CommandParser(prog="x")
    parser.add_argument("--share", default="5%", help="of all")
    parser.add_argument("--kinds", nargs="+", default=["a", "b"], help="which")
    parser.add_argument("--said", default=3, help="3 by default: %(default)s")
    parser.add_argument("--flag", action="store_true", help="or not")
    parser.add_argument("--none", help="nothing")
    text = re.sub(r"\s+", " ", parser.format_help())
    for told in ("of all (5%)", "which (a b)", "3 by default: 3", "or not --", "nothing"):
        assert told in text


@pytest.mark.parametrize("command", ["search", "train fit", "train data", "index", "eval", "encode encoder"])
def test_i20_long_helps_have_groups(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = parser_of(command, monkeypatch)
    sizes = {}
    for group in parser._action_groups:
        seen = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        sizes[group.title] = len(seen)
    assert sum(size > 0 for size in sizes.values()) >= 3, sizes
    assert max(sizes.values()) <= 10, sizes


@pytest.mark.parametrize("option", ["--threads", "--batch-size"])
def test_j9_a_number_beyond_all_use_is_capped_with_a_line(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    most = shared.most_threads() if option == "--threads" else shared.MOST_QUERIES
    needed = ["--topics", "x", "--output", "y"]
    args = search.parsed([*needed, option, str(most)])
    assert capsys.readouterr().err == ""
    args = search.parsed([*needed, option, "100000"])
    assert vars(args)[option[2:].replace("-", "_")] == most
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{option} is 100000; going on with {most}, ")
    with pytest.raises(UsageError, match=f"^{option} is 0; it must be at least 1$"):
        search.parsed([*needed, option, "0"])
    with pytest.raises(SystemExit):
        search.parsed([*needed, option, "many"])
    assert "invalid int value" in capsys.readouterr().err


@pytest.mark.parametrize("command", SHOWN)
def test_j9_every_number_of_threads_and_every_batch_is_capped(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for action in parser_of(command, monkeypatch)._actions:
        if {"--threads", "--batch-size"} & set(action.option_strings):
            assert callable(action.type)
            assert action.type("100000") <= max(shared.most_threads(), shared.MOST_QUERIES)
            assert "is 100000; going on with" in capsys.readouterr().err


MODELS = ("search", "encode encoder", "train fit", "train convert", "index", "baselines")
MODELS += tuple(f"baselines.{name}" for name in ("dense", "expansions", "pseudo_queries", "bm25", "gar"))


@pytest.mark.parametrize("command", MODELS)
def test_i9_every_command_that_runs_a_model_has_threads(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(sys.modules["seal_ir.processes"], "usable_cores", lambda: 4)
    actions = parser_of(command, monkeypatch)._actions
    (threads,) = (action for action in actions if "--threads" in action.option_strings)
    assert threads.default == 3


def test_i9_commands_let_openmps_threads_sleep(call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for policy, expected in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        if policy:
            monkeypatch.setenv("OMP_WAIT_POLICY", policy)
        assert call(list_commands).code == 0
        assert os.environ["OMP_WAIT_POLICY"] == expected


RUN_MODELS = {
    "baselines.expansions": ["--topics", "{topics}", "--output", "{tmp}/x", "--model", "{llama}"],
    "search": [
        "--topics",
        "{topics}",
        "--index",
        "{index}",
        "--output",
        "{tmp}/x.trec",
        "--model",
        "{llama}",
    ],
    "encode": [
        *("input", "--corpus", "{topics}", "output", "--embeddings", "{tmp}/x.jsonl"),
        *("encoder", "--index", "{index}", "--encoder", "{llama}"),
    ],
}


@pytest.mark.parametrize("command", RUN_MODELS)
def test_i9_a_model_runs_on_the_threads_that_were_given(
    command: str, call: Runner, tiny_index: Path, llama: Path, tmp_path: Path
) -> None:
    import torch

    (tmp_path / "topics.tsv").write_text("1\twhere does a whale live\n", encoding="utf-8")
    places = {"topics": tmp_path / "topics.tsv", "index": tiny_index, "tmp": tmp_path, "llama": llama}
    words = [word.format(**places) for word in RUN_MODELS[command]]
    main = importlib.import_module(f"seal_ir.{command}.__main__").main
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        done = call(main, *words, "--device", "cpu", "--threads", 2)
        assert done.code == 0, done.err
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# Pyserini's options

COMMANDS_OF: dict[str, tuple[argparse.ArgumentParser, Foreign, Foreign, list[str]]] = {
    "index": (index._parser(), of_index.IGNORED, of_index.REFUSED, ["--index", "x", "--input", "y"]),
    "search": (search.parser(), of_search.IGNORED, of_search.REFUSED, ["--topics", "x", "--output", "y"]),
}
FOREIGN = [
    (name, option, kind)
    for name, (_, ignored, refused, _) in COMMANDS_OF.items()
    for kind, table in (("ignored", ignored), ("refused", refused))
    for option in table
]


@pytest.mark.parametrize(("name", "option", "kind"), FOREIGN)
def test_i15_each_option_of_pyserinis_gets_a_sentence(
    name: str, option: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, ignored, refused, needed = COMMANDS_OF[name]
    n_values, why = (ignored if kind == "ignored" else refused)[option]
    line = [*needed, option, *(["1"] if n_values else [])]
    if kind == "ignored":
        assert parser.parse_args(line) == parser.parse_args(needed)
        assert capsys.readouterr().err == f"{option} is ignored: {why}\n"
    else:
        with pytest.raises(UsageError, match=f"^{re.escape(option)} does not apply: {re.escape(why)}$"):
            parser.parse_args(line)
    assert re.search(rf"{re.escape(option)}(?![\w-])", parser.format_help()) is None


@pytest.mark.parametrize(
    ("name", "module"),
    [("search", f"pyserini/search/{kind}/__main__.py") for kind in ("lucene", "faiss", "hybrid")]
    + [("index", "jar")],
)
def test_i15_all_options_of_the_installed_pyserini_are_known(name: str, module: str) -> None:
    spec = find_spec("pyserini")
    if spec is None or spec.origin is None:
        pytest.skip("needs Pyserini")
    folder = Path(spec.origin).parent
    if module == "jar":
        (jar,) = (folder / "resources" / "jars").glob("anserini-*-fatjar.jar")
        with zipfile.ZipFile(jar) as archive:
            names = [
                f"io/anserini/index/{kind}$Args.class" for kind in ("IndexCollection", "AbstractIndexer")
            ]
            classes = b"".join(archive.read(name) for name in names)
        # Strings of a class file have their length, two bytes, before them.
        words = re.findall(rb"\x01\x00(.)(-[a-z][A-Za-z0-9.]+)", classes, re.DOTALL)
        theirs = {f"-{word.decode()}" for length, word in words if length[0] == len(word)}
    else:
        text = (folder.parent / module).read_text(encoding="utf-8")
        theirs = set(re.findall(r"""add_argument\(\s*["'](--[\w.-]+)["']""", text))
    assert len(theirs) > 5
    ours = set(COMMANDS_OF[name][0]._option_string_actions)
    assert not theirs - ours


@pytest.mark.parametrize("command", ["index", "search", "server"])
def test_the_page_of_a_command_names_every_option(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (PACKAGE.parent / "docs" / f"{command}.md").read_text(encoding="utf-8")
    actions = [a for a in parser_of(command, monkeypatch)._actions if a.help != argparse.SUPPRESS]
    names = {name for action in actions for name in action.option_strings}
    long = {name for name in names if name.startswith("--")} - {"--help", "--version"}
    assert not [name for name in long if f"`{name}" not in page]
