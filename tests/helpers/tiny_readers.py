"""Encoder-decoder models with random weights: T5s and BARTs small enough to read with in a test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from seal_ir.read.records import Context
from tests.helpers import tiny

WIDTH, HEADS = 32, 4
KINDS = ("t5", "gated", "bart")  # T5, T5 1.1 with its gated layers, BART
CONTEXTS = [Context(document.id, document.title, document.text) for document in tiny.DOCUMENTS]


@cache
def t5_definition() -> str:
    """The tokenizer.json of a Unigram model with T5's special tokens; </s> ends a text."""
    words = sorted({word for text in (*tiny.SENTENCES, "question: title: context:") for word in text.split()})
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(f"▁{word}", -3.0) for word in words]
    pieces += [(chr(i), -9.0) for i in range(33, 127)] + [("▁", -5.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return str(tokenizer.to_str())


def definition(kind: str) -> str:
    return tiny.definition() if kind == "bart" else t5_definition()


def network(kind: str, seed: int = 0, **changes: Any) -> Any:
    """A network with weights large enough that each of them shows in the logits."""
    n_tokens = Tokenizer.from_str(definition(kind)).get_vocab_size()
    torch.manual_seed(seed)
    if kind == "bart":
        sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 2)
        sizes |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), HEADS)
        sizes |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 48)
        special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
        options = {"d_model": WIDTH, "max_position_embeddings": 128, "init_std": 0.3}
        values = {"vocab_size": n_tokens} | sizes | special | options | changes
        made = _shaken(BartForConditionalGeneration(BartConfig(**values)))
        made.generation_config.forced_bos_token_id = 0
        return made
    options = {"d_model": WIDTH, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": HEADS}
    options |= {"initializer_factor": 1.0, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    if kind == "gated":
        options |= {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    return _shaken(T5ForConditionalGeneration(T5Config(**({"vocab_size": n_tokens} | options | changes))))


def save(folder: Path, kind: str, seed: int = 0, **changes: Any) -> Path:
    """A model folder as transformers writes it, with its tokenizer."""
    network(kind, seed, **changes).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(definition(kind), encoding="utf-8")
    return folder


@torch.no_grad()
def _shaken(made: Any) -> Any:
    """No weight as it was begun with: biases of 0 and norms of 1 would hide an error.

    Decoders attend sharply, so that answers depend on passages and do not repeat their first token.
    """
    for name, parameter in made.named_parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
        if re.search(r"decoder.*(attn|Attention)\..*weight", name):
            parameter.mul_(6)
    return made.eval()
