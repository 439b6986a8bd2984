"""`python -m seal_ir.train average`: sums of adapters, and what cannot be added."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from seal_ir.lm.load import ADAPTER_WEIGHTS, adapter_matrices, load_model
from seal_ir.text.pretrained import ADAPTER_CONFIG
from seal_ir.train.__main__ import main
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.training import report

MODULE = "base_model.model.model.layers.0.self_attn.q_proj"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny.save_llama(tmp_path / "base")


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Callable[..., Path]:
    def made(name: str, seed: int, rank: int = 4, **changed: object) -> Path:
        folder = tmp_path / name
        shutil.copytree(base, folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
        shape = load_file(base / "model.safetensors")["model.layers.0.self_attn.q_proj.weight"].shape
        torch.manual_seed(seed)
        matrices = {
            f"{MODULE}.lora_A.weight": torch.randn(rank, shape[1]),
            f"{MODULE}.lora_B.weight": torch.randn(shape[0], rank),
        }
        save_file(matrices, folder / ADAPTER_WEIGHTS)
        config = {
            "peft_type": "LORA",
            "r": rank,
            "lora_alpha": 2 * rank,
            "base_model_name_or_path": str(base),
        }
        (folder / ADAPTER_CONFIG).write_text(json.dumps(config | changed), "utf-8")
        return folder

    return made


def test_matrices_are_added_with_their_weights(
    call: Runner, adapter: Callable[..., Path], tmp_path: Path
) -> None:
    models = adapter("a", 1), adapter("b", 2)
    out = tmp_path / "out"
    result = call(main, "average", "--models", *models, "--weights", 0.25, 0.75, "--output", out)
    assert (result.code, result.out) == (0, f"{out}\n"), result.err
    first, second, found = (adapter_matrices(folder) for folder in (*models, out))
    for name, value in found.items():
        expected = (0.25 * first[name] + 0.75 * second[name]).to(torch.bfloat16)
        torch.testing.assert_close(value, expected, rtol=0, atol=0)
    assert report(out) == {"average": {str(models[0]): 0.25, str(models[1]): 0.75}}
    load_model(str(out), device="cpu")  # a model like any other


@pytest.mark.slow
def test_equal_weights_are_the_default_and_names_of_packaged_models_do(call: Runner, tmp_path: Path) -> None:
    names = ("smollm2-135m-seal", "smollm2-135m-rank")
    out = tmp_path / "out"
    assert call(main, "average", "--models", *names, "--output", out).code == 0
    assert report(out) == {"average": dict.fromkeys(names, 0.5)}
    assert json.loads((out / ADAPTER_CONFIG).read_text("utf-8"))["base_model_name_or_path"] == "smollm2-135m"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--models", "A"), 2, "needs two models or more"),
        (("--models", "A", "B", "--weights", 1), 2, "1 weights for 2 models; give one for each"),
        (("--models", "A", "B", "--weights", 1, 1), 2, "1.0, 1.0; they must add up to 1"),
        (("--models", "A", "B", "--weights", "nan", 1), 2, "they must add up to 1"),
        (("--models", "A", "BASE"), 1, "is no adapter; only adapters are averaged"),
        (("--models", "A", "GONE"), 1, "no such model"),
        (("--models", "A", "RANK"), 1, "lora_alpha is 4, in"),
        (("--models", "A", "smollm2-135m-seal"), 1, "is an adapter of"),
        (("--models", "A", "SMALL"), 1, "has other matrices than"),
        (("--models", "A", "TOKENS"), 1, "has another tokenizer than"),
        (("--models", "A", "ODD"), 1, "are not finite numbers"),
        (("--models", "A", "B", "--output", "A"), 2, "exists already; give another --output"),
    ],
)
def test_what_cannot_be_averaged_is_refused_in_one_line(
    call: Runner,
    adapter: Callable[..., Path],
    base: Path,
    tmp_path: Path,
    options: tuple[object, ...],
    code: int,
    message: str,
) -> None:
    named = {"A": adapter("a", 1), "B": adapter("b", 2), "RANK": adapter("rank", 3, rank=2), "BASE": base}
    named["GONE"] = tmp_path / "gone"
    for name in ("SMALL", "TOKENS", "ODD"):
        named[name] = adapter(name.lower(), 4)
    weights = named["SMALL"] / ADAPTER_WEIGHTS
    save_file({name: value[:1] for name, value in load_file(weights).items()}, weights)
    weights = named["ODD"] / ADAPTER_WEIGHTS
    save_file({name: value * torch.nan for name, value in load_file(weights).items()}, weights)
    definition = json.loads((named["TOKENS"] / "tokenizer.json").read_text("utf-8"))
    definition["model"]["vocab"] = {f"{token}x": i for token, i in definition["model"]["vocab"].items()}
    (named["TOKENS"] / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    before = sorted(tmp_path.iterdir())
    chosen = ("--output", tmp_path / "out", *(named.get(str(option), option) for option in options))
    assert_fault(call(main, "average", *chosen), code, message)
    assert sorted(tmp_path.iterdir()) == before
