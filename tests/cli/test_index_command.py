"""`python -m seal_ir.index`: from files to an index, with every record accounted for."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir.formats.collections.collection import Counts
from seal_ir.index import progress
from seal_ir.index.__main__ import main
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.commands import ASCII_LOCALE, ROOT, Result, Runner, assert_fault, spawn
from tests.helpers.indexes import part

ODD = "Zürich “quoted” 東京 </s> , a != b"
DOCUMENTS = [
    Document("d1", "One", "alpha beta"),
    Document("Report,_1992", "", ODD),
    Document("d3", "Three", 'say "hi'),
]


def lines(documents: list[Document]) -> str:
    return "".join(
        json.dumps({"id": d.id, "title": d.title, "contents": d.text}, ensure_ascii=False) + "\n"
        for d in documents
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_tokenizer(tmp_path_factory.mktemp("model"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text(lines(DOCUMENTS), encoding="utf-8")
    return path


def documents(directory: Path) -> list[Document]:
    index = Index(directory)
    return index.documents(range(index.n_documents))


def counts(out: str) -> Counts:
    found = re.search(
        r"read (\d+) = indexed (\d+) \+ empty (\d+) \+ duplicate (\d+) \+ malformed (\d+) \+ excluded (\d+)",
        out,
    )
    assert found, out
    parsed = Counts(*map(int, found.groups()))
    assert parsed.balanced
    return parsed


@pytest.mark.slow
def test_a_user_builds_an_index(corpus: Path, tmp_path: Path) -> None:
    """In a process of its own, without Java, without a home; and again where the locale knows ASCII only."""
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent"}
    (tmp_path / "東京").mkdir()
    tmp_path, model = tmp_path / "東京", tiny.save_tokenizer(tmp_path / "東京" / "modèle")
    for name, environment in (("utf8", bare), ("ascii", {**bare, **ASCII_LOCALE})):
        arguments = ["--input", corpus, "--index", tmp_path / name, "--model", model, "--threads", 8]
        result = spawn("seal_ir.index", *arguments, **environment)
        assert result.code == 0, result.err
        assert counts(result.out) == Counts(read=3, indexed=3)
        last = result.out.splitlines()[-1]
        assert re.fullmatch(r".*/(utf8|ascii): 3 documents, [\d,]+ tokens, [\d,]+ bytes, [\d.]+ s", last)
        assert "building segment-000000" in result.err
        assert documents(tmp_path / name) == DOCUMENTS
    assert (tmp_path / "utf8" / "index.json").read_bytes() == (tmp_path / "ascii" / "index.json").read_bytes()


def test_a8_empty_documents_are_counted_and_listed(call: Runner, tmp_path: Path, model: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    empty = [Document("e1", "", " \n"), Document("e2", "", "")]
    corpus.write_text(lines([DOCUMENTS[0], empty[0], DOCUMENTS[1], empty[1], DOCUMENTS[2]]), encoding="utf-8")
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model]
    result = call(main, *arguments, "--list-empty")
    assert result.code == 0
    assert counts(result.out) == Counts(read=5, indexed=3, empty=2)
    assert [line for line in result.out.splitlines() if line.startswith("empty: ")] == [
        "empty: e1",
        "empty: e2",
    ]
    assert "empty: e1" not in call(main, *arguments).out
    assert documents(tmp_path / "i") == DOCUMENTS  # a9: d3 is still d3
    manifest = Index(tmp_path / "i").manifest
    assert manifest.collection == {"kind": "JsonCollection", "counts": str(Counts(5, 3, 2))}


def test_a10_a11_folder_gz_and_tsv_are_alike(call: Runner, tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "folder" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(lines(DOCUMENTS[:2]), encoding="utf-8")
    (folder / "b.json.gz").write_bytes(gzip.compress(lines(DOCUMENTS[2:]).encode()))
    tsv = "".join(f"{d.id}\t{d.title}\t{d.text}\n" for d in DOCUMENTS)
    (tmp_path / "c.tsv").write_text(tsv, encoding="utf-8")
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(tsv.encode()))
    for i, (kind, path) in enumerate(
        [("JsonCollection", "folder"), ("TsvCollection", "c.tsv"), ("TsvCollection", "c.tsv.gz")]
    ):
        result = call(
            main,
            "--collection",
            kind,
            "--input",
            tmp_path / path,
            "--index",
            tmp_path / str(i),
            "--model",
            model,
        )
        assert result.code == 0, result.err
        assert documents(tmp_path / str(i)) == DOCUMENTS
        assert (
            part(tmp_path / str(i), "segment-000000/fm.bin").read_bytes()
            == part(tmp_path / "0", "segment-000000/fm.bin").read_bytes()
        )


def test_a6_duplicate_ids(call: Runner, tmp_path: Path, model: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(lines([*DOCUMENTS, Document("d1", "", "other text")]), encoding="utf-8")
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model]
    assert_fault(call(main, *arguments), 1, f"{corpus}:4", f"{corpus}:1", "'d1'")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]
    result = call(main, *arguments, "--duplicates", "last")
    assert counts(result.out) == Counts(read=4, indexed=3, duplicate=1)
    assert documents(tmp_path / "i")[-1].text == "other text"
    call(main, *arguments, "--duplicates", "first")
    assert documents(tmp_path / "i") == DOCUMENTS


def test_a7_malformed_records(call: Runner, tmp_path: Path, model: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"id":"x"}\n' + lines(DOCUMENTS) + '{"id":"y","contents":null}\n{"contents":"x"}\n', "utf-8"
    )
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model]
    assert_fault(call(main, *arguments), 1, f"{corpus}:1", "contents")
    assert not (tmp_path / "i").exists()
    result = call(main, *arguments, "--malformed", "skip")
    assert counts(result.out) == Counts(read=6, indexed=3, malformed=3)
    for number in (1, 5, 6):
        assert f"skipped: {corpus}:{number}: " in result.err
    assert documents(tmp_path / "i") == DOCUMENTS


def test_a15_an_id_with_white_space(call: Runner, tmp_path: Path, model: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(lines([Document("My Doc", "", "text")]), encoding="utf-8")
    result = call(main, "--input", corpus, "--index", tmp_path / "i", "--model", model)
    assert_fault(result, 1, f"{corpus}:1", "white space", "'My Doc'")


def test_include_ids(call: Runner, corpus: Path, model: Path, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt.gz"
    ids.write_bytes(gzip.compress(b"d3\nReport,_1992\nabsent\n"))
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model, "--include-ids", ids]
    result = call(main, *arguments)
    assert counts(result.out) == Counts(read=3, indexed=2, excluded=1)
    assert f"1 ids of {ids} are not in the collection" in result.err
    assert documents(tmp_path / "i") == DOCUMENTS[1:]
    ids.write_bytes(gzip.compress(b"absent\n"))
    assert_fault(call(main, *arguments), 1, "no documents to index")
    assert documents(tmp_path / "i") == DOCUMENTS[1:]  # d7: the old index stays


def test_a10_wrong_inputs(call: Runner, tmp_path: Path, model: Path) -> None:
    (tmp_path / "empty").mkdir()
    rest = ["--index", tmp_path / "i", "--model", model]
    for name in ("none.jsonl", "empty"):
        assert_fault(call(main, "--input", tmp_path / name, *rest), 1, str(tmp_path / name))
    assert not (tmp_path / "i").exists()


@pytest.mark.slow
def test_every_option_of_building_shows_in_the_index(
    call: Runner, corpus: Path, model: Path, tmp_path: Path
) -> None:
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model, "--engine", "sdsl"]
    result = call(
        main, *arguments, "--storeRaw", "--max-segment-tokens", 50, "--threads", 2, "--memory", "1G"
    )
    assert result.code == 0, result.err
    assert "building segment-000001 of" in result.err
    index = Index(tmp_path / "i")
    assert index.raws(range(3)) == lines(DOCUMENTS).splitlines()
    assert [(s.engine, s.layout) for s in index.manifest.segments] == [("sdsl", "default")] * 3
    assert index.manifest.library == "sdsl-lite 2.1.1, GPL-3.0-or-later"


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--memory", "2X"], 2, ["--memory '2X'", "2G or 1500M"]),
        (["--memory", "10M"], 2, ["--memory 10 MiB is too little", "MiB are needed"]),
        (["--layout", "small"], 2, ["the sdsl engine has no layout 'small'"]),
        (["--max-segment-tokens", "0"], 2, ["max_segment_tokens is 0"]),
        (["--stats"], 2, ["leave out --input"]),
        (["--json"], 2, ["--json goes with --stats"]),
        (["--all"], 2, ["--all goes with --verify"]),
        (["--max-segment-tokens", "5"], 1, ["a segment holds at most 5; split it"]),
    ],
)
def test_refused_options(
    call: Runner, corpus: Path, model: Path, tmp_path: Path, options: list[str], code: int, told: list[str]
) -> None:
    arguments = ["--input", corpus, "--index", tmp_path / "i", "--model", model, "--engine", "sdsl"]
    assert_fault(call(main, *arguments, *options), code, *told)
    assert not (tmp_path / "i").exists()


def test_an_input_that_is_missing_and_an_engine_that_is_none(
    call: Runner, corpus: Path, model: Path, tmp_path: Path
) -> None:
    assert_fault(call(main, "--index", tmp_path / "i"), 2, "--input is missing")
    words = ["--input", corpus, "--index", tmp_path / "i", "--model", model, "--engine", "bwt"]
    assert call(main, *words).code == 2
    assert not (tmp_path / "i").exists()


def test_stats_and_verify(call: Runner, corpus: Path, model: Path, tmp_path: Path) -> None:
    directory = tmp_path / "i"
    assert call(main, "--input", corpus, "--index", directory, "--model", model).code == 0
    table = call(main, "--index", directory, "--stats")
    assert (table.code, table.err) == (0, "")
    assert re.search(r"^documents +3$", table.out, re.MULTILINE)
    values = json.loads(call(main, "--index", directory, "--stats", "--json").out)
    assert values["model"] == str(model)
    assert values["collection"]["counts"] == str(Counts(3, 3))
    for options in ([], ["--all"]):
        sound = call(main, "--index", directory, "--verify", *options)
        assert sound.code == 0
        assert sound.out.splitlines()[1].startswith("3 documents (all): ids, texts, tokens and places agree")
    path = part(directory, "segment-000000/fm.bin")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert_fault(call(main, "--index", directory, "--verify"), 1, "fm.bin: damaged, its checksum differs")
    for mode in ("--stats", "--verify"):
        assert_fault(call(main, "--index", tmp_path / "none", mode), 1, "no such index directory")


LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv[1:2] = []
runpy.run_module("seal_ir.index", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_d7_files_that_cannot_grow(tmp_path: Path, model: Path, threads: int) -> None:
    """As on a full disk, at whatever file it is: one line, and the old index stays."""
    corpus, directory = tmp_path / "c.jsonl", tmp_path / "i"
    texts = [Document(f"d{i}", "", f"{i} alpha beta {'gamma ' * (i % 40)}") for i in range(400)]
    corpus.write_text(lines(texts), encoding="utf-8")
    tiny.build(directory)
    before = {path: path.read_bytes() for path in directory.rglob("*.*")}
    codes = []
    for limit in (0, 1000, 3000, 7000, 10_000, 16_000, 1 << 20):
        arguments = ["--input", corpus, "--index", directory, "--model", model, "--storeRaw"]
        options = ["--threads", threads, "--max-segment-tokens", 12_000]
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *map(str, [limit, *arguments, *options])],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        codes.append(done.returncode)
        if done.returncode:
            assert_fault(Result(done.returncode, done.stdout, done.stderr), 1, "index", " writ")
            assert {path: path.read_bytes() for path in directory.rglob("*.*")} == before
            assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "i"]
    assert codes.count(1) >= 4
    assert codes[-1] == 0
    assert documents(directory) == texts


def test_bad_usage(call: Runner, corpus: Path, model: Path, tmp_path: Path) -> None:
    assert call(main, "--input", corpus).code == 2
    assert call(main, "--input", corpus, "--index", tmp_path / "i", "--duplicates", "all").code == 2
    rest = ["--input", corpus, "--index", tmp_path / "i"]
    assert_fault(call(main, *rest, "--model", model, "--collection", "WarcCollection"), 2, "WarcCollection")
    assert_fault(call(main, "--input", corpus, "--index", tmp_path, "--model", model), 2, "not an index")
    assert_fault(call(main, *rest, "--model", tmp_path / "nowhere"), 1, "no such model folder")
    assert not (tmp_path / "i").exists()


def test_the_model_of_the_index_is_found_from_anywhere(
    call: Runner, corpus: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    assert call(main, "--input", corpus, "--index", tmp_path / "i", "--model", model.name).code == 0
    assert Index(tmp_path / "i").manifest.model == str(model)


def test_progress_comes_line_by_line(
    call: Runner, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(lines([Document(f"d{i}", "", "a") for i in range(3000)]), encoding="utf-8")
    for seconds, told in ((10, 1), (0, 3)):
        monkeypatch.setattr(progress, "_SECONDS", seconds)
        err = call(main, "--input", corpus, "--index", tmp_path / "i", "--model", model).err
        assert err.count("tokenising: ") == told
        form = r"[a-z].*: [1-3],000 documents, \d+ s(, about \d+ s left)?"
        assert all(re.fullmatch(form, line) for line in err.splitlines())
        assert "s left" in err
