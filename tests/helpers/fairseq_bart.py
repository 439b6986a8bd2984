"""BART as fairseq has it: a small one with random weights, its checkpoint, and its forward pass by hand.

Nothing here knows transformers or the converter; names, options and layout are those of fairseq.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, pre_tokenizers
from torch import Tensor
from torch.nn import functional

from tests.helpers import tiny

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WIDTH, INNER, HEADS, POSITIONS = 16, 24, 4, 64
LAYERS = {"encoder": 2, "decoder": 3}
State = dict[str, Tensor]


@cache
def definition() -> str:
    """The tokenizer.json of a small BART: four special tokens, bytes, merges, <mask> at the end."""
    texts = [*(" " + sentence for sentence in tiny.SENTENCES), " @@ @@ @@ @@ @@ @@ @@ @@"]
    tokenizer = tiny.byte_level(texts, SPECIAL, 320)
    tokenizer.add_special_tokens(["<|endoftext|>", "<mask>"])
    return str(tokenizer.to_str())


def n_tokens() -> int:
    return int(Tokenizer.from_str(definition()).get_vocab_size())


def save_tokenizer(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(definition(), encoding="utf-8")
    return folder


def gpt2_numbers() -> dict[str, str]:
    """What a dict.txt calls each token that is not special: bytes, merges, the end of text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = json.loads(definition())["model"]["merges"]
    names = [*alphabet, *("".join(merge) for merge in merges), "<|endoftext|>"]
    return {name: str(number) for number, name in enumerate(names)}


def arguments(**changes: Any) -> Namespace:
    """What fairseq keeps of a command line, the part that matters and some that does not."""
    values: dict[str, Any] = {
        "arch": "bart_large", "task": "translation", "max_tokens": 4096, "lr": [3e-5],
        "fp16": True, "adam_betas": "(0.9, 0.999)", "ddp_backend": "c10d", "user_dir": None,
        "encoder_embed_dim": WIDTH, "encoder_ffn_embed_dim": INNER, "encoder_layers": LAYERS["encoder"],
        "encoder_attention_heads": HEADS, "encoder_normalize_before": False, "encoder_learned_pos": True,
        "decoder_embed_dim": WIDTH, "decoder_ffn_embed_dim": INNER, "decoder_layers": LAYERS["decoder"],
        "decoder_attention_heads": HEADS, "decoder_normalize_before": False, "decoder_learned_pos": True,
        "max_source_positions": POSITIONS, "max_target_positions": POSITIONS, "activation_fn": "gelu",
        "no_scale_embedding": True, "layernorm_embedding": True, "share_all_embeddings": True,
        "share_decoder_input_output_embed": True, "adaptive_softmax_cutoff": None, "dropout": 0.1,
        "attention_dropout": 0.1, "relu_dropout": 0.0, "no_token_positional_embeddings": False,
    }  # fmt: skip
    return Namespace(**values | changes)


def random_state(n_rows: int, seed: int = 0) -> State:
    """The tensors of a network by fairseq's names, large enough that each of them shows in the logits."""
    source = torch.Generator().manual_seed(seed)
    state: State = {}

    def add(name: str, *shape: int, around: float = 0.0) -> None:
        state[name] = around + 0.3 * torch.randn(*shape, generator=source)

    def norm(name: str) -> None:
        add(f"{name}.weight", WIDTH, around=1.0)
        add(f"{name}.bias", WIDTH)

    def linear(name: str, n_in: int, n_out: int) -> None:
        add(f"{name}.weight", n_out, n_in)
        add(f"{name}.bias", n_out)

    add("encoder.embed_tokens.weight", n_rows, WIDTH)
    for side, n_layers in LAYERS.items():
        state[f"{side}.version"] = torch.tensor([3.0])
        add(f"{side}.embed_positions.weight", POSITIONS + 2, WIDTH)
        norm(f"{side}.layernorm_embedding")
        for layer in range(n_layers):
            prefix = f"{side}.layers.{layer}"
            for attention in ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",):
                for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    linear(f"{prefix}.{attention}.{part}", WIDTH, WIDTH)
                norm(f"{prefix}.{attention}_layer_norm")
            linear(f"{prefix}.fc1", WIDTH, INNER)
            linear(f"{prefix}.fc2", INNER, WIDTH)
            norm(f"{prefix}.final_layer_norm")
    embedding = state["encoder.embed_tokens.weight"]
    return state | {"decoder.embed_tokens.weight": embedding, "decoder.output_projection.weight": embedding}


def save(path: Path, state: State, args: Any = None, **rest: Any) -> Path:
    """A checkpoint as fairseq's trainer leaves it, the optimiser's state and counts of the run included."""
    content = {
        "args": arguments() if args is None else args,
        "model": state,
        "optimizer_history": [
            {"optimizer_name": "FairseqAdam", "num_updates": 800000, "lr_scheduler_state": {}}
        ],
        "extra_state": {"train_iterator": {"epoch": 3}, "val_loss": 1.5, "best": None},
        "last_optimizer_state": {"state": {0: {"step": 7, "exp_avg": torch.zeros(5)}}, "param_groups": []},
    }
    torch.save(content | rest, path)
    return path


def forward(state: State, args: Namespace, source: list[int], target: list[int]) -> Tensor:
    """Logits [target, rows] of one source and the beginning of a target, both as rows of the embedding."""
    network = _Network(state, args)
    encoded = network.embed("encoder", source)
    for layer in range(args.encoder_layers):
        name = f"encoder.layers.{layer}"
        encoded = network.attend(f"{name}.self_attn", encoded, encoded)
        encoded = network.feed(name, encoded)
    states = network.embed("decoder", target)
    for layer in range(args.decoder_layers):
        name = f"decoder.layers.{layer}"
        states = network.attend(f"{name}.self_attn", states, states, future=False)
        states = network.attend(f"{name}.encoder_attn", states, encoded)
        states = network.feed(name, states)
    return states @ state["decoder.output_projection.weight"].double().T


class _Network:
    """The parts of a layer; states are [places, width], and a norm follows each sum (post-norm)."""

    def __init__(self, state: State, args: Namespace) -> None:
        self.state, self.args = {name: value.double() for name, value in state.items()}, args

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.state[f"{name}.weight"].T + self.state[f"{name}.bias"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return scaled * self.state[f"{name}.weight"] + self.state[f"{name}.bias"]

    def embed(self, side: str, rows: list[int]) -> Tensor:
        tokens = self.state[f"{side}.embed_tokens.weight"][rows]
        if not self.args.no_scale_embedding:
            tokens = tokens * math.sqrt(tokens.shape[1])
        first = 2  # positions count from past the padding symbol, which is 1
        places = self.state[f"{side}.embed_positions.weight"][first : first + len(rows)]
        return self.norm(f"{side}.layernorm_embedding", tokens + places)

    def attend(self, name: str, x: Tensor, over: Tensor, *, future: bool = True) -> Tensor:
        side = name.split(".")[0]
        n_heads = getattr(self.args, f"{side}_attention_heads")
        query, key, value = (
            self.linear(f"{name}.{letter}_proj", states).unflatten(1, (n_heads, -1)).transpose(0, 1)
            for letter, states in (("q", x), ("k", over), ("v", over))
        )
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        if not future:
            later = torch.ones(len(x), len(over), dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        mixed = (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)
        return self.norm(f"{name}_layer_norm", x + self.linear(f"{name}.out_proj", mixed))

    def feed(self, name: str, x: Tensor) -> Tensor:
        inner = self.linear(f"{name}.fc1", x)
        if self.args.activation_fn == "gelu":
            inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        elif self.args.activation_fn in ("gelu_accurate", "gelu_fast"):
            cubic = math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)
            inner = inner * 0.5 * (1 + torch.tanh(cubic))
        else:
            inner = {"relu": functional.relu, "tanh": torch.tanh}[self.args.activation_fn](inner)
        return self.norm(f"{name}.final_layer_norm", x + self.linear(f"{name}.fc2", inner))
