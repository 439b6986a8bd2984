"""`python -m seal_ir.train fit --patience`: where training ends, whose weights are written, resumption."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState

from seal_ir import SealSearcher
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.train.__main__ import main
from seal_ir.train.fit import stopping
from seal_ir.train.fit.log import DEV_LOSS, best_step, is_spent
from seal_ir.train.fit.stopping import Patience
from tests.helpers import tiny, training
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.training import Fit, fitting, report

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
BATCHES = ("--tokens", 500, "--max-tokens", 120, "--warmup", 5, "--clip", 1)
SWINGING = ("--lr", 0.3, "--steps", 60, "--eval-steps", 2, "--save-steps", 4)  # falls, with setbacks
RUINOUS = ("--lr", 10, "--steps", 60, "--eval-steps", 2)  # gets worse from the first step on


@pytest.fixture
def fit(call: Runner, training_data: Path, llama: Path) -> Fit:
    return fitting(call, training_data, llama, *BATCHES)


def losses(folder: Path) -> dict[int, float]:
    return dict(report(folder)["curves"][DEV_LOSS])


def lowest(folder: Path) -> int:
    values = losses(folder)
    return min(values, key=lambda step: values[step])


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").glob("best-*"))


def assert_equal(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@given(
    values=st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, math.nan, math.inf]), min_size=1, max_size=12),
    patience=st.integers(1, 4),
)
def test_training_ends_where_counting_by_hand_ends_it(values: list[float], patience: int) -> None:
    best, at, without_gain = values[0], 0, 0
    log: list[dict[str, Any]] = []
    for step, value in enumerate(values):
        log += [{"loss": 0.1, "step": step}, {DEV_LOSS: value, "step": step}]
        if step and (value < best or (math.isnan(best) and not math.isnan(value))):
            best, at, without_gain = value, step, 0
        elif step:
            without_gain += 1
        assert best_step(log) == at
        assert is_spent(log, patience) == (without_gain >= patience)
        assert not is_spent(log, None)
    assert best_step(log, 0) == 0
    assert best_step([{"loss": 0.1, "step": 1}]) is None


def test_the_first_process_decides_and_writes_for_all(tmp_path: Path) -> None:
    log = [{DEV_LOSS: 1.0, "step": 0}, {DEV_LOSS: 2.0, "step": 2}]
    for first in (False, True):
        control = TrainerControl()
        state = TrainerState(global_step=2, log_history=log, is_world_process_zero=first)
        Patience(1, tmp_path).on_evaluate(None, state, control)
        assert (control.should_training_stop, control.should_save) == (first, first)
    state = TrainerState(global_step=0, log_history=log[:1], is_world_process_zero=False)
    Patience(1, tmp_path).on_evaluate(None, state, TrainerControl())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_training_ends_when_the_loss_gets_worse_and_the_best_weights_are_written(
    fit: Fit, llama: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    result = fit(out, *RUINOUS, "--patience", 3)
    assert (result.code, result.out) == (0, f"{out}\n"), result
    assert "stopped at step 6 of 60; no gain in 3 evaluations\n" in result.err
    assert "the model is that of step 0, which has the lowest dev loss\n" in result.err
    assert list(losses(out)) == [0, 2, 4, 6]
    assert report(out)["best_step"] == 0
    assert report(out)["figures"] == {DEV_LOSS: losses(out)[0]}
    assert report(out)["options"]["patience"] == 3
    assert (out / "checkpoints" / "checkpoint-6" / "trained.safetensors").is_file()
    assert_equal(load_file(out / "model.safetensors"), load_file(llama / "model.safetensors"))


@pytest.mark.slow
def test_a_best_adapter_is_written_too(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "adapter"
    assert fit(out, *RUINOUS, "--patience", 1, "--lora", 2).code == 0
    assert (list(losses(out)), report(out)["best_step"]) == ([0, 2], 0)
    matrices = load_file(out / "adapter_model.safetensors")
    assert not any(
        value.any() for name, value in matrices.items() if "lora_B" in name
    )  # untrained ones are 0
    assert all(value.any() for name, value in matrices.items() if "lora_A" in name)


@pytest.mark.slow
def test_the_best_of_a_run_that_takes_all_its_steps_is_written(fit: Fit, llama: Path, tmp_path: Path) -> None:
    options = ("--lr", 10, "--steps", 3, "--eval-steps", 2)
    result = fit(tmp_path / "best", *options, "--patience", 9)
    assert result.code == 0, result
    assert "stopped" not in result.err
    assert "the model is that of step 0" in result.err
    values = losses(tmp_path / "best")
    assert list(values) == [0, 2, 3]
    assert report(tmp_path / "best")["best_step"] == 0
    assert_equal(load_file(tmp_path / "best" / "model.safetensors"), load_file(llama / "model.safetensors"))
    # Without patience it is the last step's.
    result = fit(tmp_path / "last", *options)
    assert "the model is that" not in result.err
    assert losses(tmp_path / "last") == values
    assert report(tmp_path / "last")["best_step"] is None
    assert report(tmp_path / "last")["figures"] == {DEV_LOSS: values[3]}
    last = load_file(tmp_path / "last" / "checkpoints" / "checkpoint-3" / "trained.safetensors")
    assert_equal(load_file(tmp_path / "last" / "model.safetensors"), last)
    assert kept(tmp_path / "last") == []


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, training_data: Path, llama: Path) -> Path:
    """A run with its best evaluation in its midst."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    arguments = (
        "fit",
        "--data",
        training_data,
        "--model",
        llama,
        "--output",
        out,
        *BATCHES,
        *SWINGING,
        "--patience",
        3,
    )
    assert main([str(argument) for argument in arguments]) == 0
    return out


@pytest.mark.slow
def test_the_best_weights_are_those_of_the_lowest_loss(fit: Fit, unbroken: Path, tmp_path: Path) -> None:
    best = lowest(unbroken)
    assert 4 < best == max(losses(unbroken)) - 6 < 54
    assert report(unbroken)["best_step"] == best
    assert fit(tmp_path / "again", "--steps", 1, model=unbroken).code == 0
    assert losses(tmp_path / "again")[0] == pytest.approx(losses(unbroken)[best], abs=1e-5)


@pytest.mark.slow
def test_a_resumed_run_ends_where_an_unbroken_one(fit: Fit, unbroken: Path, tmp_path: Path) -> None:
    """Be it broken off before its first evaluation, or with the count of evaluations half-way."""
    started = tmp_path / "started"
    assert fit(started, *SWINGING, "--patience", 3, "--max-minutes", 0.00001).code == 0
    assert list(losses(started)) == [0, 1]
    nearly = tmp_path / "nearly"
    shutil.copytree(unbroken, nearly)
    shutil.rmtree(nearly / "checkpoints" / f"checkpoint-{max(losses(unbroken))}")
    for folder in (started, nearly):
        result = fit(folder, *SWINGING, "--patience", 3, "--resume")
        assert result.code == 0, result
        assert losses(folder) == losses(unbroken)
        assert report(folder)["best_step"] == report(unbroken)["best_step"]
        assert_equal(load_file(folder / "model.safetensors"), load_file(unbroken / "model.safetensors"))


@pytest.mark.slow
def test_a_run_killed_after_a_better_evaluation_than_its_checkpoint_s(
    fit: Fit, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "killed"

    def kill(_: bool) -> bool:
        if (out / "checkpoints" / "best-6" / "trained.safetensors").exists():
            raise MemoryError("killed")
        return False

    monkeypatch.setattr(stopping, "any_process", kill)
    with pytest.raises(MemoryError, match="killed"):
        fit(out, *SWINGING, "--patience", 3)
    monkeypatch.undo()
    assert kept(out) == ["best-2", "best-6"]  # the checkpoint is at step 4, where step 2 was the best
    # Going on for a step only: the weights of step 6 are no result yet.
    result = fit(out, *SWINGING, "--patience", 3, "--resume", "--max-minutes", 0.00001)
    assert "stopped at step 5 of 60; go on with --resume" in result.err
    assert list(losses(out)) == [0, 2, 4, 5]
    assert report(out)["best_step"] == lowest(out)
    taken = out / "checkpoints" / ("checkpoint-5" if lowest(out) == 5 else f"best-{lowest(out)}")
    assert_equal(load_file(out / "model.safetensors"), load_file(taken / "trained.safetensors"))
    assert fit(out, *SWINGING, "--patience", 3, "--resume").code == 0
    assert losses(out) == losses(unbroken)
    assert_equal(load_file(out / "model.safetensors"), load_file(unbroken / "model.safetensors"))


@pytest.mark.slow
def test_weights_are_kept_for_checkpoints_only(fit: Fit, unbroken: Path) -> None:
    steps = [int(path.name.split("-")[1]) for path in (unbroken / "checkpoints").glob("checkpoint-*")]
    values = losses(unbroken)
    wanted = {min((s for s in values if s <= end), key=lambda s: values[s]) for end in steps}
    assert kept(unbroken) == sorted(f"best-{step}" for step in wanted)


@pytest.mark.slow
def test_patience_that_is_spent_wants_more(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert fit(out, *RUINOUS, "--patience", 1).code == 0
    assert_fault(
        fit(out, *RUINOUS, "--patience", 1, "--resume"), 2, "checkpoint-2", "since step 0", "raise --patience"
    )
    result = fit(out, *RUINOUS, "--patience", 2, "--resume")
    assert "stopped at step 4 of 60; no gain in 2 evaluations" in result.err
    assert (list(losses(out)), report(out)["best_step"]) == ([0, 2, 4], 0)


@pytest.mark.slow
def test_a_run_without_patience_is_not_resumed_with_it(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "run"
    stale = out / "checkpoints" / "best-0"
    stale.mkdir(parents=True)  # of a run that was killed before its first checkpoint
    (stale / "trained.safetensors").write_bytes(b"another run's")
    assert fit(out, *RUINOUS, "--max-minutes", 0.00001).code == 0
    assert not stale.exists()
    result = fit(out, *RUINOUS, "--patience", 2, "--resume")
    assert_fault(result, 2, "weights of step 0", "were not kept", "leave it out")


@pytest.mark.parametrize("patience", [0, -1])
def test_patience_below_one_is_refused(fit: Fit, tmp_path: Path, patience: int) -> None:
    assert_fault(
        fit(tmp_path / "out", "--patience", patience), 2, f"patience is {patience}; it must be at least 1"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_dev_retrieval_of_the_best_weights_is_reported(fit: Fit, tmp_path: Path) -> None:
    index, topics, qrels = tmp_path / "index", tmp_path / "t.tsv", tmp_path / "q.trec"
    tiny.build(index, training.DOCUMENTS)
    asked = training.questions()[:10]
    topics.write_text("".join(f"{i}\t{question}\n" for i, (question, _) in enumerate(asked)))
    qrels.write_text("".join(f"{i} 0 {document.id} 1\n" for i, (_, document) in enumerate(asked)))
    out = tmp_path / "model"
    dev = ("--dev-index", index, "--dev-topics", topics, "--dev-qrels", qrels)
    result = fit(out, *SWINGING, "--patience", 1, *dev)
    assert result.code == 0, result
    best = report(out)["best_step"]
    assert 0 < best == lowest(out) < max(losses(out))
    assert f"step {best}/60 dev_retrieval_questions=" in result.err
    assert [step for step, _ in report(out)["curves"]["dev_retrieval_hits@1"]] == [0, best]
    assert report(out)["figures"][DEV_LOSS] == min(losses(out).values())
    searcher = SealSearcher(index, str(out), config=PRESETS[DEFAULT_PRESET], device="cpu")
    hits = searcher.batch_search([q for q, _ in asked], [str(i) for i in range(10)], k=5)
    found = [any(h.docid == d.id for h in hits[str(i)]) for i, (_, d) in enumerate(asked)]
    assert report(out)["figures"]["dev_retrieval_hits@5"] == pytest.approx(sum(found) / 10)
