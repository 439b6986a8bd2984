"""A training set and models that are small enough to train in a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.records import Document
from seal_ir.train.data.dataset import finish, open_directory, write_parts
from seal_ir.train.data.examples import Example, ExampleOptions, document_examples, pair_examples
from seal_ir.train.data.pairs import SUPERVISED, Pair
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner

PLACES = ["Paris", "London", "Tokyo", "Everest", "Seine", "Thames", "Earth", "Japan", "France", "Whale"]
# A small fit without a word in between.
FAST = ("--tokens", 500, "--max-tokens", 120, "--warmup", 0, "--log-steps", 100, "--eval-steps", 1000)
Fit = Callable[..., Result]
DOCUMENTS = [
    Document(
        f"p{i}", place, f"{place} is the capital of the country of {place} and lies at the river {place}."
    )
    for i, place in enumerate(PLACES)
]


def questions() -> list[tuple[str, Document]]:
    forms = ("what is the capital {}", "which river is in {}", "where is {}", "which country has {}")
    return [(form.format(document.title), document) for form in forms for document in DOCUMENTS]


def make_set(folder: Path) -> Path:
    """Forty pairs, then the ten documents."""
    items: list[Pair | Document] = [
        Pair(question, document.title, document.text, SUPERVISED) for question, document in questions()
    ]
    items += DOCUMENTS
    options = ExampleOptions(span_words=4)

    def examples_of(item: Pair | Document, rng: np.random.Generator) -> list[Example]:
        if isinstance(item, Pair):
            return pair_examples(item, options, rng)
        return document_examples(item, options, rng)

    open_directory(folder, {"test": True})
    write_parts(folder, items, examples_of, 0)
    finish(folder, {})
    return folder


def fitting(call: Runner, data: Path, usual_model: Path, *usual: object) -> Fit:
    """`train fit` into a folder, with further options behind the usual ones; `model=` trains another one."""
    from seal_ir.train.__main__ import main

    def fit(output: Path, *options: object, model: Path = usual_model) -> Result:
        return call(main, "fit", "--data", data, "--model", model, "--output", output, *usual, *options)

    return fit


def report(folder: Path) -> dict[str, Any]:
    """What training left of itself in a model's folder."""
    return dict(json.loads((folder / "training.json").read_text(encoding="utf-8")))


def save_bart(folder: Path) -> Path:
    """A sequence-to-sequence model folder with random weights."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    tiny.save_tokenizer(folder)
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=tiny.tokenizer().n_vocabulary,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=256,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_bos_token_id=0,
    )
    network: Any = BartForConditionalGeneration(config)
    network.save_pretrained(folder)
    return folder
