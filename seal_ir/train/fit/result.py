"""The folder that a training run leaves: weights or adapter, tokenizer, prompts, settings and curves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch

from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.files import atomic_writer, write_bytes
from seal_ir.formats.io.outputs import put_in_place, scratch_folder
from seal_ir.lm.load import ADAPTER_WEIGHTS, quiet_transformers
from seal_ir.structured import json_file
from seal_ir.text.description import ModelDescription
from seal_ir.text.pretrained import ADAPTER_CONFIG, ModelFiles, tokenizer_definition
from seal_ir.train.fit.log import RETRIEVAL, Log, curves
from seal_ir.train.fit.network import base_model, check_trained, save_tensors


def save_result(
    folder: Path, files: ModelFiles, network: Any, wrapper: Any, description: ModelDescription
) -> None:
    """Write a model that search takes by its path; `seal.json` comes last.

    Args:
        folder: where.
        files: see `save_network`.
        network: the network.
        wrapper: peft's, or None.
        description: the prompts.

    Raises:
        TrainingError: a weight is no finite number.
        UsageError: the folder cannot be written.
    """
    save_network(folder, files, network, wrapper)
    with atomic_writer(folder / "seal.json") as file:
        file.write(description.to_json())


def save_network(folder: Path, files: ModelFiles, network: Any, wrapper: Any) -> None:
    """Write a model's weights and its tokenizer, which transformers takes by the folder's path.

    Args:
        folder: where.
        files: the model that was trained, whose name, or that of its base, an adapter remembers.
        network: the network.
        wrapper: peft's, for an adapter in bfloat16 (a third of a megabyte a rank for SmolLM2-135M); None
            for a model of its own.

    Raises:
        TrainingError: a weight is no finite number.
        UsageError: the folder cannot be written.
    """
    definition = tokenizer_definition(files)
    if wrapper is None:
        check_trained(network.named_parameters(), folder)
        with writing(folder), scratch_folder(folder / "model") as made:
            with quiet_transformers():
                network.save_pretrained(made)
            for path in sorted(made.iterdir(), key=lambda path: path.suffix == ".safetensors"):  # these last
                put_in_place(path, folder / path.name)
    else:
        _save_adapter(folder, files, wrapper)
    with atomic_writer(folder / "tokenizer.json") as file:
        file.write(definition)


def write_report(folder: Path, values: dict[str, Any]) -> None:
    """`training.json`: settings, figures and curves."""
    with atomic_writer(folder / "training.json") as file:
        file.write(json_file(values))


def draw(log: Log, folder: Path, best: int | None = None) -> list[Path]:
    """Write `loss.png` and, where retrieval was measured, `dev_retrieval.png`; returns what was written.

    Args:
        log: the Trainer's.
        folder: where.
        best: step of the weights that were taken, to be marked; None where these are simply the last ones.
    """
    found = curves(log)
    losses = {name: points for name, points in found.items() if not name.startswith(RETRIEVAL)}
    shares = {name: points for name, points in found.items() if "@" in name}
    written = []
    for name, lines, label in (
        ("loss.png", losses, "nats per target token"),
        ("dev_retrieval.png", shares, "share of questions"),
    ):
        if lines:
            _plot(lines, label, folder / name, best)
            written.append(folder / name)
    return written


def _save_adapter(folder: Path, files: ModelFiles, wrapper: Any) -> None:
    from peft import get_peft_model_state_dict

    matrices = get_peft_model_state_dict(wrapper)
    half = {name: value.to(torch.bfloat16) for name, value in matrices.items()}
    config = wrapper.peft_config["default"].to_dict()
    origin = base_model(files)
    base = str(origin.folder.resolve()) if Path(origin.name).is_dir() and origin.folder else origin.name
    config.update(base_model_name_or_path=base, inference_mode=True)
    config["target_modules"] = sorted(config["target_modules"])
    save_tensors(half, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    (folder / ADAPTER_WEIGHTS).chmod(0o644)
    with atomic_writer(folder / ADAPTER_CONFIG) as file:
        file.write(json_file(config, sort_keys=True, default=str))


def _plot(lines: dict[str, list[tuple[int, float]]], label: str, path: Path, best: int | None) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in lines.items():
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, label=name, marker="." if len(points) < 30 else None)
    if best is not None:
        axes.axvline(best, color="grey", linestyle="--", label=f"weights taken: step {best}")
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    write_bytes(path, drawn.getvalue())
