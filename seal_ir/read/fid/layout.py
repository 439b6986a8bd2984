"""What published Fusion-in-Decoder checkpoints call the tensors of a network, and what transformers does.

Their encoder is held by a module that reads passages apart, and each of its layers by one that may compute
it again for the gradient. So `encoder.encoder.block.3.module.layer...` is `encoder.block.3.layer...` in
transformers, and `model.encoder.encoder.layers.3.module...` is BART's `model.encoder.layers.3...`. All else
has the names that it has there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch

from seal_ir.errors import InputError
from seal_ir.read.fid.loading import BIAS

Tensors = dict[str, torch.Tensor]
_HELD = re.compile(r"^((?:model\.)?encoder)\.encoder\.")
_SHARED = ("shared.weight", "model.shared.weight")
_COPY = re.compile(r"(model\.)?(encoder|decoder)\.embed_tokens\.weight|lm_head\.weight")  # may be left out
_LAYER = re.compile(r"\.(block|layers)\.(\d+)\.module\.")


def transformers_name(name: str) -> str:
    """The name that a tensor of such a checkpoint has in transformers."""
    return _LAYER.sub(r".\1.\2.", _HELD.sub(r"\1.", name))


def transformers_tensors(
    path: Path,
    tensors: Mapping[str, torch.Tensor],
    shapes: Mapping[str, torch.Size],
) -> tuple[Tensors, torch.Tensor | None]:
    """The network by transformers' names in float32, all there, of right shape and finite.

    Args:
        path: the file, for messages.
        tensors: by the checkpoint's names.
        shapes: of all tensors of the network.

    Returns:
        The tensors, and the bias of the decoder's attention over the encoder, which transformers before 4.0
        had; None where there is none.

    Raises:
        InputError: a tensor is missing, unknown, there twice, of another shape, or no finite numbers.
    """
    named: Tensors = {}
    for name, value in tensors.items():
        found = transformers_name(name)
        if found in named and not torch.equal(named[found], value):
            raise InputError(f"{path}: has two different tensors {found}, of which one is {name}")
        named[found] = value
    bias = named.pop(BIAS, None)
    shared = next((name for name in _SHARED if name in named), None)
    for name in shapes:
        if shared is not None and _COPY.fullmatch(name):
            named.setdefault(name, named[shared])
    missing = [name for name in shapes if name not in named]
    if missing:
        raise InputError(f"{path}: lacks the tensor {_first(missing)}; is it a whole network?")
    unknown = [name for name in named if name not in shapes]
    if unknown:
        raise InputError(f"{path}: has the tensor {_first(unknown)}, which its config.json does not know")
    for name, value in named.items():
        if value.shape != shapes[name]:
            wanted = list(shapes[name])
            raise InputError(f"{path}: {name} is {list(value.shape)}; by its config.json it is {wanted}")
    for name, value in {**named, **({} if bias is None else {BIAS: bias})}.items():
        if not value.is_floating_point() or not bool(value.isfinite().all()):
            raise InputError(f"{path}: {name} is {value.dtype} with values that are no finite numbers")
    return {name: value.detach().float() for name, value in named.items()}, bias


def _first(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
