"""LoRA adapters: folders with small matrices to be added to the weights of a base model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from seal_ir.errors import ModelError
from seal_ir.lm.sound import first_odd
from seal_ir.text.adapters import CONFIG, adapter_config

WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."  # peft's, before the names of the base model
# Settings of peft under which a layer is something else than W + scale * B A, with what they must be.
_PLAIN = {"use_dora": False, "fan_in_fan_out": False, "bias": "none", "modules_to_save": None}
_PLAIN_PATTERNS = ("rank_pattern", "alpha_pattern", "trainable_token_indices", "layer_replication")


@torch.no_grad()
def merge_adapter(network: Any, folder: Path) -> None:
    """Add an adapter to the weights of its base model, in place; peft is not needed for this.

    Raises:
        ModelError: the adapter is of another kind than LoRA, damaged, not finite, or made for another model.
    """
    scale = _scale(adapter_config(folder), folder / CONFIG)
    matrices = adapter_matrices(folder)
    layers = dict(network.named_modules())
    for name in sorted(matrices):
        module, _, part = name.removeprefix(_PREFIX).partition(".lora_")
        if part not in ("A.weight", "B.weight"):
            raise ModelError(f"{folder / WEIGHTS}: {name} is no part of a LoRA matrix")
        if part == "B.weight":
            continue
        down, up = matrices[name], matrices.get(name.replace(".lora_A.", ".lora_B."))
        weight = getattr(layers.get(module), "weight", None)
        if up is None or weight is None or tuple(weight.shape) != (up.shape[0], down.shape[1]):
            raise ModelError(f"{folder}: the adapter does not fit its base model ({module})")
        weight += (scale * (up.float() @ down.float())).to(weight)


def adapter_matrices(folder: Path) -> dict[str, torch.Tensor]:
    """The matrices of an adapter by peft's names.

    Raises:
        ModelError: they cannot be read, or a value is no finite number.
    """
    path = folder / WEIGHTS
    try:
        matrices = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from error
    odd = first_odd(sorted(matrices.items()))
    if odd:
        raise ModelError(f"{path}: the adapter's weights are not finite numbers: {odd}; train it again")
    return matrices


def _scale(config: dict[str, Any], path: Path) -> float:
    """What B A is multiplied with."""
    if config.get("peft_type") != "LORA":
        raise ModelError(f"{path}: peft_type is {config.get('peft_type')!r}; only LORA can be loaded")
    odd = [name for name, value in _PLAIN.items() if config.get(name, value) != value]
    odd += [name for name in _PLAIN_PATTERNS if config.get(name)]
    if odd:
        raise ModelError(f"{path}: {odd[0]} is {config[odd[0]]!r}; only plain LoRA can be loaded")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or not isinstance(alpha, int | float) or rank < 1:
        raise ModelError(f"{path}: r is {rank!r} and lora_alpha {alpha!r}; both must be numbers")
    return alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank
