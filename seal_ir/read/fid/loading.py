"""Loading a model to read with or to train: what it must be, and what its folder says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from seal_ir.errors import ModelError
from seal_ir.lm.load import check_vocabulary, default_start, naming
from seal_ir.read.fid.description import FID_JSON, FidDescription, load_fid_description
from seal_ir.text.pretrained import ModelFiles, load_tokenizer
from seal_ir.text.tokenizer import TextTokenizer

BIAS = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
WEIGHTS = "model.safetensors"


class Parts(NamedTuple):
    """What goes with a network.

    Attributes:
        tokenizer: the model's.
        description: how it is asked, within what the network can take.
        start: tokens that an answer starts with in the decoder.
        end: the token that ends it.
    """

    tokenizer: TextTokenizer
    description: FidDescription
    start: tuple[int, ...]
    end: int


def parts_of(network: Any, files: ModelFiles) -> Parts:
    """What goes with a network, which gets the bias of its folder, if it has one.

    Raises:
        ModelError: it is no encoder-decoder model, or the tokenizer is not its own.
    """
    if not network.config.is_encoder_decoder:
        raise ModelError(
            f"{files.source}: {type(network).__name__} is no encoder-decoder model, and Fusion-in-Decoder"
            " needs one: T5, BART or the like"
        )
    tokenizer = load_tokenizer(files)
    check_tokenizer(network, tokenizer, files.source)
    description = load_fid_description(files.folder)
    if description.cross_attention_bias:
        _attach_own_bias(network, Path(files.source))
    with naming(files.source):
        start = tuple(default_start(network))
    return Parts(tokenizer, within(network, description), start, network.config.eos_token_id)


def check_tokenizer(network: Any, tokenizer: TextTokenizer, source: str) -> None:
    """Refuse a tokenizer that is not a network's.

    Raises:
        ModelError: it has tokens that the network has not, or ends texts with another token; or no token ends
            an answer.
    """
    with naming(source):
        check_vocabulary(network, tokenizer)
    end = getattr(network.config, "eos_token_id", None)
    if not isinstance(end, int):
        raise ModelError(f"{source}: its eos_token_id is {end}; answers need one token that ends them")
    after = tokenizer.affixes[1]
    if after and end not in after:
        raise ModelError(
            f"{source}: its tokenizer ends a text with the token {after[-1]}, the model with {end};"
            " it is the tokenizer of another model"
        )


def within(network: Any, description: FidDescription) -> FidDescription:
    """The same with as many tokens as the network has places for; T5's places have no end."""
    places = getattr(network.config, "max_position_embeddings", None)
    if not isinstance(places, int):
        return description
    return replace(
        description,
        passage_tokens=min(description.passage_tokens, places),
        answer_tokens=min(description.answer_tokens, places - 2),  # with the tokens that it starts with
    )


def _attach_own_bias(network: Any, folder: Path) -> None:
    """Give a network the bias that its folder has."""
    path = folder / WEIGHTS
    try:
        with safe_open(path, "pt") as file:
            bias = file.get_tensor(BIAS)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{folder}: {FID_JSON} says cross_attention_bias, but {WEIGHTS} gives no {BIAS} for it ({error})"
        ) from error
    attach_bias(network, bias.to(network.device, network.dtype), path)


def attach_bias(network: Any, bias: torch.Tensor, path: Path) -> None:
    """Give a T5 the relative bias of its decoder's attention over the encoder, which transformers dropped.

    Args:
        network: the T5.
        bias: [buckets, heads].
        path: where it is from, for messages.

    Raises:
        ModelError: the network is no T5, or the bias is none of its.
    """
    try:
        attention = network.decoder.block[0].layer[1].EncDecAttention
        expected = [attention.relative_attention_num_buckets, attention.n_heads]
    except (AttributeError, IndexError) as error:
        raise ModelError(f"{path}: has {BIAS}, and {type(network).__name__} is no T5") from error
    if list(bias.shape) != expected or not bool(bias.isfinite().all()):
        raise ModelError(f"{path}: {BIAS} is {list(bias.shape)}; it must be {expected}, all finite")
    attention.relative_attention_bias = nn.Embedding(expected[0], expected[1], _weight=bias)
    attention.has_relative_attention_bias = True
