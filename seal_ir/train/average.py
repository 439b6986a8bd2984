"""The average of models: adapters of one base, matrix by matrix.

Weights of runs that began at one model can be averaged, and the average is often better than each, most of
all on questions unlike those of training (Wortsman et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from seal_ir.errors import ModelError, UsageError, one_line, shown
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.outputs import new_folder
from seal_ir.lm.load import ADAPTER_WEIGHTS, adapter_matrices
from seal_ir.structured import json_file
from seal_ir.text.description import TEMPLATES
from seal_ir.text.pretrained import (
    ADAPTER_CONFIG,
    ModelFiles,
    adapter_config,
    base_files,
    base_of,
    find_model,
    load_description,
    tokenizer_definition,
)
from seal_ir.train.fit.network import save_tensors

_FREE = ("base_model_name_or_path",)  # compared as the folder that it leads to


def average(models: Sequence[str], weights: Sequence[float] | None, output: Path) -> None:
    """Write the adapter whose matrices are sums of w_i M_i, in bfloat16; its prompts are the first one's.

    Args:
        models: folders or names of adapters.
        weights: w_i, which add up to 1; equal ones by default.
        output: folder to make.

    Raises:
        ModelError: a model cannot be read, is no adapter, or is one of another base, size or tokenizer.
        UsageError: there are fewer than two models, the weights do not fit, or the folder is there already
            or cannot be made.
    """
    shares = _shares(models, weights)
    found = [find_model(name) for name in models]
    folders = [_folder(files) for files in found]
    for folder in folders[1:]:
        _check_alike(folders[0], folder)
    _check_tokenizers(found)
    read = [adapter_matrices(folder) for folder in folders]
    for folder, matrices in zip(folders[1:], read[1:], strict=True):
        if _shapes(matrices) != _shapes(read[0]):
            raise ModelError(f"{folder}: has other matrices than {folders[0]}; only like ones are averaged")
    averaged = {
        name: sum(share * matrices[name].float() for share, matrices in zip(shares, read, strict=True))
        for name in read[0]
    }
    with new_folder(output) as made:
        save_tensors(_half(averaged), made / ADAPTER_WEIGHTS, metadata={"format": "pt"})
        (made / ADAPTER_WEIGHTS).chmod(0o644)
        _write_beside(made, found[0], folders[0], {"average": dict(zip(models, shares, strict=True))})


def _shapes(matrices: dict[str, torch.Tensor]) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in matrices.items()}


def _half(tensors: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value.to(torch.bfloat16) for name, value in tensors.items()}


def _write_beside(made: Path, files: ModelFiles, folder: Path, report: dict[str, Any]) -> None:
    description = load_description(files) or TEMPLATES["causal"]
    config = adapter_config(folder)
    base = base_of(folder)
    config["base_model_name_or_path"] = str(Path(base).resolve()) if base and Path(base).is_dir() else base
    texts = {
        ADAPTER_CONFIG: json_file(config, sort_keys=True),
        "training.json": json_file(report),
        "seal.json": description.to_json(),
    }
    with atomic_writer(made / "tokenizer.json") as file:
        file.write(tokenizer_definition(files))
    for name, text in texts.items():
        with atomic_writer(made / name) as file:
            file.write(text)


def _shares(models: Sequence[str], weights: Sequence[float] | None) -> list[float]:
    if len(models) < 2:
        raise UsageError("an average needs two models or more")
    shares = [1 / len(models)] * len(models) if weights is None else list(weights)
    if len(shares) != len(models):
        raise UsageError(f"{len(shares)} weights for {len(models)} models; give one for each")
    if not all(math.isfinite(share) for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise UsageError(f"the weights are {', '.join(map(str, shares))}; they must add up to 1")
    return shares


def _folder(files: ModelFiles) -> Path:
    if files.folder is None or base_of(files.folder) is None:
        raise ModelError(f"{files.name}: is no adapter; only adapters are averaged (train with --lora)")
    return files.folder


def _check_alike(first: Path, other: Path) -> None:
    """Refuse adapters that are added to their bases in different ways."""
    configs = [
        {name: value for name, value in adapter_config(folder).items() if name not in _FREE}
        for folder in (first, other)
    ]
    if _base(first) != _base(other):
        raise ModelError(
            f"{other}: is an adapter of {one_line(_base(other))}, and {first} one of {one_line(_base(first))}"
        )
    for name in sorted({*configs[0], *configs[1]}):
        values = [config.get(name) for config in configs]
        if values[0] != values[1]:
            told = shown(name).strip("'")
            raise ModelError(f"{other}: {told} is {shown(values[1])}, in {first} it is {shown(values[0])}")


def _base(folder: Path) -> str:
    files = base_files(folder)
    return "" if files is None else files.source


def _check_tokenizers(found: Sequence[ModelFiles]) -> None:
    definitions = [tokenizer_definition(files) for files in found]
    for files, definition in zip(found, definitions, strict=True):
        if definition != definitions[0]:
            raise ModelError(f"{files.name}: has another tokenizer than {found[0].name}")
