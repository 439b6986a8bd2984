"""What fairseq calls the tensors and options of BART, and what transformers calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from seal_ir.convert.fairseq_reading import Checkpoint
from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown

Tensors = dict[str, torch.Tensor]
_POSITION_OFFSET = 2  # rows that no token has: fairseq counts positions from past the padding symbol's id
_NEVER = -1e4  # e to this is 0, and half precision can hold it
_EMBEDDING = "encoder.embed_tokens.weight"
_OUTPUT = "decoder.output_projection.weight"  # not in old checkpoints, where it is the embedding anyway
_COPIES = ("decoder.embed_tokens.weight", _OUTPUT)
# Marks of versions, empty buffers, and heads that classify: no part of what writes.
_UNUSED = re.compile(r"(encoder|decoder)\.version|.*\b_float_tensor|classification_heads\..*")
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
# Options that make another network of the same or of other tensors, and what BART has them be.
_FIXED = {
    "encoder_normalize_before": False,
    "decoder_normalize_before": False,
    "encoder_learned_pos": True,
    "decoder_learned_pos": True,
    "layernorm_embedding": True,
    "no_token_positional_embeddings": False,
    "cross_self_attention": False,
    "no_cross_attention": False,
    "adaptive_input": False,
    "adaptive_softmax_cutoff": False,
}


def bart_options(checkpoint: Checkpoint) -> dict[str, Any]:
    """The arguments of transformers' `BartConfig`, those of the vocabulary left out.

    Raises:
        InputError: an option is missing, no number, or makes a network that transformers' BART is not.
    """
    where, settings = checkpoint.path, checkpoint.settings
    for name, wanted in _FIXED.items():
        if name in settings and bool(settings[name]) != wanted:
            raise InputError(f"{where}: {name} is {shown(settings[name])}; in BART it is {wanted}")
    activation = _needed(checkpoint, "activation_fn")
    if activation not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        raise InputError(f"{where}: activation_fn is {shown(activation)}; it must be one of {known}")
    scaled = _needed(checkpoint, "no_scale_embedding")
    if type(scaled) is not bool:
        raise InputError(f"{where}: no_scale_embedding is {shown(scaled)}; it must be True or False")
    width, positions = (_same(checkpoint, name) for name in ("embed_dim", "positions"))
    options: dict[str, Any] = {
        "d_model": width,
        "max_position_embeddings": positions,
        "activation_function": _ACTIVATIONS[activation],
        "scale_embedding": not scaled,
    }
    for side in ("encoder", "decoder"):
        options[f"{side}_layers"] = _number(checkpoint, f"{side}_layers")
        options[f"{side}_ffn_dim"] = _number(checkpoint, f"{side}_ffn_embed_dim")
        heads = options[f"{side}_attention_heads"] = _number(checkpoint, f"{side}_attention_heads")
        if width % heads:
            raise InputError(f"{where}: {side}_attention_heads is {heads}, which does not divide {width}")
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        value = settings.get(name)
        options[name] = float(value) if isinstance(value, int | float) else 0.0
    return options


def bart_tensors(checkpoint: Checkpoint, options: Mapping[str, Any]) -> Tensors:
    """The network by fairseq's names, without the copies of the embedding: all there, and of right shape.

    Raises:
        InputError: a tensor is missing, unknown, of another shape, not of numbers, or not finite; or output
            and embeddings differ, which BART's do not.
    """
    path = checkpoint.path
    tensors = {n: value for n, value in checkpoint.tensors.items() if not _UNUSED.fullmatch(n)}
    tensors = _projections_apart(tensors)
    expected = dict(_shapes(tensors, options))
    missing = [name for name in expected if name not in tensors and name != _OUTPUT]
    if missing:
        raise InputError(f"{path}: lacks the tensor {_first(missing)}; is it a whole BART?")
    unknown = [name for name in tensors if name not in expected]
    if unknown:
        raise InputError(f"{path}: has the tensor {_first(unknown)}, which BART has not")
    for name, value in tensors.items():
        if tuple(value.shape) != expected[name]:
            raise InputError(
                f"{path}: {name} is {list(value.shape)}; by the settings it must be {list(expected[name])}"
            )
        if not value.is_floating_point() or not bool(value.isfinite().all()):
            raise InputError(f"{path}: {name} is {value.dtype} with values that are no finite numbers")
    for copy in _COPIES:
        if not torch.equal(tensors.pop(copy, tensors[_EMBEDDING]), tensors[_EMBEDDING]):
            raise InputError(f"{path}: {copy} is not {_EMBEDDING}; BART has one embedding for all three")
    return {name: value.detach() for name, value in tensors.items()}


def transformers_names(tensors: Tensors, order: torch.Tensor) -> Tensors:
    """The same network as `BartForConditionalGeneration` has it, in float32.

    Args:
        tensors: what `bart_tensors` gives.
        order: int64 [n_vocabulary]: the embedding's row of each id; -1 where there is none. Such an id gets
            a row of zeros, and a bias that makes its probability 0 and leaves those of all others as
            they are.
    """
    absent = order < 0
    embedding = tensors[_EMBEDDING].float()[order.clamp(min=0)]
    embedding[absent] = 0
    named = {f"model.{name}": value.float() for name, value in tensors.items()}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        named[f"{name}.weight"] = embedding
    named["final_logits_bias"] = absent.float()[None] * _NEVER
    return named


def vocabulary_rows(tensors: Tensors) -> int:
    """The rows of the embedding."""
    return len(tensors[_EMBEDDING])


def _needed(checkpoint: Checkpoint, name: str) -> Any:
    if name not in checkpoint.settings:
        raise InputError(f"{checkpoint.path}: its settings have no {name}; is it a BART of fairseq?")
    return checkpoint.settings[name]


def _number(checkpoint: Checkpoint, name: str) -> int:
    value = _needed(checkpoint, name)
    if type(value) is not int or not 0 < value < 1 << 20:
        raise InputError(f"{checkpoint.path}: {name} is {shown(value)}; it must be a positive number")
    return value


def _same(checkpoint: Checkpoint, what: str) -> int:
    """What both halves must agree in, as transformers' BART has one number for both."""
    names = {
        "embed_dim": ("encoder_embed_dim", "decoder_embed_dim"),
        "positions": ("max_source_positions", "max_target_positions"),
    }[what]
    first, second = (_number(checkpoint, name) for name in names)
    if first != second:
        raise InputError(
            f"{checkpoint.path}: {names[0]} is {first} and {names[1]} {second}; in BART they are equal"
        )
    return first


def _projections_apart(tensors: Tensors) -> Tensors:
    """BART as first published keeps queries, keys and values of an attention as one matrix, in this order."""
    apart: Tensors = {}
    for name, value in tensors.items():
        joined = re.fullmatch(r"(.*_attn)\.in_proj_(weight|bias)", name)
        if (
            joined is None
            or value.dim() == 0
            or len(value) % 3
            or f"{joined[1]}.q_proj.{joined[2]}" in tensors
        ):
            apart[name] = value
            continue
        for letter, part in zip("qkv", value.chunk(3), strict=True):
            apart[f"{joined[1]}.{letter}_proj.{joined[2]}"] = part
    return apart


def _shapes(tensors: Tensors, options: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of all tensors; the size of the vocabulary is the embedding's own."""
    width = options["d_model"]
    rows = len(tensors[_EMBEDDING]) if _EMBEDDING in tensors and tensors[_EMBEDDING].dim() else 0
    for name in (_EMBEDDING, *_COPIES):
        yield name, (rows, width)
    for side in ("encoder", "decoder"):
        yield f"{side}.embed_positions.weight", (options["max_position_embeddings"] + _POSITION_OFFSET, width)
        yield from _linear(f"{side}.layernorm_embedding", width)
        attentions = ("self_attn",) if side == "encoder" else ("self_attn", "encoder_attn")
        for number in range(options[f"{side}_layers"]):
            layer, inner = f"{side}.layers.{number}", options[f"{side}_ffn_dim"]
            for attention in attentions:
                for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    yield from _linear(f"{layer}.{attention}.{part}", width, width)
                yield from _linear(f"{layer}.{attention}_layer_norm", width)
            yield from _linear(f"{layer}.fc1", inner, width)
            yield from _linear(f"{layer}.fc2", width, inner)
            yield from _linear(f"{layer}.final_layer_norm", width)


def _linear(name: str, n_out: int, *n_in: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (n_out, *n_in)
    yield f"{name}.bias", (n_out,)


def _first(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
