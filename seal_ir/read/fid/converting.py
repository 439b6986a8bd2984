"""A published Fusion-in-Decoder checkpoint becomes a folder that reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from seal_ir.convert.torch_files import check_tensor, load_torch
from seal_ir.convert.writing import write_model
from seal_ir.errors import InputError, one_line
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.outputs import new_folder
from seal_ir.read.fid.description import FID_JSON, FidDescription
from seal_ir.read.fid.layout import Tensors, transformers_tensors
from seal_ir.read.fid.loading import WEIGHTS, attach_bias, check_tokenizer
from seal_ir.text.pretrained import find_model, load_tokenizer, tokenizer_definition

_FILES = ("pytorch_model.bin", WEIGHTS)  # what a checkpoint's weights are called


@dataclass(frozen=True, slots=True)
class FidConversion:
    """What to convert.

    Attributes:
        checkpoint: folder with `config.json` and `pytorch_model.bin`, or the latter itself.
        output: folder to make; there must be none.
        tokenizer: of the model that was trained further: a folder or a hub name.
        description: how the model was trained; what the checkpoint itself tells is filled in.
    """

    checkpoint: Path
    output: Path
    tokenizer: str
    description: FidDescription = FidDescription()


def convert(conversion: FidConversion) -> int:
    """Make the folder, whole or not at all; returns the number of the model's parameters.

    Raises:
        InputError: the checkpoint is missing, damaged, unsafe, or no encoder-decoder model's.
        ModelError: the tokenizer cannot be found or is not the checkpoint's.
        UsageError: the folder exists or cannot be written.
    """
    with new_folder(conversion.output) as folder:
        files = find_model(conversion.tokenizer)
        tokenizer, definition = load_tokenizer(files), tokenizer_definition(files)
        network, has_bias = _network(_weights(conversion.checkpoint))
        check_tokenizer(network, tokenizer, files.source)
        description = conversion.description
        if has_bias:  # written by transformers before 4.0, whose T5 tokenizer put no </s> at the end
            description = replace(description, cross_attention_bias=True, affixes=False)
        texts = {"tokenizer.json": definition, FID_JSON: description.to_json()}
        return write_model(network, texts, folder, conversion.output, conversion.checkpoint)


def _weights(checkpoint: Path) -> Path:
    """The file of weights that a checkpoint means."""
    if not checkpoint.is_dir():
        return checkpoint
    for name in _FILES:
        if (checkpoint / name).is_file():
            return checkpoint / name
    raise InputError(f"{checkpoint}: has no {' or '.join(_FILES)}; name the folder of a checkpoint")


def _network(path: Path) -> tuple[Any, bool]:
    """The network, its tensors still in the file where they can be, and whether it has the old bias."""
    tensors, described = _read(path), path.with_name("config.json")
    config, kind = _config(described), cast("Any", AutoModelForSeq2SeqLM)
    try:
        with torch.device("meta"):  # names and shapes only; the tensors follow
            network = kind.from_config(config)
    except Exception as error:  # noqa: BLE001 - any, of a configuration that means nothing
        raise InputError(f"{described}: is of no network ({one_line(error, 200)})") from error
    shapes = {name: value.shape for name, value in network.state_dict().items()}
    named, bias = transformers_tensors(path, tensors, shapes)
    network.load_state_dict(named, assign=True)
    network.tie_weights()
    if not torch.equal(named["lm_head.weight"], network.get_input_embeddings().weight):
        network.lm_head.weight = nn.Parameter(named["lm_head.weight"])  # T5 1.1 has a head of its own
    if bias is not None:
        attach_bias(network, bias.float(), path)
    return network.eval(), bias is not None


def _read(path: Path) -> Tensors:
    """The tensors of a file of torch's or of safetensors, by name."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise InputError(f"{path}: cannot be read ({one_line(error)})") from error
    state = load_torch(path)
    if not isinstance(state, dict) or not state:
        raise InputError(f"{path}: not a network's state: holds {shown(state)}; expected tensors by name")
    for name, value in state.items():
        check_tensor(path, "state", name, value)
    return dict(state)


def _config(path: Path) -> Any:
    """The configuration beside the weights."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; it says what network the checkpoint is of")
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - transformers raises many kinds
        raise InputError(f"{path}: cannot be read ({one_line(error, 200)})") from error
    if not config.is_encoder_decoder:
        raise InputError(f"{path}: model_type is {config.model_type!r}, which is no encoder-decoder model")
    return config
