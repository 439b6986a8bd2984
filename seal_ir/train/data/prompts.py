"""The prompts of training: those of search, and their kin that say where an example comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import shown
from seal_ir.records import BODY, TITLE
from seal_ir.text.description import CAUSAL, QUESTION, SEQ2SEQ, ModelDescription
from seal_ir.train.data.pairs import DISTANT, SUPERVISED, UNSUPERVISED

_TEMPLATES = {
    # Short, no examples: a trained model needs none. Fields differ as late as they can, so that targets of
    # one question share their prompt in training (`trees`) and in search.
    CAUSAL: {
        SUPERVISED: "question: {query}\n<field>:",
        UNSUPERVISED: "text: {query}\n<field>:",
        DISTANT: "question: {query}\n<field>?",
    },
    # The markers of the paper's training data: field, then "+" supervised, "p" unsupervised, "?" silver.
    SEQ2SEQ: {
        SUPERVISED: "{query} || <field> || +",
        UNSUPERVISED: "{query} || <field> || p",
        DISTANT: "{query} || <field> || ?",
    },
}
# A question generator reads a passage where the others read a question.
_GENERATOR = {
    SUPERVISED: "passage: {query}\nquestion:",
    UNSUPERVISED: "passage: {query}\nquestion:",
    DISTANT: "passage: {query}\nquestion?",
}
_WORDS = {CAUSAL: {BODY: "passage", TITLE: "article"}, SEQ2SEQ: {BODY: "body", TITLE: "title"}}


@dataclass(frozen=True, slots=True)
class TrainingPrompts:
    """Prompts by field and kind of example.

    Attributes:
        description: what search uses, written as `seal.json`: the supervised prompts.
        templates: body and title template of each kind.
        further: template of each further field and kind.
    """

    description: ModelDescription
    templates: dict[str, tuple[str, str]]
    further: dict[str, dict[str, str]]

    def template(self, field: str, kind: str) -> str:
        """The prompt of an example, with one `{query}` for its source."""
        if field not in (BODY, TITLE):
            return self.further[field][kind]
        body, title = self.templates[kind]
        return body if field == BODY else title


def training_prompts(
    family: str, own: ModelDescription | None, fields: Sequence[str] = ()
) -> TrainingPrompts:
    """The prompts for a family; of the model's own description start tokens and title end are kept.

    So are further fields that it has beside those of the training set, and their prompts where it has both.

    Args:
        family: CAUSAL or SEQ2SEQ.
        own: the description that the model has before.
        fields: further fields of the training set.

    Raises:
        UsageError: two fields would have one prompt.
    """
    templates = {
        kind: (_prompt(family, kind, BODY), _prompt(family, kind, TITLE)) for kind in _TEMPLATES[family]
    }
    had = {} if own is None else dict(own.fields)
    further = {
        name: {kind: _prompt(family, kind, name) for kind in _TEMPLATES[family]}
        | ({SUPERVISED: had[name]} if name in had else {})
        for name in dict.fromkeys((*had, *fields))
    }
    body, title = templates[SUPERVISED]
    prompts = {name: kinds[SUPERVISED] for name, kinds in further.items()}
    _check_distinct({BODY: body, TITLE: title} | prompts)
    title_end = "\n" if family == CAUSAL else " @@"
    description = ModelDescription(family, body, title, title_end, fields=MappingProxyType(prompts))
    if family == SEQ2SEQ and own is not None:
        description = replace(description, title_end=own.title_end, start=own.start)
    return TrainingPrompts(description, templates, further)


def _prompt(family: str, kind: str, field: str) -> str:
    if field == QUESTION and family == CAUSAL:
        return _GENERATOR[kind]
    word = _WORDS[family].get(field, field.replace("_", " "))
    return _TEMPLATES[family][kind].replace("<field>", word)


def _check_distinct(prompts: dict[str, str]) -> None:
    fields: dict[str, str] = {}
    for field, prompt in prompts.items():
        other = fields.setdefault(prompt, field)
        if other != field:
            raise UsageError(
                f"the fields {shown(other)} and {shown(field)} have the same prompt, {prompt!r}; rename one"
            )
