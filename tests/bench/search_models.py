"""Models of a given shape with random weights that load a search about as a trained model does.

Random weights of the usual scale give nearly the same probability to all tokens of the vocabulary. So the
output bias, which BART has anyway, is the log frequency of each token in the corpus, and the last layer norm
of the decoder is scaled until the mean entropy of the first step over a few prompts is `ENTROPY`. What is
written is still nonsense: long keys are less likely than a trained model's, and fewer have a weight. On
10,000 passages that left 24 of 242 keys, with 11,692 occurrences in 5,603 documents, where SmolLM2-135M's
214 of 300 had 15,288 in 6,150 (means over 4 questions of NQ test).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import BartConfig, BartForConditionalGeneration

from seal_ir.index.reader import Index
from seal_ir.lm.load import wire
from seal_ir.lm.protocols import Generator
from seal_ir.text.description import SEQ2SEQ_TEMPLATE, ModelDescription
from seal_ir.text.symbols import FIRST_TOKEN

ENTROPY = 4.7  # nats, of the first step: SmolLM2-135M on questions of NQ test (4.5 on those of the demo)
SEED = 20


@dataclass(frozen=True)
class Shape:
    """Sizes of an encoder-decoder network."""

    layers: int  # of the encoder, and as many of the decoder
    size: int
    heads: int


SHAPES = {"bart-small": Shape(6, 256, 4), "bart-large": Shape(12, 1024, 16)}


def random_bart(shape: Shape, index: Index, texts: Sequence[str]) -> Generator:
    """A BART of a shape, ready to decode; the same one every time.

    Args:
        shape: its sizes.
        index: gives tokenizer and frequencies; ids 0 and 2 open the target, as BART's do.
        texts: queries over which the entropy is set.
    """
    tokenizer = index.tokenizer
    n = max(50265, tokenizer.n_vocabulary)
    torch.manual_seed(SEED)
    config = BartConfig(
        vocab_size=n,
        d_model=shape.size,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=4 * shape.size,
        decoder_ffn_dim=4 * shape.size,
        max_position_embeddings=1024,
        decoder_start_token_id=2,
        forced_bos_token_id=0,
    )
    network = BartForConditionalGeneration(config).eval()
    network.generation_config.forced_bos_token_id = 0
    network.final_logits_bias.copy_(log_frequencies(index, n))
    set_entropy(network, [tokenizer.encode(SEQ2SEQ_TEMPLATE.body.replace("{query}", text)) for text in texts])
    ends = " @@" if len(tokenizer.encode(" @@")) == 1 else "\n"
    made = SEQ2SEQ_TEMPLATE
    return wire(network, tokenizer, ModelDescription(made.family, made.body, made.title, ends))


@torch.inference_mode()
def set_entropy(network: Any, prompts: Sequence[Sequence[int]]) -> None:
    """Scale what goes into the output layer until the first step's mean entropy is `ENTROPY`."""
    target = torch.tensor([[2, 0]])
    logits = torch.cat(
        [
            network(input_ids=torch.tensor([prompt]), decoder_input_ids=target).logits[:, -1]
            for prompt in prompts
        ]
    )
    logits -= network.final_logits_bias
    low, high = 0.0, 1000.0
    for _ in range(60):
        scale = (low + high) / 2
        if entropy(logits * scale + network.final_logits_bias) > ENTROPY:
            low = scale
        else:
            high = scale
    last = network.model.decoder.layers[-1].final_layer_norm
    last.weight.mul_(low)
    last.bias.mul_(low)


def log_frequencies(index: Index, n: int) -> torch.Tensor:
    """Log of each token's share of the corpus, float32 [1, n]; tokens that do not occur count half."""
    first = index.first_symbols
    counts = np.full(n, 0.5)
    inside = (first.symbols >= FIRST_TOKEN) & (first.symbols < n + FIRST_TOKEN)
    sizes = (first.ranges[inside, :, 1] - first.ranges[inside, :, 0]).sum(axis=1)
    counts[first.symbols[inside].astype(np.int64) - FIRST_TOKEN] = sizes
    return torch.from_numpy(np.log(counts / counts.sum())).float()[None]


def entropy(logits: torch.Tensor) -> float:
    """Mean over rows of the entropy of their softmax, in nats."""
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    return float(-(logprobs.exp() * logprobs).sum(dim=-1).mean())
