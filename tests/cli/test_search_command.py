"""`python -m seal_ir.search`: from topics to run files."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seal_ir.config import DecodeConfig, SearchConfig
from seal_ir.formats.runs.trec import read_run
from seal_ir.records import QueryKeys, Unigrams
from seal_ir.search.__main__ import _UNLIKELY, _reasons, main
from seal_ir.search.pipeline import QueryPipeline
from tests.helpers import tiny
from tests.helpers.commands import ASCII_LOCALE, Runner, assert_fault, spawn
from tests.helpers.stub import StubModel
from tests.helpers.stubbed import Stubbed

TOPICS = [
    ("30_1", "the highest mountain"),
    ("1e3", "Zürich “quoted” 東京 and the capital of Japan"),
    ("٣", "which river flows through London"),
    ("empty", " "),
    ("q123", tiny.LITERAL),
]


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS), encoding="utf-8")
    return path


def rows(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]


def check_run(path: Path, tag: str) -> None:
    """B11, A12: six columns, ranks from 1, scores that fall, topics in file order, ids byte for byte."""
    lines = rows(path)
    assert all(len(row) == 6 and row[1] == "Q0" and row[5] == tag for row in lines)
    order = list(dict.fromkeys(row[0] for row in lines))
    assert order == [qid for qid, _ in TOPICS if qid in order]
    assert {"30_1", "٣", "q123"} <= set(order)
    assert "empty" not in order
    for qid in order:
        mine = [row for row in lines if row[0] == qid]
        assert [row[3] for row in mine] == [str(rank) for rank in range(1, len(mine) + 1)]
        scores = [float(row[4]) for row in mine]
        assert scores == sorted(set(scores), reverse=True)
        assert len({row[2] for row in mine}) == len(mine)


@pytest.mark.slow
def test_a_user_searches(tiny_index: Path, topics: Path, tmp_path: Path) -> None:
    """In a process of its own, without Java, without a home; and again where the locale knows ASCII only."""
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent"}
    odd = tmp_path / "東京"
    shutil.copytree(tiny_index, odd / "index")
    shutil.copy(topics, odd / "topics.tsv")
    runs = []
    for name, environment in (("utf8", bare), ("ascii", {**bare, **ASCII_LOCALE})):
        output = tmp_path / name / "Zürich" / "run.trec"
        arguments = ["--topics", odd / "topics.tsv", "--index", odd / "index", "--output", output]
        arguments += ["--preset", "paper", "--tag", "тест"]
        result = spawn("tests.helpers.stubbed_search", *arguments, "--hits", 1000, **environment)
        assert result.code == 0, result.err
        assert result.out.endswith("/run.trec\n")
        assert "5/5 queries" in result.err
        assert "1 of 5 topics have no hits: empty" in result.err
        check_run(output, "тест")
        saved = json.loads(output.with_name("run.trec.config.json").read_text(encoding="utf-8"))
        assert saved["index"] == str(odd / "index")
        runs.append(output.read_bytes())
        assert sorted(path.name for path in output.parent.iterdir()) == ["run.trec", "run.trec.config.json"]
    assert runs[0] == runs[1]


def test_faults_of_a_user(tmp_path: Path, topics: Path) -> None:
    result = spawn("seal_ir.search", "--topics", topics, "--index", tmp_path, "--output", tmp_path / "run")
    assert_fault(result, 1, f"{tmp_path}: not an index", "python -m seal_ir.index")
    assert len(result.err.splitlines()) == 1


@pytest.mark.usefixtures("stubbed")
def test_what_is_needed_to_make_the_run_again_lies_beside_it(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text("[decode]\nbody_steps = 4\n[rank]\nsmoothing = 0.5\n")
    output = tmp_path / "run.trec"
    arguments = ["--topics", topics, "--index", tiny_index, "--output", output, "--beam", 3, "--hits", 2]
    assert call(main, *arguments, "--config", settings, "--batch-size", 2).code == 0
    values = json.loads(output.with_name("run.trec.config.json").read_text(encoding="utf-8"))
    assert values["seconds"] >= 0
    assert values["cpu_seconds"] > 0
    assert (values["preset"], values["decode"]["beam"], values["decode"]["body_steps"]) == (
        "balanced",
        3,
        4,
    )
    assert (values["rank"]["smoothing"], values["hits"], values["batch_size"]) == (0.5, 2, 2)
    assert (values["topics"], values["index"], values["model"]) == (str(topics), str(tiny_index), "tiny")
    assert (values["n_topics"], values["dtype"], values["device"]) == (5, "float32", "cpu")
    assert all(len(found) <= 2 for found in read_run(output).values())
    # What "auto" stood for is written down, for it depends on the machine.
    assert call(main, *arguments, "--dtype", "auto", "--device", "cpu").code == 0
    values = json.loads(output.with_name("run.trec.config.json").read_text(encoding="utf-8"))
    assert values["dtype"] == "fastest-of-cpu"


def test_several_presets_share_one_decoding(
    call: Runner, stubbed: Stubbed, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    arguments = ["--topics", topics, "--index", tiny_index]
    together = call(
        main,
        *arguments,
        "--output",
        tmp_path / "all.trec",
        "--preset",
        "lm",
        "lm-fm",
        "paper",
        "lm",
        "intersective",
        "body",
        "fast",
        "thorough",
    )
    assert together.code == 0, together.err
    names = ["lm", "lm-fm", "paper", "intersective", "body", "fast", "thorough"]
    assert together.out.splitlines() == [str(tmp_path / f"all.{name}.trec") for name in names]
    assert len(stubbed.loaded) == 1
    for name in names:
        call(main, *arguments, "--output", tmp_path / f"{name}.trec", "--preset", name)
        alone = (tmp_path / f"{name}.trec").read_bytes()
        assert (tmp_path / f"all.{name}.trec").read_bytes() == alone
        saved = json.loads((tmp_path / f"all.{name}.trec.config.json").read_text(encoding="utf-8"))
        assert saved["preset"] == name


@pytest.mark.usefixtures("stubbed")
def test_b3_batches_and_segments_do_not_change_a_byte(call: Runner, topics: Path, tmp_path: Path) -> None:
    runs = set()
    for limit in (1 << 30, 60):
        tiny.build(tmp_path / str(limit), max_segment_tokens=limit)
        for size in (1, 2, 100):
            output = tmp_path / "run"
            arguments = ["--index", tmp_path / str(limit), "--batch-size", size, "--preset", "paper"]
            assert call(main, "--topics", topics, "--output", output, *arguments).code == 0
            runs.add(output.read_bytes())
    assert len(runs) == 1


@pytest.mark.usefixtures("stubbed")
def test_msmarco_output(call: Runner, tiny_index: Path, topics: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.tsv"
    arguments = ["--topics", topics, "--index", tiny_index, "--output", output, "--preset", "paper"]
    assert call(main, *arguments, "--output-format", "msmarco").code == 0
    lines = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == ["30_1", "d3#0", "1"]
    assert all(len(line) == 3 for line in lines)


@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--preset", "bm25"], "unknown preset 'bm25'; choose one of lm, lm-fm, intersective, paper"),
        (["--preset", "lm", "bm25"], "unknown preset 'bm25'"),
        (["--hits", "0"], "--hits is 0; it must be at least 1"),
        (["--hits", str(10**30)], f"--hits is {10**30}; it must be at most {(1 << 63) - 1}"),
        (["--beam", str(10**30)], f"beam is {10**30}; it must be at most {(1 << 63) - 1}"),
        (["--batch-size", "0"], "--batch-size is 0"),
        (["--threads", "-1"], "--threads is -1"),
        (["--beam", "0"], "beam is 0"),
        (["--tag", "my run"], "run tag is 'my run'"),
        (["--tag", ""], "run tag is ''"),
        (["--config", "/none.toml"], "/none.toml: cannot read settings"),
        (["--index", "nowhere"], "nowhere: neither an index directory nor a registered index"),
        (["--index", "wikipedia-sample"], "index 'wikipedia-sample' is not built; build it with: python -m"),
        (["--output", "."], "is a folder"),
        (["--output", ".", "--preset", "lm", "paper"], "is a folder"),
        (["--output", "/dev/null/run"], "cannot be written"),
    ],
)
def test_bad_usage(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, arguments: list[str], told: str
) -> None:
    usual = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run"]
    assert_fault(call(main, *usual, *arguments), 2, told)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("stubbed")
def test_failed_checks(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("q1\tfine\nq1\tagain\n")
    rest = ["--index", tiny_index, "--output", tmp_path / "run"]
    assert_fault(call(main, "--topics", bad, *rest), 1, f"{bad}:2")
    assert_fault(call(main, "--topics", "no-such-topics", *rest), 1, "no-such-topics")
    for index in ("./nowhere", tmp_path / "none"):
        faulty = call(main, "--topics", bad, "--index", index, "--output", tmp_path / "run")
        assert faulty.code == 1
        assert "error: " in faulty.err
    assert not (tmp_path / "run").exists()
    assert call(main, "--topics", bad).code == 2
    assert call(main, "--topics", bad, *rest, "--output-format", "json").code == 2


def test_the_best_index_for_the_topics(
    call: Runner, stubbed: Stubbed, tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    arguments = ["--topics", "demo", "--output", tmp_path / "run", "--hits", 1]
    directory = tmp_path / "cache" / "indexes" / "demo"
    shutil.copytree(tiny_index, directory)
    for more in ([], ["--index", "demo"]):
        result = call(main, *arguments, "--beam", 1, "--preset", "lm", *more)
        assert result.code == 0, result.err
        assert (f"index: demo ({directory})" in result.err) == (not more)
        saved = json.loads((tmp_path / "run.config.json").read_text(encoding="utf-8"))
        assert saved["index"] == str(directory)


@pytest.mark.parametrize("at", [0, 3])
def test_a_search_that_fails_leaves_the_old_run(
    call: Runner, stubbed: Stubbed, tiny_index: Path, topics: Path, tmp_path: Path, at: int
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("run.lm.trec", "run.paper.trec"):
        (folder / name).write_text("old\n")

    def interrupt(n: int) -> None:
        if n == at:
            raise KeyboardInterrupt

    stubbed.before_batch = interrupt
    arguments = [
        "--topics",
        topics,
        "--index",
        tiny_index,
        "--output",
        folder / "run.trec",
        "--batch-size",
        1,
    ]
    result = call(main, *arguments, "--preset", "lm", "paper")
    assert_fault(result, 130, "interrupted")
    assert sorted(path.name for path in folder.iterdir()) == ["run.lm.trec", "run.paper.trec"]
    assert all(path.read_text() == "old\n" for path in folder.iterdir())


@pytest.mark.usefixtures("stubbed")
def test_a_run_to_a_device(call: Runner, tiny_index: Path, topics: Path) -> None:
    assert call(main, "--topics", topics, "--index", tiny_index, "--output", "/dev/null").code == 0
    assert not Path("/dev/null.config.json").exists()


@pytest.mark.usefixtures("stubbed")
def test_a20_long_queries_are_told_of_once(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"q{i}\t{'word ' * 3000}\n" for i in range(3)) + "q4\tshort\n")
    arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run", "--batch-size", 1]
    err = call(main, *arguments, "--beam", 2).err
    assert err.count("cut") == 1
    assert "3 of 4 queries were longer than 491 tokens and were cut: topics q0, q1, q2\n" in err


def test_model_device_and_dtype_are_passed_on(
    call: Runner, stubbed: Stubbed, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run", "--beam", 1]
    result = call(main, *arguments, "--model", "mine", "--device", "cuda:1", "--dtype", "bfloat16")
    assert stubbed.loaded == [("mine", "cuda:1", "bfloat16")]
    assert "model: mine on cuda:1 in bfloat16\n" in result.err
    values = json.loads((tmp_path / "run.config.json").read_text(encoding="utf-8"))
    assert (values["device"], values["dtype"]) == ("cuda:1", "bfloat16")


@pytest.mark.slow
def test_a_real_model_from_a_folder(topics: Path, tmp_path: Path) -> None:
    """The whole way with transformers: index, search, and a model of another tokenizer refused."""
    model = tiny.save_llama(tmp_path / "model")
    corpus = tmp_path / "corpus.jsonl"
    records = [{"id": d.id, "title": d.title, "contents": d.text} for d in tiny.DOCUMENTS]
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    one = {"OMP_NUM_THREADS": "1"}
    built = spawn("seal_ir.index", "--input", corpus, "--index", tmp_path / "i", "--model", model, **one)
    assert built.code == 0, built.err
    output = tmp_path / "run.trec"
    arguments = ["--topics", topics, "--index", tmp_path / "i", "--output", output, "--threads", 1]
    searched = spawn("seal_ir.search", *arguments, "--preset", "lm", "paper", "--device", "cpu", **one)
    assert searched.code == 0, searched.err
    assert read_run(output.with_name("run.lm.trec"))
    tokenizer = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["merges"].pop()
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert_fault(spawn("seal_ir.search", *arguments, **one), 1, "index the collection again")


@pytest.mark.usefixtures("stubbed")
def test_topics_with_fewer_pages_than_asked_for_are_told_of(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    """Where more hits might have more pages, and only there."""
    arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run", "--preset", "paper"]
    told = "topics have fewer than 2 pages, all that their 1 hits are of; raise --hits for more"
    pages = ["--max-passage", "--max-passage-hits", 2]
    n_with_hits = 4
    result = call(main, *arguments, *pages, "--hits", 1)
    assert result.code == 0, result.err
    assert f"{n_with_hits} of {len(TOPICS)} {told}\n" in result.err
    for more in (
        [*pages, "--hits", 100],
        ["--hits", 1],
        ["--max-passage", "--max-passage-hits", 1, "--hits", 1],
    ):
        assert "raise --hits" not in call(main, *arguments, *more).err


@pytest.mark.parametrize(("model", "told"), [("echo", "try --preset paper"), ("uniform", "docs/training.md")])
def test_i17_why_there_are_no_hits_at_all_is_tried_before_it_is_told(
    tiny_index: Path, topics: Path, tmp_path: Path, call: Runner, stubbed: Stubbed, model: str, told: str
) -> None:
    """Smoothing is blamed where hits would be there without it; else the model, whose keys are unlikely."""
    if model == "uniform":
        flat = StubModel(tiny.tokenizer().n_vocabulary, max_tokens=512, levels=1)
        stubbed.load_generator = lambda *_: replace(tiny.generator(), model=flat)  # type: ignore[method-assign]
        sys.modules["seal_ir.lm.load"].load_generator = stubbed.load_generator  # type: ignore[attr-defined]
    (tmp_path / "smooth.toml").write_text("[rank]\nsmoothing = 1e6\n", encoding="utf-8")  # as if very small
    arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run"]
    result = call(main, *arguments, "--preset", "lm-fm", "--config", tmp_path / "smooth.toml")
    assert (result.code, (tmp_path / "run").read_bytes()) == (0, b"")
    told_lines = [line for line in result.err.splitlines() if "try --preset" in line or "docs/" in line]
    assert len(told_lines) == 1
    assert told in told_lines[0]
    paper = call(main, *arguments, "--preset", "paper")
    assert bool((tmp_path / "run").read_bytes()) == (model == "echo")
    assert ("docs/training.md" in paper.err) == (model == "uniform")


def test_j4_as_many_hits_as_64_bits_hold(
    tiny_index: Path, topics: Path, tmp_path: Path, call: Runner, stubbed: Stubbed
) -> None:
    runs = []
    for hits in (100, (1 << 63) - 1):
        arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run", "--hits", hits]
        assert call(main, *arguments, "--preset", "paper").code == 0
        runs.append((tmp_path / "run").read_bytes())
    assert runs[0] == runs[1] != b""


@pytest.mark.parametrize(("stop", "n_unigrams", "told"), [(True, 1, 1), (True, 0, 0), (False, 1, 0)])
def test_why_a_decoding_that_stopped_brings_no_hits(
    tiny_index: Path, stop: bool, n_unigrams: int, told: int
) -> None:
    """Keys without a weight are not even written then; a query without text has no unigrams either."""
    config = SearchConfig(decode=DecodeConfig(stop=stop))
    n = n_unigrams
    unigrams = Unigrams(np.full(n, 99, np.uint32), np.full(n, -30.0), np.ones(n, np.int64))
    pipeline = QueryPipeline(tiny_index, tiny.generator(), config=config)
    reasons = list(_reasons(pipeline, QueryKeys((), unigrams), [config]))
    assert reasons == [_UNLIKELY] * told
