"""What a model brings besides its weights: prompts, and which of its tokens stand for control symbols.

Kept as `seal.json` beside the weights. A model without one works through templates: a few examples for
a causal model, SEAL's own markers for a sequence-to-sequence model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from seal_ir.errors import ModelError
from seal_ir.formats.io.files import shown
from seal_ir.records import BODY, TITLE
from seal_ir.structured import json_file, load_json

logger = logging.getLogger(__name__)
CAUSAL, SEQ2SEQ = "causal", "seq2seq"
QUESTION = "question"  # the further field of question generators: their source is a passage, not a query
_NEEDED = ("family", "body", "title", "title_end")


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
        fields: sources of values of further fields, by the field's name, likewise.
    """

    family: str
    body: str
    title: str
    title_end: str
    start: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse a description that cannot be used."""
        if self.family not in (CAUSAL, SEQ2SEQ):
            raise ModelError(f"family is {shown(self.family)}; it must be {CAUSAL!r} or {SEQ2SEQ!r}")
        for name, prompt in {"body": self.body, "title": self.title, **self.fields}.items():
            if prompt.count("{query}") != 1:
                field = name if name.isidentifier() and len(name) < 40 else shown(name)
                raise ModelError(f"the {field} prompt must hold {{query}} once: {shown(prompt)}")

    def __reduce__(self) -> tuple[Any, ...]:  # a read-only mapping cannot be pickled by itself
        values = (self.family, self.body, self.title, self.title_end, self.start)
        return _unpickled, (values, dict(self.fields))

    def prompt(self, name: str) -> str:
        """The source of a field's values, with one `{query}`.

        Raises:
            ModelError: the model was never told of this field.
        """
        if name in (BODY, TITLE):
            return self.body if name == BODY else self.title
        if name not in self.fields:
            raise ModelError(
                f"the model has no prompt for the field {name!r}; train it with --fields {name}, or write one"
                ' into "fields" of its seal.json'
            )
        return self.fields[name]

    def to_json(self) -> str:
        """The text of a `seal.json`."""
        values = asdict(replace(self, fields={})) | {"fields": dict(self.fields)}
        if not self.fields:
            del values["fields"]
        return json_file(values)


def passage_source(title: str, text: str) -> str:
    """What a question generator reads of a passage: the title, if any, and the text, a line each."""
    return "\n".join(" ".join(part.split()) for part in (title, text) if part.strip())


def _unpickled(values: tuple[Any, ...], fields: dict[str, str]) -> ModelDescription:
    every: tuple[Any, ...] = (*values, MappingProxyType(fields))
    return ModelDescription(*every)


def read_description(path: Path) -> ModelDescription:
    """The description in a `seal.json` file; names that are unknown here are told of and left out.

    Raises:
        ModelError: the file is no such description; says which name is missing, or what is wrong with one.
    """
    try:
        values = load_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: not a model description, it cannot be read: {error}") from error
    try:
        return _described(values, path)
    except ModelError as error:
        raise ModelError(f"{path}: not a model description: {error}") from error


def _described(values: object, path: Path) -> ModelDescription:
    if not isinstance(values, dict):
        raise ModelError(f"it is {shown(values)}; it must be an object with {', '.join(_NEEDED)}")
    missing = [name for name in _NEEDED if name not in values]
    if missing:
        raise ModelError(f"{missing[0]} is missing; it must have {', '.join(_NEEDED)}")
    start, prompts = values.get("start", []), values.get("fields", {})
    if not isinstance(start, list):
        raise ModelError(f"start is {shown(start)}; it must be a list of tokens")
    if not isinstance(prompts, dict):
        raise ModelError(f"fields is {shown(prompts)}; it must be an object of prompts by field")
    needed = {name: values[name] for name in _NEEDED}
    for name, value in (*needed.items(), *(("start", token) for token in start), *prompts.items()):
        if not isinstance(value, str):
            raise ModelError(f"{name} is {shown(value)}; it must be a string")
    unknown = sorted(set(values) - {*_NEEDED, "start", "fields"})
    if unknown:
        logger.warning(
            "%s: %s is unknown to this version of seal-ir and is left out; a newer one may have written it",
            path,
            ", ".join(map(repr, unknown)),
        )
    return ModelDescription(**needed, start=tuple(start), fields=MappingProxyType(prompts))


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
