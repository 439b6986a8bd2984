"""Registered indexes that are not there: built when asked for, after saying what and how large."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from seal_ir.errors import ModelError, SealError, UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.index import making
from seal_ir.index.making import asked_index, asked_index_for
from seal_ir.index.reader import Index
from seal_ir.index.registry import IndexEntry, registered
from seal_ir.search.__main__ import main as search
from seal_ir.search.searcher import SealSearcher
from seal_ir.text import pretrained
from seal_ir.text.pretrained import DEFAULT_MODEL
from tests.helpers import tiny
from tests.helpers.commands import Runner

TOML = """
[[index]]
name = "foreign"
description = "made elsewhere"
topics = ["far"]
build = "make foreign"

[[index]]
name = "large"
description = "all of it"
topics = ["mine", "far"]
build = "python -m seal_ir.index --model {model} --input $SEAL_IR_DATA/corpus.jsonl --index {{index}}"
n_bytes = 12_300_000

[[index]]
name = "small"
description = "two passages"
topics = ["own"]
build = "python -m seal_ir.index --model {model} --input {{collections}}/own/corpus.jsonl --index {{index}}"
"""
PLACE = " (SEAL_IR_DATA is not set: name the folder there)"
RECORDS = '{"id": "a", "contents": "a b c"}\n{"id": "b", "contents": "c b a"}\n'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A registry, with the documents that its indexes are built of; paths with spaces."""
    model = tiny.save_tokenizer(tmp_path / "model")
    collections, data = tmp_path / "the collections", tmp_path / "the data"
    (collections / "own").mkdir(parents=True)
    data.mkdir()
    (collections / "indexes.toml").write_text(TOML.format(model=model), encoding="utf-8")
    for folder in (collections / "own", data):
        (folder / "corpus.jsonl").write_text(RECORDS, encoding="utf-8")
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "my cache"))
    return Places(data, collections, tmp_path / "my cache")


def test_what_comes_with_the_package_is_built_at_once(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = places.cache / "indexes" / "small"
    assert asked_index_for("own", places).directory == directory
    assert Index(directory).n_documents == 2
    out, err = capsys.readouterr()
    assert out == ""  # where a run may go
    assert err.startswith(f"index small is not built: two passages, in {directory}\n")
    assert asked_index("small", places) == directory
    assert asked_index_for("own", places).present
    assert capsys.readouterr() == ("", "")


def test_a_large_one_is_built_when_that_is_agreed(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    both = r"'mine' is built; build one with: python -m .*; --yes makes large: all of it, about 12.3 MB$"
    with pytest.raises(UsageError, match=both):
        asked_index_for("mine", places)
    told = r"index 'large' is not built; build it with: python -m .*, or agree with --yes"
    with pytest.raises(UsageError, match=told):
        asked_index("large", places)
    directory = places.cache / "indexes" / "large"
    assert not directory.exists()
    assert f"all of it, about 12.3 MB, in {directory}\n" in capsys.readouterr().err
    assert asked_index_for("mine", places, yes=True).name == "large"
    assert Index(directory).n_documents == 2


@pytest.mark.parametrize(("answer", "built"), [("y\n", True), ("n\n", False), ("", False)])
def test_a_terminal_is_asked(
    places: Places, monkeypatch: pytest.MonkeyPatch, answer: str, built: bool
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown)
    if built:
        assert asked_index_for("mine", places).present
    else:
        with pytest.raises(UsageError, match="index 'large' was not built"):
            asked_index_for("mine", places)
    assert "all of it, about 12.3 MB" in shown.getvalue()
    assert "build it? [y/N] " in shown.getvalue()
    assert (places.cache / "indexes" / "large").exists() == built


def test_what_cannot_be_built_here_is_told(places: Places) -> None:
    homeless = Places(None, places.collections, places.cache)
    for yes in (False, True):
        with pytest.raises(UsageError, match=r"build it with: make foreign$"):
            asked_index("foreign", places, yes)
        with pytest.raises(
            UsageError, match=r"index 'large' .* \(SEAL_IR_DATA is not set: name the folder there\)"
        ):
            asked_index("large", homeless, yes)
        with pytest.raises(UsageError, match=r"build one with: make foreign; or python -m seal_ir.index"):
            asked_index_for("far", homeless, yes)
    assert asked_index_for("far", places, yes=True).name == "large"  # the first that can be


def test_why_it_cannot_be_built_is_told_only_where_it_is_so(places: Places) -> None:
    homeless = Places(None, places.collections, places.cache)
    with pytest.raises(UsageError) as error:
        asked_index("foreign", homeless)
    assert str(error.value) == "index 'foreign' is not built; build it with: make foreign"
    with pytest.raises(UsageError) as error:
        asked_index("large", homeless)
    build = registered(homeless)[1].build
    assert str(error.value) == f"index 'large' is not built; build it with: {build}{PLACE}"


@pytest.mark.parametrize("yes", [False, True])
def test_what_is_published_is_downloaded(places: Places, monkeypatch: pytest.MonkeyPatch, yes: bool) -> None:
    registry = places.collections / "indexes.toml"
    table = (
        f'[index.download]\nurl = "https://example.org/a.tar"\nsha256 = "{"ab" * 32}"\nn_bytes = 5_000_000\n'
    )
    with registry.open("a", encoding="utf-8") as file:
        file.write(f'[[index]]\nname = "far"\ndescription = "off"\ntopics = ["off"]\nbuild = "make"\n{table}')
    seen: list[tuple[str, bool]] = []

    def downloaded(entry: IndexEntry, agreed: bool) -> Path:
        seen.append((entry.name, agreed))
        return entry.directory

    monkeypatch.setattr(making, "downloaded", downloaded)
    assert asked_index("far", places, yes) == places.cache / "indexes" / "far"
    assert seen == [("far", yes)]
    if not yes:
        with pytest.raises(UsageError, match=r"--yes makes far: off, about 5\.0 MB$"):
            asked_index_for("off", places)


def test_the_model_of_the_registry_is_asked_for_and_the_build_tells_its_steps_beside_the_results(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(making, "ensure_weights", lambda model, yes: seen.append((model, yes)))
    asked_index("small", places)
    ((model, yes),) = seen
    assert Path(model).name == "model"
    assert not yes
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 documents" in err


@pytest.mark.parametrize("closed", ["stdin", "stderr"])
def test_without_a_terminal_on_both_sides_nobody_is_asked(
    places: Places, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{name}", Terminal("y\n"))
    for stream in (None, io.StringIO()):
        monkeypatch.setattr(f"sys.{closed}", stream)
        with pytest.raises(UsageError, match="--yes makes large"):
            asked_index_for("mine", places)


def test_documents_that_are_missing_are_told_and_nothing_is_left(places: Places) -> None:
    (places.collections / "own" / "corpus.jsonl").unlink()
    with pytest.raises(SealError, match=r"corpus.jsonl: "):
        asked_index("small", places)
    assert not (places.cache / "indexes" / "small").exists()


def test_other_names_are_as_before(places: Places, tiny_index: Path) -> None:
    assert asked_index(str(tiny_index), places) == tiny_index
    with pytest.raises(UsageError, match="medium: neither an index directory nor a registered index"):
        asked_index("medium", places, yes=True)
    with pytest.raises(UsageError, match="no registered index serves topics 'none'"):
        asked_index_for("none", places, yes=True)


def test_the_weights_are_asked_for_before_the_documents_are_read(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = places.collections / "indexes.toml"
    registry.write_text(
        TOML.replace("--model {model} ", "").replace("{{", "{").replace("}}", "}"), encoding="utf-8"
    )
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    with pytest.raises(
        ModelError, match=r"fetch them with python -m seal_ir.models fetch, or agree with --yes"
    ):
        asked_index("small", places)
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(making, "ensure_weights", lambda model, yes: seen.append((model, yes)))
    with pytest.raises(ModelError):
        asked_index("small", places, yes=True)
    assert seen == [(DEFAULT_MODEL, True)]


@pytest.fixture
def small_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, where the demo index is built with the tokenizer of a small model."""
    monkeypatch.setattr(making, "ensure_weights", lambda model, yes: None)
    model = tiny.save_tokenizer(tmp_path / "model")
    words = making._words
    monkeypatch.setattr(making, "_words", lambda *args: [*words(*args), "--model", str(model)])
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "indexes" / "demo"


@pytest.mark.usefixtures("stubbed")
def test_a_first_search_builds_the_demo_index_of_this_package(
    small_demo: Path, call: Runner, tmp_path: Path
) -> None:
    run = tmp_path / "run.trec"
    result = call(search, "--topics", "demo", "--output", run, "--hits", 1, "--beam", 1, "--preset", "lm")
    assert (result.code, result.out) == (0, f"{run}\n"), result.err
    assert (
        f"index demo is not built: 157 passages written for this project, about 1.9 MB, in {small_demo}\n"
        in (result.err)
    )
    assert Index(small_demo).n_documents == 157
    assert len(run.read_text(encoding="utf-8").splitlines()) > 50


def test_a_prebuilt_index_that_comes_with_this_package_is_built(small_demo: Path) -> None:
    assert SealSearcher.from_prebuilt_index("demo").num_docs == 157
    assert Index(small_demo).n_documents == 157
