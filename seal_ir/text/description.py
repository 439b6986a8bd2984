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
        start = values.pop("start", [])
        for name, value in (*values.items(), *(("start", token) for token in start)):
            if not isinstance(value, str):
                raise TypeError(f"{name} is {value!r}; it must be a string")
        if not isinstance(start, list):
            raise TypeError(f"start is {start!r}; it must be a list of tokens")
        return ModelDescription(**values, start=tuple(start))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{path}: not a model description: {error}") from error


# A few examples tell a model that was never trained for this what words of a passage look like. The
# ellipses matter: they ask for words from the middle of a passage and not for its first sentence (on 64
# questions of squadwiki-dev over 50,000 passages they raise hits@20 from 0.50 to 0.61).
_EXAMPLES = (
    (
        "who wrote the opera about a barber in seville",
        "opera buffa in two acts composed by Gioachino Rossini",
        "The Barber of Seville",
    ),
    (
        "how long is the longest river of france",
        "has a length of 1,006 kilometres, the longest river in France",
        "Loire",
    ),
    (
        "when did the first man climb mount everest",
        "reached the summit on 29 May 1953 with Tenzing Norgay",
        "Mount Everest",
    ),
)
CAUSAL_TEMPLATE = ModelDescription(
    family=CAUSAL,
    body="Wikipedia passages that answer questions.\n\n"
    + "".join(f"Question: {question}?\nAnswer: ... {span} ...\n\n" for question, span, _ in _EXAMPLES)
    + "Question: {query}?\nAnswer: ...",
    title="Wikipedia articles that answer questions.\n\n"
    + "".join(f"Question: {question}?\nArticle: {title}\n\n" for question, _, title in _EXAMPLES)
    + "Question: {query}?\nArticle:",
    title_end="\n",
)

# The markers of the paper's training data: field, then "|| +" for supervised.
SEQ2SEQ_TEMPLATE = ModelDescription(
    family=SEQ2SEQ, body="{query} || body || +", title="{query} || title || +", title_end=" @@"
)
TEMPLATES = {CAUSAL: CAUSAL_TEMPLATE, SEQ2SEQ: SEQ2SEQ_TEMPLATE}
