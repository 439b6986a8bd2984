"""A model by name, made a `PromptReader`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seal_ir.errors import ModelError
from seal_ir.lm.choose import causal_model
from seal_ir.lm.device import chosen_device, chosen_dtype
from seal_ir.lm.load import load_network
from seal_ir.read.prompt.reader import PromptReader
from seal_ir.read.prompt.template import DEFAULT_TEMPLATE, Template
from seal_ir.text.pretrained import BASE_MODEL, find_model, load_tokenizer
from seal_ir.text.tokenizer import TextTokenizer


def load_prompt_reader(
    name: str = BASE_MODEL,
    device: str | None = None,
    dtype: str | None = None,
    *,
    template: Template = DEFAULT_TEMPLATE,
    quote: bool = False,
) -> PromptReader:
    """A reader that a causal model makes.

    Args:
        name: folder, hub name, or name of a packaged model; see `find_model`.
        device: see `load_generator`.
        dtype: see `load_generator`.
        template: how questions and passages are laid out.
        quote: whether answers may only quote the passages.

    Raises:
        ModelError: the model cannot be found or loaded, or is no causal one.
        UsageError: device or dtype is unknown or not available.
    """
    place = chosen_device(device)
    files = find_model(name)
    tokenizer = load_tokenizer(files)
    network = load_network(files, chosen_dtype(dtype, place)).to(place)
    if network.config.is_encoder_decoder:
        raise ModelError(
            f"{files.source}: is an encoder-decoder model; the prompt reader needs a causal one, and"
            " Fusion-in-Decoder reads with this kind"
        )
    return PromptReader(
        causal_model(network), tokenizer, text_ends(network, tokenizer), template, quote=quote
    )


def text_ends(network: Any, tokenizer: TextTokenizer) -> tuple[int, ...]:
    """Tokens that end an answer: what the model ends its texts with, and all that hold a line break."""
    ids = sorted(set(tokenizer.vocabulary.values()))
    texts = tokenizer.decode_fields([[token] for token in ids])
    breaks = [token for token, text in zip(ids, texts, strict=True) if "\n" in text or "\r" in text]
    return tuple(dict.fromkeys([*_eos(network), *breaks]))


def _eos(network: Any) -> Sequence[int]:
    for config in (getattr(network, "generation_config", None), network.config):
        eos = getattr(config, "eos_token_id", None)
        if eos is not None:
            return [int(eos)] if isinstance(eos, int) else [int(token) for token in eos]
    return []
