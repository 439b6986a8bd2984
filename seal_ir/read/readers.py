"""Readers by name. No torch in here before one is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import ModelError, UsageError
from seal_ir.read.fid.description import FID_JSON, FidDescription, load_fid_description
from seal_ir.read.reader import Reader
from seal_ir.structured import load_json
from seal_ir.text.pretrained import BASE_MODEL, find_model

PROMPT, FID = "prompt", "fid"
DEFAULT_CONTEXTS = {PROMPT: 1, FID: FidDescription().contexts}


class ReaderSpec(NamedTuple):
    """Which reader it is.

    Attributes:
        kind: PROMPT or FID.
        model: folder, hub name, or name of a packaged model.
        quote: whether answers may only quote the passages.
    """

    kind: str
    model: str
    quote: bool = False

    @property
    def default_contexts(self) -> int:
        """How many passages it is given where nobody says: as many as a Fusion-in-Decoder was trained with.

        Raises:
            ModelError: the model's description is damaged.
        """
        if self.kind == FID:
            return load_fid_description(find_model(self.model).folder).contexts
        return DEFAULT_CONTEXTS[self.kind]


def reader_spec(name: str, *, quote: bool = False) -> ReaderSpec:
    """The reader of a name: `prompt` is the embedded model; a model's folder or name is read as it is one.

    Args:
        name: `prompt`, or a model: a Fusion-in-Decoder's folder, or any causal one's folder or name.
        quote: whether answers may only quote the passages.

    Raises:
        UsageError: it means no reader, or the reader cannot be bound to quote.
        ModelError: there is no such model folder.
    """
    if name == FID:
        raise UsageError("--reader fid names no model; give the folder of one that was trained to read")
    model = BASE_MODEL if name == PROMPT else name
    kind = FID if _is_fid(model) else PROMPT
    if quote and kind == FID:
        raise UsageError(f"{name}: --quote is for prompt readers; a Fusion-in-Decoder model answers freely")
    return ReaderSpec(kind, model, quote)


def load_reader(spec: ReaderSpec, device: str | None = None, dtype: str | None = None) -> Reader:
    """The reader itself; see `load_generator` for device and dtype.

    Raises:
        ModelError: its model cannot be loaded, or is none that reads so.
        UsageError: device or dtype is unknown or not available.
    """
    if spec.kind == FID:
        from seal_ir.read.fid.reader import load_fid_reader

        return load_fid_reader(spec.model, device, dtype)
    from seal_ir.read.prompt.loading import load_prompt_reader

    return load_prompt_reader(spec.model, device, dtype, quote=spec.quote)


def _is_fid(model: str) -> bool:
    """Whether a folder is a Fusion-in-Decoder's: it says so, or holds an encoder-decoder model."""
    folder = find_model(model).folder
    if folder is None:
        return False
    return (folder / FID_JSON).is_file() or _is_encoder_decoder(folder)


def _is_encoder_decoder(folder: Path) -> bool:
    path = folder / "config.json"
    if not path.is_file():
        return False
    try:
        values = load_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from error
    return isinstance(values, dict) and values.get("is_encoder_decoder") is True
