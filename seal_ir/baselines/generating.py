"""A language model that writes freely, without an index: prompts in batches, by transformers' generate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig

from seal_ir.lm.device import told_place
from seal_ir.lm.load import load_model, quiet_transformers
from seal_ir.lm.protocols import Generator, Tokens
from seal_ir.text.description import CAUSAL


@dataclass(frozen=True, slots=True)
class Writer:
    """A loaded language model.

    Attributes:
        network: transformers', with neutral settings for generation.
        generator: the same model with its tokenizer and prompts.
        ends: tokens after which it has nothing more to say.
        padding: a token that is never read.
        start: tokens that open the target of a sequence-to-sequence model.
    """

    network: Any
    generator: Generator
    ends: Tokens
    padding: int
    start: Tokens = ()


@dataclass(frozen=True, slots=True)
class Writing:
    """What to write after each prompt.

    Attributes:
        n_tokens: at most so many tokens.
        ends: tokens that end it, beside the model's own.
        beams: 1 takes the best token at each step; more give as many texts, by beam search, best first, by
            log-probability without a penalty for length.
    """

    n_tokens: int
    ends: Tokens = ()
    beams: int = 1


class Written(NamedTuple):
    """A text that a model wrote, without its end. `finished` tells whether it came to one."""

    tokens: Tokens
    finished: bool


Adjust = Callable[[Sequence[int]], Any]  # the places of a batch's prompts -> a LogitsProcessor for them


def load_writer(name: str, device: str | None = None, dtype: str | None = None) -> Writer:
    """Load a model by folder, hub name, or the name of a packaged one; see `load_generator`.

    Raises:
        ModelError: the model cannot be found or loaded, or its description does not fit it.
        UsageError: device or dtype is unknown or not available.
    """
    network, generator = load_model(name, device, dtype)
    ends = sorted({*_token_ids(network, "eos_token_id")})
    (padding, *_) = _token_ids(network, "pad_token_id") or [0]
    start: list[int] = getattr(generator.model, "start_tokens", [])  # of sequence-to-sequence models
    sys.stderr.write(f"model: {name} {told_place(generator)}\n")
    # None of the model's own settings, such as penalties, may change what it says.
    settings: Any = GenerationConfig
    network.generation_config = settings(decoder_start_token_id=start[0] if start else None)
    return Writer(network, generator, tuple(ends), padding, tuple(start))


def line_ends(writer: Writer) -> Tokens:
    """The tokens with a line feed in them."""
    tokenizer = writer.generator.tokenizer
    return tuple(token for token in range(tokenizer.n_vocabulary) if "\n" in tokenizer.decode([token]))


def write(
    writer: Writer,
    prompts: Sequence[Tokens],
    writing: Writing,
    batch_size: int,
    adjust: Adjust | None = None,
) -> list[list[Written]]:
    """The texts that the model writes after each prompt, in their order; one each, or as many as beams.

    Args:
        writer: the model.
        prompts: token ids, see `make_prompt`.
        writing: how.
        batch_size: prompts of about one length that are read together.
        adjust: changes a batch's logits, see `Adjust`.
    """
    written: list[list[Written]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda at: len(prompts[at]))
    for start in range(0, len(order), batch_size):
        places = order[start : start + batch_size]
        rows = _generate(writer, [prompts[at] for at in places], writing, adjust and adjust(places))
        for n, row in enumerate(rows):
            written[places[n // writing.beams]].append(_ended(row, {*writer.ends, *writing.ends}))
    return written


@torch.inference_mode()
def _generate(writer: Writer, prompts: Sequence[Tokens], writing: Writing, processor: Any) -> list[list[int]]:
    """New tokens of each prompt and beam, padded."""
    causal = writer.generator.description.family == CAUSAL
    width = max(len(prompt) for prompt in prompts)
    ids = torch.full((len(prompts), width), writer.padding)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        place = slice(width - len(prompt), width) if causal else slice(0, len(prompt))
        ids[row, place], mask[row, place] = torch.tensor(prompt), 1
    options: dict[str, Any] = {"logits_processor": [processor]} if processor is not None else {}
    if writing.beams > 1:
        options |= {"num_return_sequences": writing.beams, "length_penalty": 0.0}
    if not causal:
        options["decoder_input_ids"] = torch.tensor([writer.start] * len(prompts)).to(writer.network.device)
    device = writer.network.device
    with quiet_transformers():
        output = writer.network.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=writing.n_tokens,
            do_sample=False,
            num_beams=writing.beams,
            eos_token_id=sorted({*writer.ends, *writing.ends}) or None,
            pad_token_id=writer.padding,
            **options,
        )
    rows: list[list[int]] = output[:, width if causal else len(writer.start) :].tolist()
    return rows


def _ended(row: list[int], ends: set[int]) -> Written:
    end = next((at for at, token in enumerate(row) if token in ends), None)
    return Written(tuple(row[:end]), end is not None)


def _token_ids(network: Any, name: str) -> list[int]:
    """The special tokens that a network's settings have under a name, those for generation first."""
    values = [getattr(config, name, None) for config in (network.generation_config, network.config)]
    listed = [value if isinstance(value, list | tuple) else [value] for value in values if value is not None]
    return [int(token) for value in listed for token in value]
