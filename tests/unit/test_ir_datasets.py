"""Collections, topics and judgements of ir_datasets: the real package, with datasets registered here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seal_ir.errors import InputError, MissingPackageError, UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.collections.stored import StoredField
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_qrels, resolve_topics
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.__main__ import main as index_main
from seal_ir.index.reader import Index
from tests.helpers import tiny

NAME = "seal-ir-test/some"


class Paper(NamedTuple):
    doc_id: str
    title: str
    abstract: str
    year: int
    tags: list[str]

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


PAPERS = [Paper("p1", "Tea", "Of leaves.", 1900, ["plant"]), Paper("p2", "", "Of beans.", 1901, [])]


@pytest.fixture(scope="module", autouse=True)
def package() -> Any:
    """Three datasets under names of ours, made of the package's own parts."""
    package = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import BaseDocs, GenericQuery, TrecQrel
    from ir_datasets.formats.base import BaseQrels, BaseQueries

    class Docs(BaseDocs):
        def docs_iter(self) -> Iterator[Paper]:
            return iter(PAPERS)

        def docs_cls(self) -> type[Paper]:
            return Paper

    class BrokenDocs(Docs):
        def docs_iter(self) -> Iterator[Paper]:
            yield PAPERS[0]
            raise OSError("connection\nreset")

    class Queries(BaseQueries):
        def queries_iter(self) -> Iterator[Any]:
            return iter([GenericQuery("007", "what is tea"), GenericQuery("b", "who drinks it")])

        def queries_cls(self) -> Any:
            return GenericQuery

    class Qrels(BaseQrels):
        def qrels_iter(self) -> Iterator[Any]:
            return iter([TrecQrel("007", "p1", 2, "0"), TrecQrel("b", "p2", 0, "0")])

        def qrels_defs(self) -> dict[int, str]:
            return {}

    registry = package.registry
    if NAME not in registry:
        registry.register(NAME, package.Dataset(Docs(), Queries(), Qrels()))
        registry.register("seal-ir-test/broken", package.Dataset(BrokenDocs()))
        registry.register("seal-ir-test/queries", package.Dataset(Queries()))
    return package


def test_a_collection() -> None:
    found = [(one.id, one.title, one.text) for one in Collection(f"ir_datasets:{NAME}", None)]
    assert found == [("p1", "Tea", "Of leaves."), ("p2", "", "Of beans.")]
    options = ReadOptions(keep_raw=True, fields=("tags",), stored=(StoredField("year", "int"),))
    first, second = Collection("ir_datasets", Path(NAME), options)
    assert (first.further, first.stored) == ((("tags", "plant"),), (("year", 1900),))
    assert second.further == ()
    assert '"abstract":"Of leaves."' in (first.raw or "").replace(": ", ":")


def test_an_index_of_one(tmp_path: Path) -> None:
    model = str(tiny.save_tokenizer(tmp_path / "model"))
    words = ["--model", model, "--index", str(tmp_path / "index")]
    assert index_main(["--collection", f"ir_datasets:{NAME}", "--store", "year:int", *words]) == 0
    index = Index(tmp_path / "index")
    assert [one.id for one in index.documents([0, 1])] == ["p1", "p2"]
    assert index.manifest.collection["kind"] == "ir_datasets"
    with pytest.raises(UsageError, match="says what to read; leave out 'x'"):
        index_main(["--collection", f"ir_datasets:{NAME}", "--input", "x", *words])
    with pytest.raises(UsageError, match="--input is missing"):
        index_main(["--collection", "ir_datasets", *words])


def test_topics_and_judgements(tmp_path: Path) -> None:
    places = Places(None, tmp_path / "none", tmp_path / "cache")
    path = resolve_topics(f"ir_datasets:{NAME}", places)
    assert [tuple(one) for one in read_topics(path)] == [("007", "what is tea"), ("b", "who drinks it")]
    judged = resolve_qrels(f"ir_datasets:{NAME}", places)
    assert judged is not None
    assert read_qrels(judged) == {"007": {"p1": 2}, "b": {"p2": 0}}
    assert {path.parent, judged.parent} == {
        tmp_path / "cache" / kind / "ir_datasets" for kind in ("topics", "qrels")
    }
    assert resolve_answers(f"ir_datasets:{NAME}", places) is None
    assert resolve_qrels("ir_datasets:seal-ir-test/queries", places) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("seal-ir-test/none", "ir_datasets knows no such dataset"),
        ("seal-ir-test/queries", "this dataset has no docs"),
        ("seal-ir-test/broken", "ir_datasets cannot give it (connection reset)"),
    ],
)
def test_refusals(name: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        list(Collection(f"ir_datasets:{name}", None))
    assert str(error.value) == f"ir_datasets:{name}: {reason}"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingPackageError, match=r"\); pip install 'seal-ir\[ir-datasets\]'$"):
        Collection(f"ir_datasets:{NAME}", None)
