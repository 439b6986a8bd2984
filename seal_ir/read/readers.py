"""Readers by name. No torch in here before one is loaded."""

from __future__ import annotations

from typing import NamedTuple

from seal_ir.errors import UsageError
from seal_ir.read.fid.description import FID_JSON, FidDescription, load_fid_description
from seal_ir.read.reader import Reader
from seal_ir.text.description import SEQ2SEQ
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
    """The reader of a name: `prompt` is the embedded model; other models are read with as they are built.

    Args:
        name: `prompt`, or a model's folder or name: a causal one is prompted, an encoder-decoder one is a
            Fusion-in-Decoder, by its configuration.
        quote: whether answers may only quote the passages.

    Raises:
        UsageError: it means no reader, or the reader cannot be bound to quote.
        ModelError: there is no such model, or it is neither of the two.
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
    """Whether a model is read with as a Fusion-in-Decoder: it says so, or is an encoder-decoder model."""
    if model == BASE_MODEL:
        return False
    files = find_model(model)
    if files.folder is not None and (files.folder / FID_JSON).is_file():
        return True
    from seal_ir.lm.families import family_of  # transformers takes seconds

    return family_of(files) == SEQ2SEQ
