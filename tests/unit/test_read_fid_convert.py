"""`python -m seal_ir.read convert`: a checkpoint in the published layout gives the logits that it gave."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from seal_ir.lm.load import load_network
from seal_ir.read.fid.collate import collate
from seal_ir.read.fid.convert_command import main
from seal_ir.read.fid.description import load_fid_description
from seal_ir.read.fid.fusion import FusionInDecoder
from seal_ir.read.fid.loading import BIAS, parts_of
from seal_ir.read.fid.reader import load_fid_reader
from seal_ir.text.pretrained import ModelFiles
from tests.helpers import tiny_readers
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.tiny_readers import CONTEXTS

WEIGHTS = "pytorch_model.bin"
LAYER, NORM = "encoder.encoder.block", "decoder.final_layer_norm.weight"
State = dict[str, torch.Tensor]
INPUTS = [[(5, 9, 31, 60, 7), (8,), (44, 45, 46, 47, 48, 49)], [(12, 13)]]
Convert = Callable[..., Result]


def published(network: Any) -> State:
    """The network's tensors as Fusion-in-Decoder's modules name them: the encoder is held, and each layer."""
    found: State = {}
    for name, value in network.state_dict().items():
        before, encoder, rest = name.partition("encoder.")
        if encoder and before in ("", "model."):
            kind, dot, layer = rest.partition(".")
            number, _, part = layer.partition(".")
            held = f"{kind}.{number}.module.{part}" if kind in ("block", "layers") and dot else rest
            name = f"{before}encoder.encoder.{held}"
        found[name] = value.clone()
    return found


def save(folder: Path, network: Any, state: State) -> Path:
    folder.mkdir()
    torch.save(state, folder / WEIGHTS)
    network.config.save_pretrained(folder)
    return folder


def old_t5() -> Any:
    """With the bias that transformers before 4.0 gave its decoder."""
    network = tiny_readers.network("t5")
    attention = network.decoder.block[0].layer[1].EncDecAttention
    attention.has_relative_attention_bias = True
    attention.relative_attention_bias = nn.Embedding(32, tiny_readers.HEADS)
    return network


def gated() -> Any:
    """T5 1.1, whose head is not its embedding."""
    network = tiny_readers.network("gated")
    network.lm_head.weight = nn.Parameter(torch.randn_like(network.lm_head.weight))
    return network


NETWORKS: dict[str, Callable[[], Any]] = {
    "t5": lambda: tiny_readers.network("t5"),
    "old": old_t5,
    "gated": gated,
    "bart": lambda: tiny_readers.network("bart"),
}


@torch.no_grad()
def logits(network: Any, width: int | None = None) -> torch.Tensor:
    """Of a beginning after passages, in double precision, by the network's own attention."""
    batch = collate(INPUTS, [(7, 9, 3)] * 2, (0,), width)
    names = ("input_ids", "attention_mask", "keep", "lengths", "decoder_input_ids")
    found = FusionInDecoder(network.double().eval())(**{name: batch[name] for name in names}).logits
    return torch.as_tensor(found)


@pytest.fixture
def convert(call: Runner, tmp_path: Path) -> Convert:
    def run(checkpoint: Path, kind: str = "t5", *options: object) -> Result:
        tokenizer = tmp_path / "tokenizer"
        tokenizer.mkdir(exist_ok=True)
        (tokenizer / "tokenizer.json").write_text(tiny_readers.definition(kind), encoding="utf-8")
        output = ("--output", tmp_path / "made", "--tokenizer", tokenizer)
        return call(main, "--checkpoint", checkpoint, *output, *options)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "zip") for name in NETWORKS),
        *(("t5", form) for form in ("old file", "safetensors", "no copies", "unwrapped")),
        *((name, "no copies") for name in ("gated", "bart")),
    ],
)
def test_logits_are_those_of_the_network_that_was_published(
    convert: Convert, tmp_path: Path, name: str, form: str
) -> None:
    network = NETWORKS[name]()
    kind = "bart" if name == "bart" else "t5"
    state = published(network) if form != "unwrapped" else dict(network.state_dict())
    if form == "no copies":
        copies = [key for key in state if "embed_tokens" in key]
        copies += ["lm_head.weight"] if name != "gated" else []
        for key in copies:
            del state[key]
    folder = save(tmp_path / "published", network, state)
    if form == "old file":
        torch.save(state, folder / WEIGHTS, _use_new_zipfile_serialization=False)
    if form == "safetensors":
        from safetensors.torch import save_file

        (folder / WEIGHTS).unlink()
        save_file({key: value.clone() for key, value in state.items()}, folder / "model.safetensors")
    result = convert(folder, kind)
    assert result.code == 0, result.err
    assert result.out == f"{tmp_path / 'made'}\n"
    assert result.err.endswith(" parameters\n")
    files = ModelFiles("made", str(tmp_path / "made"))
    made = load_network(files, torch.float32)
    parts = parts_of(made, files)
    assert parts.description.cross_attention_bias == (name == "old")
    assert parts.description.affixes == (name != "old")
    width = 9 if name == "old" else None
    expected = logits(network, width)
    assert expected.std() > 0.5
    torch.testing.assert_close(logits(made, width), expected, atol=1e-9, rtol=1e-9)


def test_the_folder_reads_and_says_how(convert: Convert, tmp_path: Path) -> None:
    network = tiny_readers.network("t5")
    checkpoint = save(tmp_path / "published", network, published(network))
    result = convert(checkpoint / "pytorch_model.bin", "t5", "--passage-tokens", 200, "--contexts", 50)
    assert result.code == 0, result.err
    folder = tmp_path / "made"
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "fid.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o755, *[0o644] * 5]
    description = load_fid_description(folder)
    assert (description.passage_tokens, description.contexts, description.answer_tokens) == (200, 50, 50)
    assert load_fid_reader(str(folder), device="cpu").read(["who is here"], [CONTEXTS])[0].text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({f"{LAYER}.1.module.layer.0.SelfAttention.q.weight": None}, "lacks the tensor encoder.block.1."),
        ({NORM: None, "decoder.block.1.layer.2.layer_norm.weight": None}, " and 1 more; is it a whole"),
        ({"shared.weight": None}, "lacks the tensor shared.weight; is it a whole network?"),
        ({f"{LAYER}.7.module.layer.0.layer_norm.weight": (32,)}, "has the tensor encoder.block.7.layer.0"),
        ({NORM: (31,)}, f"{NORM} is [31]; by its config.json it is [32]"),
        ({"encoder.final_layer_norm.weight": (32,)}, "has two different tensors encoder.final_layer_norm."),
        ({BIAS: (31, 4)}, "relative_attention_bias.weight is [31, 4]; it must be [32, 4]"),
        ({BIAS: "nan"}, "relative_attention_bias.weight is torch.float32 with values that are no finite"),
        ({NORM: "nan"}, f"{NORM} is torch.float32 with values that are no finite numbers"),
        ({NORM: "text"}, f"state['{NORM}'] is a str"),
    ],
)
def test_tensors_that_do_not_make_the_network(
    convert: Convert, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    network = tiny_readers.network("t5")
    state: dict[str, Any] = dict(published(network))
    for name, value in change.items():
        if value is None:
            del state[name]
        elif value == "nan":
            state[name] = torch.full_like(state.get(name, torch.ones(32, 4)), torch.nan)
        else:
            state[name] = torch.ones(value) if isinstance(value, tuple) else value
    assert_fault(convert(save(tmp_path / "published", network, state)), 1, "pytorch_model.bin: ", told)
    assert not (tmp_path / "made").exists()


class Evil:
    """Makes a file where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("evil",)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / WEIGHTS).unlink(), "has no pytorch_model.bin or model.safetensors; name"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"PK\x03\x04"), "truncated, damaged or no checkpoint"),
        (lambda folder: torch.save({"a": Evil()}, folder / WEIGHTS), "refused: it names "),
        (lambda folder: torch.save([1], folder / WEIGHTS), "not a network's state: holds [1]"),
        (lambda folder: (folder / "config.json").unlink(), "config.json: no such file; it says what network"),
        (lambda folder: (folder / "config.json").write_text("{", "utf-8"), "config.json: cannot be read"),
        (
            lambda folder: (folder / "config.json").write_text('{"model_type": "gpt2"}', "utf-8"),
            "model_type is 'gpt2', which is no encoder-decoder model",
        ),
    ],
)
def test_checkpoints_that_cannot_be_read(
    convert: Convert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    network = tiny_readers.network("t5")
    folder = save(tmp_path / "published", network, published(network))
    spoil(folder)
    assert_fault(convert(folder), 1, told)
    assert not (tmp_path / "made").exists()
    assert not (tmp_path / "evil").exists()


def test_a_tokenizer_of_another_model_is_refused(convert: Convert, tmp_path: Path) -> None:
    network = tiny_readers.network("t5")
    folder = save(tmp_path / "published", network, published(network))
    assert_fault(convert(folder, "bart"), 1, "the tokenizer knows ids up to ")
    assert not (tmp_path / "made").exists()
