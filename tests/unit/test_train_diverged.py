"""Training that diverges stops at the first number that is none, and leaves no model that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.train.fit.trainer import SealTrainer
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.training import Fit, fitting

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
FAST = ("--tokens", 500, "--max-tokens", 120, "--warmup", 0, "--log-steps", 1, "--eval-steps", 1000)


@pytest.fixture
def fit(call: Runner, training_data: Path, llama: Path) -> Fit:
    return fitting(call, training_data, llama, *FAST)


def no_number(constant: str) -> Any:
    raise AssertionError(f"{constant} in JSON")


def assert_nothing_odd(output: Path) -> None:
    """No model, and no file that is invalid JSON."""
    assert not (output / "seal.json").exists()
    assert not list(output.glob("*.safetensors"))
    for path in output.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), parse_constant=no_number)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [(), ("--lora", 2)])
def test_i7_diverged_training_stops_with_the_step_the_loss_before_and_what_to_do(
    fit: Fit, tmp_path: Path, lora: tuple[Any, ...]
) -> None:
    out = tmp_path / "out"
    result = fit(out, "--lr", "1e30", "--clip", 1e6, "--steps", 20, "--save-steps", 1, *lora)
    assert_fault(result, 1, "training diverged at step ", "--lr is 1e+30", "lower --lr")
    assert "the loss before, at step " in result.err or "there was no loss before" in result.err
    assert "step 20/20" not in result.err
    assert_nothing_odd(out)


def test_a_weight_that_is_no_number_stops_training(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = fit(out, "--lr", "1e39", "--steps", 3, "--save-steps", 1)
    told = "the loss before, at step 1, was 5."
    assert_fault(result, 1, "diverged at step 1: a weight is no number: ", told)
    assert_nothing_odd(out)
    assert not list(out.rglob("trained.safetensors"))


@pytest.mark.slow
@pytest.mark.parametrize("norm", [torch.nan, torch.inf])
def test_a_gradient_without_a_norm_stops_training(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, norm: float
) -> None:
    theirs = SealTrainer.__mro__[1]
    monkeypatch.setattr(theirs, "_clip_grad_norm", lambda *_: torch.tensor(norm))
    result = fit(tmp_path / "out", "--lr", "1e-4", "--steps", 3)
    told = f"the norm of the gradient is {norm} (the loss before, at step 1"
    assert_fault(result, 1, "diverged at step 1: ", told)
    assert_nothing_odd(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loss", "nats"])
def test_a_loss_that_is_no_number_stops_training(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The loss of a step, and that of the dev set, with a sound checkpoint before it."""
    from seal_ir.train.fit.network import TargetLoss

    sound = TargetLoss.forward
    n_calls = 0

    def forward(self: TargetLoss, **inputs: Any) -> dict[str, torch.Tensor]:
        nonlocal n_calls
        n_calls += self.training
        found = sound(self, **inputs)
        return found | ({name: found[name] * torch.inf} if n_calls >= 3 else {})

    monkeypatch.setattr(TargetLoss, "forward", forward)
    out = tmp_path / "out"
    result = fit(out, "--lr", "1e-4", "--steps", 6, "--save-steps", 2, "--eval-steps", 4)
    what = (
        "at step 3: the loss is inf (the loss before, at step 2, was "
        if name == "loss"
        else ("at step 4: the dev_loss_nats_per_token is inf (the loss before, at step 4, was ")
    )
    assert_fault(result, 1, what)
    assert [path.name for path in (out / "checkpoints").glob("checkpoint-*")] == ["checkpoint-2"]
    assert_nothing_odd(out)
