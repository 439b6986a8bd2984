"""Further fields through the commands: index, search, keys from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.encode import __main__ as encode_command
from seal_ir.index.__main__ import main as build
from seal_ir.search import __main__ as search_command
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault

PRESETS = ["lm", "intersective", "genre", "dsi"]
RECORDS = [
    {"id": d.id, "title": d.title, "contents": d.text, "docid": f"{i % 3} {i // 3}"}
    for i, d in enumerate(tiny.DOCUMENTS)
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return path


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.tsv"
    path.write_text("1\tthe capital of Japan\n2\t1 0\n3\t \n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("stubbed")
def test_one_index_serves_seal_genre_and_dsi_directly_and_from_keys(
    call: Runner, corpus: Path, topics: Path, tmp_path: Path
) -> None:
    model, index = tiny.save_tokenizer(tmp_path / "model"), tmp_path / "index"
    result = call(build, "--input", corpus, "--index", index, "--model", model, "--fields", "docid")
    assert result.code == 0, result.err
    assert "fields       title, body, docid" in call(build, "--index", index, "--stats").out
    options = ["--topics", topics, "--index", index, "--preset", *PRESETS, "--output"]
    assert call(search_command.main, *options, tmp_path / "direct.trec").code == 0
    (tmp_path / "docid.toml").write_text('[decode]\nfields = ["docid"]\n')
    output, encoder = ["output", "--embeddings", tmp_path / "keys"], ["encoder", "--index", index]
    encoder += ["--preset", "intersective", "--config", tmp_path / "docid.toml"]
    result = call(encode_command.main, "input", "--corpus", topics, *output, *encoder)
    assert result.code == 0, result.err
    result = call(search_command.main, *options, tmp_path / "stored.trec", "--keys", tmp_path / "keys")
    assert result.code == 0, result.err
    for name in PRESETS:
        run = (tmp_path / f"direct.{name}.trec").read_text()
        assert {line.split()[0] for line in run.splitlines()} == {"1", "2"}, name
        assert (tmp_path / f"stored.{name}.trec").read_text() == run


@pytest.mark.usefixtures("stubbed")
def test_keys_without_the_field_do_not_serve_it(
    call: Runner, corpus: Path, topics: Path, tmp_path: Path
) -> None:
    model, index = tiny.save_tokenizer(tmp_path / "model"), tmp_path / "index"
    assert call(build, "--input", corpus, "--index", index, "--model", model, "--fields", "docid").code == 0
    assert call(encode_command.main, "input", "--corpus", topics, "output", "--embeddings", tmp_path / "keys",
                "encoder", "--index", index, "--preset", "intersective").code == 0  # fmt: skip
    result = call(search_command.main, "--topics", topics, "--index", index, "--keys", tmp_path / "keys",
                  "--preset", "dsi", "--output", tmp_path / "run")  # fmt: skip
    assert_fault(result, 1, "made with fields = (), preset dsi has ('docid',) here")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (["title"], "'title' is no further field"),
        (["docid", "docid"], "'docid' is named twice"),
        (list("abcdefg"), "7 further fields; an index has at most 6"),
    ],
)
def test_faults_of_index(call: Runner, corpus: Path, tmp_path: Path, fields: list[str], told: str) -> None:
    model = tiny.save_tokenizer(tmp_path / "model")
    result = call(build, "--input", corpus, "--index", tmp_path / "i", "--model", model, "--fields", *fields)
    assert_fault(result, 2, told)
    assert not (tmp_path / "i").exists()


@pytest.mark.usefixtures("stubbed")
def test_a_search_for_a_field_that_is_not_there(call: Runner, topics: Path, tmp_path: Path) -> None:
    tiny.build(tmp_path / "index")
    result = call(search_command.main, "--topics", topics, "--index", tmp_path / "index", "--preset", "dsi",
                  "--output", tmp_path / "run")  # fmt: skip
    assert_fault(result, 2, "no field 'docid' in this index; build one with --fields docid")
    assert not (tmp_path / "run").exists()
