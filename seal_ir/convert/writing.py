"""A converted network becomes a folder that `--model` or `--reader` takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, one_line
from seal_ir.formats.io.disk import disk_fault, writing


def write_model(network: Any, texts: Mapping[str, str], folder: Path, output: Path, checkpoint: Path) -> int:
    """Write a network and the files beside it; returns the number of its parameters.

    Args:
        network: of transformers.
        texts: of the other files, by name.
        folder: where they go.
        output: what that folder becomes, for messages.
        checkpoint: what the network was made of, for messages.

    Raises:
        InputError: the checkpoint's tensors lie in each other's memory, as no such network's do.
        UsageError: the folder cannot be written.
    """
    with writing(output):
        try:
            network.save_pretrained(folder)
        except RuntimeError as error:
            if disk_fault(error):
                raise
            told = one_line(error, 200)
            raise InputError(f"{checkpoint}: is of no such network, or damaged ({told})") from error
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for path in folder.iterdir():
            path.chmod(0o644)  # some writers let nobody else read
    return int(network.num_parameters())
