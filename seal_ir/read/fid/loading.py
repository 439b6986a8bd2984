"""Loading a model to read with or to train: what it must be, and what its folder says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from torch import nn

from seal_ir.errors import ModelError
from seal_ir.lm.load import check_vocabulary, default_start
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
            " needs one: T5, BART or the like; other models answer with --reader prompt"
        )
    tokenizer = load_tokenizer(files)
    check_vocabulary(network, tokenizer)
    end = network.config.eos_token_id
    if not isinstance(end, int):
        raise ModelError(f"{files.source}: its eos_token_id is {end}; answers need one token that ends them")
    after = tokenizer.affixes[1]
    if after and end not in after:
        raise ModelError(
            f"{files.source}: its tokenizer ends a text with the token {after[-1]}, the model with {end};"
            " it is the tokenizer of another model"
        )
    description = load_fid_description(files.folder)
    if description.cross_attention_bias:
        _attach_bias(network, Path(files.source))
    return Parts(tokenizer, within(network, description), tuple(default_start(network)), end)


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


def _attach_bias(network: Any, folder: Path) -> None:
    """Give a T5 the relative bias of its decoder's attention over the encoder, which transformers dropped."""
    try:
        with safe_open(folder / WEIGHTS, "pt") as file:
            bias = file.get_tensor(BIAS).to(network.device, network.dtype)
        attention = network.decoder.block[0].layer[1].EncDecAttention
    except (OSError, SafetensorError, AttributeError, IndexError) as error:
        raise ModelError(
            f"{folder}: {FID_JSON} says cross_attention_bias, but {WEIGHTS} gives no {BIAS} for it ({error})"
        ) from error
    expected = (attention.relative_attention_num_buckets, attention.n_heads)
    if tuple(bias.shape) != expected or not bool(bias.isfinite().all()):
        raise ModelError(
            f"{folder / WEIGHTS}: {BIAS} is {list(bias.shape)}; it must be {list(expected)}, all finite"
        )
    attention.relative_attention_bias = nn.Embedding(*expected, _weight=bias)
    attention.has_relative_attention_bias = True
