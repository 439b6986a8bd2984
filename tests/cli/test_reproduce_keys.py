"""Tables of keys: what the model wrote and what it weighs in the best document, from key files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.formats.io.resolve import Places
from seal_ir.records import BODY, Query
from seal_ir.reproduce.__main__ import main
from seal_ir.reproduce.explained import Explained, KeyShare, as_markdown
from seal_ir.reproduce.reading import read_spec
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.tables import row

QUESTIONS = {"a": "the highest mountain on Earth", "b": "which river flows through London | `x`"}
PRESETS = ("lm", "lm-fm", "paper")
HEAD = (
    'title = "Keys"\nindex = "{here}/index"\nkeys = 2\n[[topics]]\nname = "two"\ntopics = "{here}/two.tsv"\n'
)
ENCODE = '''[[step]]
command = """-m tests.helpers.stubbed_encode input --corpus {topics} output --embeddings {out}/keys.jsonl
 encoder --index {here}/index --preset intersective"""
makes = ["{out}/keys.jsonl"]
'''
ROWS = "".join(row(f"SEAL {name}", f'run = "keys.jsonl"\npreset = "{name}"') for name in PRESETS)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    """Runs the command in this process; its steps are processes of their own, and import tests."""
    monkeypatch.chdir(ROOT)
    return Runner(monkeypatch, capfd)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    tiny.build(tmp_path / "index")
    lines = "".join(f"{qid}\t{text}\n" for qid, text in QUESTIONS.items())
    (tmp_path / "two.tsv").write_text(lines, encoding="utf-8")
    return tmp_path / "index"


def arguments(tmp_path: Path, text: str, *more: object) -> list[object]:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    return ["--table", path, "--output", tmp_path / "results", *more]


def test_c14_the_best_documents_and_what_their_scores_are_made_of(
    call: Runner, tmp_path: Path, index: Path
) -> None:
    done = call(main, *arguments(tmp_path, HEAD + ENCODE + ROWS))
    assert done.code == 0, done.err
    results = tmp_path / "results"
    assert sorted(path.name for path in results.iterdir()) == ["keys", "keys.json", "keys.md", "keys.txt"]
    assert (results / "keys.txt").read_text(encoding="utf-8") == done.out
    rows = json.loads((results / "keys.json").read_text(encoding="utf-8"))["rows"]
    assert [(found["qid"], found["system"]) for found in rows] == [
        (qid, f"SEAL {name}") for qid in QUESTIONS for name in PRESETS
    ]
    for found in rows:
        searcher = SealSearcher(index, tiny.generator(), preset=found["system"].removeprefix("SEAL "))
        (hit,) = searcher.search(found["question"], k=1)  # the model itself, without stored keys
        assert found["docid"] == hit.docid
        assert found["score"] == pytest.approx(hit.score, rel=1e-4)
        assert sum(key["share"] for key in found["keys"]) == pytest.approx(found["score"])
        for key in found["keys"]:
            assert key["ngram"].removeprefix("<title>").removesuffix("</title>").strip() in hit.contents
            assert (key["logprob"] < 0, key["count"] >= 1) == (True, True)
        shares = [key["share"] for key in found["keys"]]
        assert shares == sorted(shares, reverse=True)
    assert len(rows[2]["keys"]) > 2


def test_text_and_markdown_show_the_first_keys(call: Runner, tmp_path: Path, index: Path) -> None:
    text = call(main, *arguments(tmp_path, HEAD + ENCODE + ROWS)).out
    rows = json.loads((tmp_path / "results" / "keys.json").read_text(encoding="utf-8"))["rows"]
    last = rows[2]
    assert text.startswith("Keys\n\na: the highest mountain on Earth\n\nSEAL lm: ")
    heading = (
        f"SEAL paper: {last['docid']}, score {last['score']:.2f}, the first 2 of {len(last['keys'])} keys\n"
    )
    titled = heading.replace(",", f" ({last['title']}),", 1) if last["title"] else heading
    block = text.partition(titled)[2].split("\n\n")[0].splitlines()
    assert block[0].split() == ["key", "kind", "share", "log", "P", "F"]
    assert [line.split('"')[1] for line in block[1:]] == [key["ngram"] for key in last["keys"][:2]]
    again = call(main, *arguments(tmp_path, HEAD + ENCODE + ROWS, "--format", "markdown"))
    assert "$ python" not in again.err  # no model a second time
    assert again.out.startswith("**Keys**\n\na: *the highest mountain on Earth*\n\nSEAL lm: ")
    assert '| key | kind | share | log P | F |\n| --- | --- | ---: | ---: | ---: |\n| `"' in again.out
    page = tmp_path / "page.md"
    page.write_text("<!-- table keys -->\n<!-- end of table -->\n", encoding="utf-8")
    call(main, *arguments(tmp_path, HEAD + ENCODE + ROWS, "--into", page))
    assert again.out.strip() in page.read_text(encoding="utf-8")


def test_a_system_without_a_document_says_so(call: Runner, tmp_path: Path, index: Path) -> None:
    text = HEAD + ENCODE + row("SEAL", 'run = "keys.jsonl"\npreset = "intersective"')
    tiny.build(index, tiny.DOCUMENTS[:1])  # so small that smoothing leaves no key a weight
    done = call(main, *arguments(tmp_path, text))
    assert "SEAL: no document\n" in done.out
    rows = json.loads((tmp_path / "results" / "keys.json").read_text(encoding="utf-8"))["rows"]
    assert [(found["docid"], found["keys"]) for found in rows] == [(None, [])] * 2


def test_an_ngram_of_backticks_and_bars_stays_code_of_markdown(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text(HEAD + ENCODE + ROWS, encoding="utf-8")
    spec = read_spec(tmp_path / "keys.toml", tmp_path, Places(None, tmp_path, tmp_path))
    key = KeyShare(" a ``b`|\nc", BODY, 0.5, -1.0, 1234)
    found = Explained("S", "two", Query("a", "?"), "d1", "", 0.5, [key])
    lines = as_markdown(spec, [found], []).splitlines()
    assert lines[4] == "S: d1, score 0.50, 1 key"
    assert lines[8] == '| ```" a ``b`\\|\\nc"``` | body | 0.50 | -1.00 | 1,234 |'


def test_keys_of_another_index_are_refused(call: Runner, tmp_path: Path, index: Path) -> None:
    options = arguments(tmp_path, HEAD + ENCODE + ROWS)
    assert call(main, *options).code == 0
    before = (tmp_path / "results" / "keys.json").read_bytes()
    tiny.build(tmp_path / "other", tiny.DOCUMENTS[:3])
    other = (HEAD + ENCODE + ROWS).replace('"{here}/index"', '"{here}/other"')
    assert_fault(call(main, *arguments(tmp_path, other)), 1, "keys.jsonl: ")
    assert (tmp_path / "results" / "keys.json").read_bytes() == before


def test_what_a_table_of_keys_does_not_have_is_refused(call: Runner, tmp_path: Path, index: Path) -> None:
    table = HEAD + ENCODE + ROWS
    for more in (["--record"], ["--plots"], ["--run", "x=y"], ["--format", "csv"]):
        assert_fault(call(main, *arguments(tmp_path, table, *more)), 2, "keys.toml: a table of keys; --run")
    for old, new, told in (
        ('preset = "lm"', "", "[[row]] 1: preset is ''; use lm, lm-fm"),
        ('preset = "lm"', 'preset = "best"', "[[row]] 1: preset is 'best'; use lm, lm-fm"),
        ('index = "{here}/index"', "", "a table of keys has an index, and neither"),
    ):
        assert_fault(call(main, *arguments(tmp_path, table.replace(old, new, 1))), 1, "keys.toml: ", told)
    lacking = HEAD + ENCODE + 'needs = ["no_such_package"]\n' + ROWS
    assert_fault(call(main, *arguments(tmp_path, lacking)), 1, "keys.toml: nothing to show; not made here")
    assert not (tmp_path / "results" / "keys.json").exists()
