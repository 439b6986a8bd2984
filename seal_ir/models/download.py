"""Registered models that are published: downloaded into the cache, and looked at before they are used."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

from seal_ir.errors import ModelError, one_line, shown
from seal_ir.formats.io.published import Published, downloaded
from seal_ir.text.description import read_description
from seal_ir.text.pretrained import ADAPTER_CONFIG, base_of
from seal_ir.text.registered import CONFIGS

ADAPTER_WEIGHTS = "adapter_model.safetensors"
# Nothing that runs when it is read: no pickles (.bin, .pt, ...) and no code.
_KINDS = (".safetensors", ".json", ".txt", ".md", ".jinja", ".png")
_NAMES = ("LICENSE", "NOTICE")


def downloaded_model(published: Published, agreed: bool) -> Path:
    """The folder of a published model, which is not there yet; says what and how large, and asks.

    Args:
        published: the model.
        agreed: do not ask.

    Raises:
        UsageError: nobody agreed, or it cannot be written.
        InputError: the download failed, or is no archive of a model.
        ModelError: what came cannot be used, or has files that nobody should open.
    """

    def check(folder: Path) -> None:
        try:
            check_folder(folder)
        except ModelError as error:
            told = str(error).replace(f"{folder}/", "")  # where it was unpacked is gone
            raise ModelError(f"{published.download.url}: {told}; nothing was kept") from error

    return downloaded(published, CONFIGS, check, agreed)


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not a model with its weights as safetensors, whole, and nothing that could run.

    Raises:
        ModelError: it is not; says which file.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        if path.suffix.lower() not in _KINDS and path.name not in _NAMES:
            told = ", ".join((*_KINDS, *_NAMES))
            raise ModelError(
                f"{shown(str(path.relative_to(folder)))} is none of {told}, as a model's files are"
            )
    adapter = (folder / ADAPTER_CONFIG).is_file()
    weights = [path for path in files if path.suffix == ".safetensors"]
    if (adapter and folder / ADAPTER_WEIGHTS not in weights) or not weights:
        raise ModelError(f"it has no {ADAPTER_WEIGHTS if adapter else 'weights as safetensors'}")
    for path in weights:
        try:
            with safe_open(path, framework="np"):
                pass
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{path}: the weights cannot be read ({one_line(error)})") from error
    base_of(folder)
    if (folder / "seal.json").is_file():
        read_description(folder / "seal.json")
