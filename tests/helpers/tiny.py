"""Small things that behave like large ones: a tokenizer, a model that likes its prompt's words, a corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from seal_ir.arrays import Floats
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.manifest import Manifest
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import Generator
from seal_ir.records import Document
from seal_ir.text.description import CAUSAL
from seal_ir.text.symbols import to_symbols
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import stub
from tests.helpers.stub import StubModel

SPECIAL = ["<s>", "<pad>", "</s>", "<mask>"]
LITERAL = "The tag </s> ends, <mask> hides, <pad> fills, @@ and || too."
SENTENCES = [
    "Paris is the capital of France, and the Seine flows through the city.",
    "The river that flows through London is the Thames.",
    "Mount Everest is the highest mountain on Earth.",
    "The capital of Japan is Tokyo, the largest city of the country.",
    "A whale is a mammal that lives in the sea.",
]
DOCUMENTS = [
    Document("d1", "Paris", SENTENCES[0]),
    Document("d2", "London", SENTENCES[1]),
    Document("d3#0", "", SENTENCES[2]),
    Document("d3#1", "Everest", "It was first climbed in 1953."),
    Document("d4", "Tokyo", SENTENCES[3]),
    Document("d5", "Whale", SENTENCES[4]),
    Document("d6", "", LITERAL),
]


def byte_level(texts: Sequence[str], special: Sequence[str], size: int) -> Tokenizer:
    """A byte-level BPE with merges of the texts; a text is encoded between <s> and </s>, as BART's are."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


@cache
def definition() -> str:
    """The tokenizer.json of a byte-level BPE with merges of a few sentences, and BART's special tokens."""
    return str(byte_level([" " + sentence for sentence in SENTENCES], SPECIAL, 400).to_str())


@cache
def tokenizer() -> TextTokenizer:
    return TextTokenizer(definition())


def stream_of(text: str) -> list[int]:
    """The symbols of a text as it stands in a document."""
    symbols: list[int] = to_symbols(tokenizer().encode_fields([text])[0]).tolist()
    return symbols


def about(model: str = "tiny") -> Mapping[str, Any]:
    return {"model": model, "collection": {"kind": "test"}}


def build(
    directory: Path,
    documents: Iterable[Document] = DOCUMENTS,
    max_segment_tokens: int = 1 << 30,
    text_tokenizer: TextTokenizer | None = None,
    **options: Any,
) -> Manifest:
    """Build an index of documents; `options` are `BuildOptions`."""
    building = BuildOptions(max_segment_tokens=max_segment_tokens, **options)
    return build_index(documents, directory, text_tokenizer or tokenizer(), about, building)


def built(directory: Path, *args: Any, **options: Any) -> Index:
    build(directory, *args, **options)
    return Index(directory)


class EchoModel(StubModel):
    """Likes what its prompt says: tokens of the prompt, above all those that follow the last one there."""

    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> Floats:
        last = written[-1] if len(written) else prompt[-1]
        logits = np.random.default_rng(last).random(self.n_vocabulary)
        logits[list(prompt)] += 5
        logits[[after for before, after in zip(prompt[:-1], prompt[1:], strict=True) if before == last]] += 8
        return (logits - np.log(np.exp(logits).sum())).astype(np.float32)


def generator(text_tokenizer: TextTokenizer | None = None) -> Generator:
    """The echo model, ready for an index of this module."""
    chosen = text_tokenizer or tokenizer()
    (title_end,) = chosen.encode("\n")
    return stub.generator(chosen, EchoModel(chosen.n_vocabulary, max_tokens=512), title_end)


def save_tokenizer(folder: Path) -> Path:
    """A model folder with nothing but a tokenizer: enough to build an index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(definition(), encoding="utf-8")
    return folder


def save_llama(folder: Path) -> Path:
    """A model folder with random weights that transformers loads; takes a few seconds of importing torch."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    save_tokenizer(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer().n_vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    short = {"family": CAUSAL, "body": "words: {query} :", "title": "title: {query} :", "title_end": "\n"}
    (folder / "seal.json").write_text(json.dumps(short), encoding="utf-8")
    return folder
