"""The same of models, adapters and training runs as tests/unit/test_told_faults.py has of all else."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seal_ir.errors import InputError, ModelError, UsageError
from seal_ir.train.__main__ import main as train
from tests.helpers import tiny
from tests.helpers.commands import ROOT, Runner


def test_a_device_that_computes_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from seal_ir.lm.device import chosen_device

    monkeypatch.setattr(torch, "ones", torch.zeros)
    with pytest.raises(UsageError, match="device 'cpu' does not add up numbers; choose another one"):
        chosen_device("cpu")


def test_a_bias_for_what_is_no_t5_and_a_model_without_one_end() -> None:
    import torch

    from seal_ir.read.fid import loading

    network: Any = SimpleNamespace(config=SimpleNamespace(eos_token_id=[1, 2]))
    with pytest.raises(ModelError, match="and SimpleNamespace is no T5"):
        loading.attach_bias(network, torch.zeros(1), Path("x"))
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(ModelError, match=r"m: its eos_token_id is \[1, 2\]"),
    ):
        patch.setattr(loading, "check_vocabulary", lambda network, tokenizer: None)
        loading.check_tokenizer(network, tiny.tokenizer(), "m")


def test_quantised_weights_that_transformers_cannot_read(tmp_path: Path) -> None:
    from seal_ir.lm.load import _converted
    from seal_ir.text.pretrained import ModelFiles

    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    files = ModelFiles("x", str(tmp_path), tmp_path / "x.gguf", tmp_path / "cache")
    with pytest.raises(ModelError, match="the model cannot be loaded from this folder"):
        _converted(files)
    assert not (tmp_path / "cache").exists()


def test_an_adapter_of_an_adapter(tmp_path: Path) -> None:
    import torch

    from seal_ir.lm.load import load_network
    from seal_ir.text.pretrained import find_model

    for name, base in (("a", "b"), ("b", "c")):
        (tmp_path / name).mkdir()
        config = json.dumps({"base_model_name_or_path": str(tmp_path / base)})
        (tmp_path / name / "adapter_config.json").write_text(config, encoding="utf-8")
    with pytest.raises(ModelError, match=r"a: its base model \S+b is an adapter itself; merge that first"):
        load_network(find_model(str(tmp_path / "a")), torch.float32)


def test_a_run_that_is_at_its_end_and_a_set_that_is_too_small(
    call: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seal_ir.train.fit import checkpoints
    from seal_ir.train.fit.batches import BatchOptions
    from seal_ir.train.fit.options import FitOptions
    from seal_ir.train.fit.run import FitPlan, _sets

    monkeypatch.setattr(checkpoints, "_state", lambda path: {"global_step": 4, "log_history": []})
    for name in ("read_trained", "_check_archive"):
        monkeypatch.setattr(checkpoints, name, lambda path: None)
    with pytest.raises(UsageError, match="checkpoint-4: is at step 4, of 4; raise --steps"):
        checkpoints._check_resumable([tmp_path / "checkpoint-4"], FitOptions(steps=4))
    corpus, out = ROOT / "collections" / "demo" / "corpus.jsonl", tmp_path / "set"
    assert (
        call(train, "data", "--input", corpus, "--unsupervised", "--documents", 5, "--output", out).code == 0
    )
    with pytest.raises(
        InputError, match="too small to hold pairs out of it for the dev loss; give --dev-data"
    ):
        _sets(FitPlan("m", out, tmp_path / "o", FitOptions(), BatchOptions()))


@pytest.mark.parametrize(
    "odd", [{"peft_type": "q" * 3000}, {"a\nb": 4}, {"r": "\n"}, {"base_model_name_or_path": "\n"}]
)
def test_adapters_that_differ_are_told_in_one_line(tmp_path: Path, odd: dict[str, Any]) -> None:
    from seal_ir.train.average import _check_alike

    tiny.save_tokenizer(tmp_path / "base")
    for name, more in (("a", {}), ("b", odd)):
        (tmp_path / name).mkdir()
        config = {"base_model_name_or_path": str(tmp_path / "base"), "r": 4, **more}
        (tmp_path / name / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        _check_alike(tmp_path / "a", tmp_path / "b")
    told = str(error.value).replace(str(tmp_path), "")
    assert len(told) < 300
    assert len(told.splitlines()) == 1
