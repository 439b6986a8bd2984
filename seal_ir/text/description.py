"""What a model brings besides its weights: prompts, and which of its tokens stand for control symbols.

Kept as `seal.json` beside the weights. A model without one works through templates: a few examples for
a causal model, SEAL's own markers for a sequence-to-sequence model.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from seal_ir.errors import ModelError

CAUSAL, SEQ2SEQ = "causal", "seq2seq"


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """How a language model is asked for identifiers.

    Attributes:
        family: CAUSAL (prompt, then continuation) or SEQ2SEQ (source text, then target text).
        body: source of a body n-gram; the one `{query}` in it is replaced.
        title: source of a title, likewise.
        title_end: text whose single token the model writes where a title ends.
        start: tokens, by name, that open the target of a SEQ2SEQ model; none means the model's own
            decoder start token, followed by the beginning-of-sequence token it was trained to force.
    """

    family: str
    body: str
    title: str
    title_end: str
    start: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a description that cannot be used."""
        if self.family not in (CAUSAL, SEQ2SEQ):
            raise ModelError(f"family is {self.family!r}; it must be {CAUSAL!r} or {SEQ2SEQ!r}")
        for name in ("body", "title"):
            if getattr(self, name).count("{query}") != 1:
                raise ModelError(f"the {name} prompt must hold {{query}} once: {getattr(self, name)!r}")

    def to_json(self) -> str:
        """The text of a `seal.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def read_description(path: Path) -> ModelDescription:
    """The description in a `seal.json` file.

    Raises:
        ModelError: the file is no such description; says which name is missing or unknown.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        values["start"] = tuple(values.get("start", ()))
        return ModelDescription(**values)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{path}: not a model description: {error}") from error


# A handful of examples tell a model that was never trained for this what an n-gram of a passage looks
# like. They are ours, on subjects that no benchmark here asks about.
CAUSAL_TEMPLATE = ModelDescription(
    family=CAUSAL,
    body=(
        "Each question is followed by words from an encyclopedia passage that answers it.\n\n"
        "question: who wrote the opera about a barber in seville\n"
        "passage: The Barber of Seville is an opera buffa in two acts composed by Gioachino Rossini\n\n"
        "question: how long is the longest river of france\n"
        "passage: The Loire has a length of 1,006 kilometres, the longest river in France\n\n"
        "question: {query}\n"
        "passage:"
    ),
    title=(
        "Each question is followed by the title of an encyclopedia article that answers it.\n\n"
        "question: who wrote the opera about a barber in seville\n"
        "article: The Barber of Seville\n\n"
        "question: how long is the longest river of france\n"
        "article: Loire\n\n"
        "question: {query}\n"
        "article:"
    ),
    title_end="\n",
)

# The markers of the paper's training data: field, then "|| +" for supervised.
SEQ2SEQ_TEMPLATE = ModelDescription(
    family=SEQ2SEQ, body="{query} || body || +", title="{query} || title || +", title_end=" @@"
)
TEMPLATES = {CAUSAL: CAUSAL_TEMPLATE, SEQ2SEQ: SEQ2SEQ_TEMPLATE}
