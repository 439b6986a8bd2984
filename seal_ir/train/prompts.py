"""The prompts of training: those of search, and their kin that say where an example comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seal_ir.records import BODY
from seal_ir.text.description import CAUSAL, SEQ2SEQ, ModelDescription
from seal_ir.train.pairs import DISTANT, SUPERVISED, UNSUPERVISED

# Short, no examples: a trained model needs none. Body and title differ as late as they can, so that
# targets of one question share their prompt in training (`trees`) and in search.
_CAUSAL = {
    SUPERVISED: ("question: {query}\npassage:", "question: {query}\narticle:"),
    UNSUPERVISED: ("text: {query}\npassage:", "text: {query}\narticle:"),
    DISTANT: ("question: {query}\npassage?", "question: {query}\narticle?"),
}
# The markers of the paper's training data: field, then "+" supervised, "p" unsupervised, "?" silver.
_SEQ2SEQ = {
    kind: (f"{{query}} || body || {mark}", f"{{query}} || title || {mark}")
    for kind, mark in ((SUPERVISED, "+"), (UNSUPERVISED, "p"), (DISTANT, "?"))
}


@dataclass(frozen=True, slots=True)
class TrainingPrompts:
    """Prompts by field and kind of example.

    Attributes:
        description: what search uses, written as `seal.json`: the supervised prompts.
        templates: body and title template of each kind.
    """

    description: ModelDescription
    templates: dict[str, tuple[str, str]]

    def template(self, field: str, kind: str) -> str:
        """The prompt of an example, with one `{query}` for its source."""
        body, title = self.templates[kind]
        return body if field == BODY else title


def training_prompts(family: str, own: ModelDescription | None) -> TrainingPrompts:
    """The prompts for a family; of the model's own description the start tokens and title end are kept."""
    templates = _CAUSAL if family == CAUSAL else _SEQ2SEQ
    body, title = templates[SUPERVISED]
    title_end = "\n" if family == CAUSAL else " @@"
    description = ModelDescription(family, body, title, title_end)
    if family == SEQ2SEQ and own is not None:
        description = replace(description, title_end=own.title_end, start=own.start)
    return TrainingPrompts(description, templates)
