"""A model with a weight that is no number is refused with its true cause, whatever way it is loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from seal_ir.baselines.dense.encoders import find_encoder
from seal_ir.baselines.dense.encoding import load_encoder
from seal_ir.baselines.generating import load_writer
from seal_ir.errors import InputError, ModelError, TrainingError
from seal_ir.lm import load as pretrained
from seal_ir.lm.device import all_finite, check_weights, first_odd
from seal_ir.lm.load import load_generator, load_network, wire
from seal_ir.text.description import CAUSAL_TEMPLATE
from seal_ir.text.pretrained import ModelFiles, find_model
from seal_ir.train.fit.network import TargetLoss, load_trainable, load_trained, read_trained, save_trained
from seal_ir.train.fit.result import save_result
from tests.helpers import tiny, training
from tests.helpers.tiny_encoders import save_sentence_encoder

NORM = "model.norm.weight"
ADAPTED = "base_model.model.model.layers.0.mlp.up_proj.lora_{}.weight"


def spoil(path: Path, name: str, value: float = torch.nan) -> None:
    """Put a value into the first place of a tensor of a safetensors file."""
    tensors = {key: tensor.clone() for key, tensor in load_file(path).items()}
    tensors[name].view(-1)[0] = value
    save_file(tensors, path, metadata={"format": "pt"})


@pytest.fixture
def spoilt(llama: Path, tmp_path: Path) -> Path:
    folder = shutil.copytree(llama, tmp_path / "spoilt")
    spoil(folder / "model.safetensors", NORM)
    return folder


@pytest.fixture
def adapter(llama: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    tiny.save_tokenizer(folder)
    shapes = {"A": (2, 32), "B": (64, 2)}
    save_file(
        {ADAPTED.format(part): torch.ones(shape) for part, shape in shapes.items()},
        folder / "adapter_model.safetensors",
    )
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "base_model_name_or_path": str(llama)}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def refused(load: Callable[[], object], *parts: str) -> None:
    with pytest.raises(ModelError) as error:
        load()
    for part in parts:
        assert part in str(error.value), error.value
    assert "batches" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("load", [load_generator, load_writer])
def test_j8_a_folder_with_nan_is_refused_with_the_tensor(spoilt: Path, load: Callable[..., object]) -> None:
    refused(lambda: load(str(spoilt), device="cpu"), str(spoilt), NORM, "holds nan in 1 of 32 places")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_every_precision_and_kind_of_value(llama: Path, tmp_path: Path, dtype: str, value: float) -> None:
    folder = shutil.copytree(llama, tmp_path / "spoilt")
    spoil(folder / "model.safetensors", "model.embed_tokens.weight", value)  # of a token that no probe has
    what = "nan" if value != value else "inf"
    refused(lambda: load_generator(str(folder), "cpu", dtype), "embed_tokens", f"holds {what} in 1 of")


def test_a_sequence_to_sequence_model(tmp_path: Path) -> None:
    folder = training.save_bart(tmp_path / "bart")
    spoil(folder / "model.safetensors", "model.decoder.layers.0.fc1.bias")
    refused(lambda: load_generator(str(folder), "cpu"), "decoder.layers.0.fc1.bias holds nan")


def test_what_float16_cannot_hold_is_said_to_be_that(llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(llama, tmp_path / "large")
    spoil(folder / "model.safetensors", NORM, 1e6)
    assert load_generator(str(folder), "cpu", "float32")
    refused(lambda: load_generator(str(folder), "cpu", "float16"), NORM, "65,504", "bfloat16 or float32")


@pytest.mark.parametrize("part", ["A", "B"])
def test_an_adapter(adapter: Path, part: str) -> None:
    assert load_generator(str(adapter), device="cpu")
    spoil(adapter / "adapter_model.safetensors", ADAPTED.format(part))
    named = (str(adapter / "adapter_model.safetensors"), f"lora_{part}.weight holds nan")
    refused(lambda: load_generator(str(adapter), device="cpu"), *named)
    files = find_model(str(adapter))
    refused(lambda: load_trainable(files, 2, half=False), *named)  # peft's way, for training further


def test_the_base_of_an_adapter_is_named(adapter: Path, spoilt: Path) -> None:
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(
        json.dumps(config | {"base_model_name_or_path": str(spoilt)})
    )
    refused(lambda: load_generator(str(adapter), device="cpu"), f"{spoilt}: the model's weights", NORM)


def test_an_adapter_whose_product_overflows(adapter: Path) -> None:
    for part in "AB":
        spoil(adapter / "adapter_model.safetensors", ADAPTED.format(part), 3e38)
    refused(lambda: load_generator(str(adapter), device="cpu"), "up_proj.weight holds inf")


def test_weights_that_came_as_gguf_are_not_converted(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = load_network(find_model(str(llama)), torch.float32)
    network.model.norm.weight.data[0] = torch.nan
    monkeypatch.setattr(pretrained.AutoModelForCausalLM, "from_pretrained", lambda *_, **__: network)
    files = ModelFiles("x", str(tmp_path), tmp_path / "x.gguf", tmp_path / "cache")
    refused(lambda: load_network(files, torch.float32), "x.gguf", f"{NORM} holds nan")
    assert not (tmp_path / "cache").exists()


def test_a_model_made_in_memory(llama: Path) -> None:
    network = load_network(find_model(str(llama)), torch.float32)
    network.model.norm.weight.data[:] = torch.nan
    refused(lambda: wire(network, tiny.tokenizer(), CAUSAL_TEMPLATE), f"{NORM} holds nan in 32 of 32")


def test_sound_weights_without_numbers_in_the_end_are_not_blamed_on_batches(llama: Path) -> None:
    network = load_network(find_model(str(llama)), torch.float16)
    for layer in network.model.layers:
        layer.mlp.up_proj.weight.data[:] = layer.mlp.down_proj.weight.data[:] = 60_000
    refused(
        lambda: wire(network, tiny.tokenizer(), CAUSAL_TEMPLATE),
        "no numbers in float16",
        "load it in float32",
    )


def test_an_encoder_of_passages(tmp_path: Path) -> None:
    folder = save_sentence_encoder(tmp_path / "encoder")
    assert load_encoder(find_encoder(str(folder)), device="cpu")
    name = next(iter(load_file(folder / "model.safetensors")))
    spoil(folder / "model.safetensors", name)
    refused(lambda: load_encoder(find_encoder(str(folder)), device="cpu"), f"{name} holds nan")


def test_i7_nothing_is_written_of_weights_that_are_no_numbers(llama: Path, tmp_path: Path) -> None:
    files = find_model(str(llama))
    for rank, name in ((0, "model.embed_tokens.weight"), (2, "lora_A.default.weight")):
        network, wrapper = load_trainable(files, rank, half=False)
        value = next(v for n, v in network.named_parameters() if n.endswith(name))
        value.data.view(-1)[-1] = torch.nan
        out = tmp_path / f"out{rank}"
        with pytest.raises(TrainingError, match=f"not written.*{name.split('.')[0]}.*holds nan"):
            save_result(out, files, network, wrapper, CAUSAL_TEMPLATE)
        with pytest.raises(TrainingError, match="not written.*holds nan"):
            save_trained(TargetLoss(network, 0.1), out)
        assert not out.exists()


def test_a_checkpoint_with_nan_is_not_taken_up(llama: Path, tmp_path: Path) -> None:
    model = TargetLoss(load_trainable(find_model(str(llama)), 0, half=False)[0], 0.1)
    save_trained(model, tmp_path)
    assert read_trained(tmp_path).keys() == dict(model.trained()).keys()
    spoil(tmp_path / "trained.safetensors", NORM)
    with pytest.raises(InputError, match=rf"{NORM} holds nan in 1 of 32"):
        load_trained(model, tmp_path)


def test_masks_may_be_infinite_and_whole_numbers_have_no_nan() -> None:
    module: Any = torch.nn.Linear(2, 2)
    module.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
    module.register_buffer("n_seen", torch.tensor(3))
    module.register_buffer("none", torch.zeros(0))
    check_weights(module, "x")
    module.register_buffer("mean", torch.tensor([torch.nan]))
    refused(lambda: check_weights(module, "x"), "mean holds nan")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_one_odd_value_is_found_wherever_it_is(dtype: torch.dtype, value: float) -> None:
    for place in (0, 7, 4_000, 9_999):
        tensor = torch.full((100, 100), torch.finfo(dtype).max, dtype=dtype)
        assert all_finite([tensor])
        assert first_odd([("a", tensor)]) == ""
        tensor.view(-1)[place] = value
        assert not all_finite([torch.ones(3), tensor])
        assert first_odd([("a", torch.ones(3)), ("b", tensor)]).startswith("b holds ")
