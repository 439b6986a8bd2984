"""`python -m seal_ir.explain`: hits with their keys, one document, a fusion; as text, JSON and a page."""

from __future__ import annotations

import builtins
import json
import operator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from seal_ir.explain.__main__ import main
from seal_ir.search.__main__ import main as search
from seal_ir.search.fused import fused_hits
from seal_ir.search.fusion import Fusion, fuse_all
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault

QUERY = "what is the capital of Japan"
pytestmark = pytest.mark.usefixtures("stubbed")


class Explain:
    """Calls the command on the tiny index."""

    def __init__(self, call: Runner, index: Path) -> None:
        self._call, self._index = call, index

    def __call__(self, *arguments: object, query: str = QUERY) -> Result:
        return self._call(main, "--query", query, "--index", self._index, "--preset", "paper", *arguments)

    def json(self, *arguments: object) -> Any:
        result = self(*arguments, "--json")
        assert result.code == 0, result.err
        return json.loads(result.out)


@pytest.fixture
def explain(call: Runner, tiny_index: Path) -> Explain:
    return Explain(call, tiny_index)


@pytest.fixture
def searcher(tiny_index: Path) -> SealSearcher:
    return SealSearcher(tiny_index, tiny.generator(), preset="paper")


def test_hits_as_json_are_those_of_a_search(explain: Explain, searcher: SealSearcher) -> None:
    values = explain.json("--hits", 3)
    hits = searcher.search(QUERY, k=3)
    assert (values["version"], values["query"], values["preset"]) == (1, QUERY, "paper")
    assert [(v["rank"], v["docid"], v["score"], v["contents"]) for v in values["hits"]] == [
        (n, hit.docid, hit.score, hit.contents) for n, hit in enumerate(hits, 1)
    ]
    assert [v["keys"] for v in values["hits"]] == [
        json.loads(json.dumps([key.to_dict() for key in hit.keys])) for hit in hits
    ]
    assert values["decoding"] is None


def test_a_document_as_json_is_its_explanation(explain: Explain, searcher: SealSearcher) -> None:
    for docid, k in (("d4", 10), ("d2", 1), ("nope", 10)):
        found = searcher.explain(QUERY, docid, k).to_dict()
        assert explain.json("--docid", docid, "--hits", k) == json.loads(json.dumps(found))
    assert explain.json("--docid", "d4", "--decoding")["decoding"]["kinds"]


def test_text_says_what_json_does(explain: Explain, searcher: SealSearcher) -> None:
    result = explain("--hits", 2)
    assert result.code == 0
    hits = searcher.search(QUERY, k=2)
    for number, hit in enumerate(hits, 1):
        assert f"{number}. {hit.docid}  {hit.score:.4f}" in result.out
    assert hits[0].snippet(before="", after="").replace("\n", " ") in result.out
    assert "step 1" in explain("--decoding").out
    text = explain("--docid", "d2", "--hits", 1).out
    assert "d2" in text
    assert "beyond_k: rank" in text
    assert "not held:" in text
    assert "unknown: " in explain("--docid", "nope").out
    assert explain(query="  ").out == "no hits\n"
    assert (hits[0].contents or "") in explain("--hits", 1, "--full").out


def test_text_is_the_same_without_rich(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    coloured = explain("--hits", 3)
    plain_import = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return plain_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    plain = explain("--hits", 3)
    assert plain.code == 0
    assert plain.out == coloured.out


def test_a_terminal_gets_colours(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;33m" in explain("--hits", 1).out


def test_what_documents_hold_moves_no_terminal(call: Runner, tmp_path: Path) -> None:
    documents = [tiny.DOCUMENTS[0]._replace(id="\x1b[2J", text="the capital \x1b[31m of Japan [bold]x[/]")]
    tiny.build(tmp_path / "index", documents)
    for more in ((), ("--docid", "\x1b[2J"), ("--full",)):
        result = Explain(call, tmp_path / "index")(*more)
        assert result.code == 0
        assert "\x1b" not in result.out
        assert "[bold]x[/]" in result.out


def test_a_page(explain: Explain, tmp_path: Path) -> None:
    page = tmp_path / "new" / "out.html"
    result = explain("--html", page, "--decoding", query="<b>Japan</b> & capital")
    assert result.out == f"{page}\n"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "&lt;b&gt;Japan&lt;/b&gt; &amp; capital" in text
    assert "<b>Japan" not in text
    assert "<mark" in text
    assert "http" not in text
    assert "<script" not in text
    assert sorted(path.name for path in page.parent.iterdir()) == ["out.html"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--fusion", "interpolation", "--alpha", 0.3]],
)
def test_a_fused_hit_has_both_parts(
    explain: Explain, call: Runner, tiny_index: Path, tmp_path: Path, arguments: list[object]
) -> None:
    other = tmp_path / "other.trec"
    other.write_text("1 Q0 d5 1 8.5 x\n1 Q0 d4 2 7.5 x\n1 Q0 d6 3 1.25 x\n", encoding="utf-8")
    fusing = ["--fuse", other, *arguments]
    values = explain.json("--hits", 4, *fusing)
    (tmp_path / "topics.tsv").write_text(f"1\t{QUERY}\n", encoding="utf-8")
    usual = ["--topics", tmp_path / "topics.tsv", "--index", tiny_index, "--output", tmp_path / "run.trec"]
    assert call(search, *usual, "--preset", "paper", "--hits", 4, *fusing).code == 0
    run = [line.split() for line in (tmp_path / "run.trec").read_text(encoding="utf-8").splitlines()]
    assert [hit["docid"] for hit in values["hits"]] == [row[2] for row in run]
    for hit in values["hits"]:
        assert [part["system"] for part in hit["parts"]] == ["seal", "other"]
        assert reduce(operator.add, [part["contribution"] for part in hit["parts"]], 0.0) == hit["score"]
        assert bool(hit["keys"]) == (hit["parts"][0]["rank"] is not None)
        assert all((part["rank"] is None) == (part["score"] is None) for part in hit["parts"])
    assert "= seal" in explain("--hits", 4, *fusing).out
    assert "other" in explain("--hits", 4, *fusing).out


def test_parts_of_a_fusion_are_cut_at_its_depth(searcher: SealSearcher) -> None:
    hits = searcher.search(QUERY, k=5)
    entries = [("d5", 3.0), (hits[0].docid, 2.0), ("x", 1.0)]
    fusion = Fusion(depth=2)
    found = fused_hits(hits, {"bm25": entries}, fusion, 10)
    expected = fuse_all([[(hit.docid, hit.score) for hit in hits[:2]], entries[:2]], fusion)
    assert [(hit.docid, hit.score) for hit in found] == expected
    for hit in found:
        assert (hit.hit is not None) == (hit.docid in {known.docid for known in hits[:2]})


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--hits", 0], 2, "--hits is 0"),
        (["--docid", "d1", "--fuse", "bm25"], 2, "leave --fuse out"),
        (["--alpha", 0.5], 2, "--alpha needs --fuse"),
        (["--filter", "nothing-there"], 2, "no such file"),
        (["--filter-counts", "filter"], 2, "--filter-counts needs --filter"),
        (["--index", "nothing-there"], 2, "nothing-there"),
    ],
)
def test_faults_are_one_line(explain: Explain, arguments: list[object], code: int, said: str) -> None:
    assert_fault(explain(*arguments), code, said)


def test_a_page_that_cannot_be_written_leaves_nothing(explain: Explain, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    result = explain("--html", tmp_path / "file" / "out.html")
    assert_fault(result, 2, "out.html")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_within_a_filter(explain: Explain, tmp_path: Path) -> None:
    ids = tmp_path / "ids"
    ids.write_text("d1\nd2\n", encoding="utf-8")
    assert {hit["docid"] for hit in explain.json("--filter", ids)["hits"]} <= {"d1", "d2"}
    assert explain.json("--filter", ids, "--docid", "d4")["status"] == "outside_filter"
