"""What a Fusion-in-Decoder folder says of itself beside its weights: `fid.json`."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from seal_ir.arguments import check_least
from seal_ir.errors import ModelError, UsageError
from seal_ir.formats.io.files import shown
from seal_ir.structured import json_file, load_json

logger = logging.getLogger(__name__)
FID_JSON = "fid.json"


@dataclass(frozen=True, slots=True)
class FidDescription:
    """How a model is asked; a model without a `fid.json` has the defaults, which are the paper's.

    Attributes:
        passage_tokens: of a question with one passage; what is longer is cut at its end.
        answer_tokens: of an answer at most.
        contexts: passages of a question that it was trained with.
        affixes: whether an input has the special tokens that the tokenizer puts around a text. Models
            published for transformers before 3.1 were trained without T5's `</s>` there.
        cross_attention_bias: whether the decoder adds T5's relative bias to its attention over passages,
            as transformers before 4.0 did.
    """

    passage_tokens: int = 250
    answer_tokens: int = 50
    contexts: int = 100
    affixes: bool = True
    cross_attention_bias: bool = False

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, passage_tokens=1, answer_tokens=1, contexts=1)
        for name in ("affixes", "cross_attention_bias"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is {shown(getattr(self, name))}; it must be true or false")

    @property
    def width(self) -> int | None:
        """Places of each input where the decoder attends; None for as many as it has tokens. See `fuse`."""
        return self.passage_tokens if self.cross_attention_bias else None

    def to_json(self) -> str:
        """The text of a `fid.json`."""
        return json_file(asdict(self))


def load_fid_description(folder: Path | None) -> FidDescription:
    """What a model's folder says; the defaults where there is no folder, or no `fid.json` in it.

    Raises:
        ModelError: the file is no such description.
    """
    path = None if folder is None else folder / FID_JSON
    if path is None or not path.is_file():
        return FidDescription()
    try:
        values = load_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: not a reader's description, it cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path}: not a reader's description: it is {shown(values)}; it must be an object")
    known = {field.name for field in fields(FidDescription)}
    unknown = sorted(set(values) - known)
    if unknown:
        logger.warning(
            "%s: %s is unknown to this version of seal-ir and is left out; a newer one may have written it",
            path,
            ", ".join(map(repr, unknown)),
        )
    try:
        return FidDescription(**{name: value for name, value in values.items() if name in known})
    except UsageError as error:
        raise ModelError(f"{path}: not a reader's description: {error}") from error
