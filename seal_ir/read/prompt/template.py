"""What a causal model is asked: examples, the passages, the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seal_ir.read.records import Context


@dataclass(frozen=True, slots=True)
class Template:
    """How a question and its passages are laid out in a prompt.

    Attributes:
        head: what stands before them in every prompt.
        passage: one passage, a line or more; `{passage}` in it is its title and its text.
        question: the question and what begins the answer, at the end; `{question}` in it is the question.
    """

    head: str
    passage: str
    question: str

    def filled(self, question: str, passages: Sequence[str]) -> str:
        """The prompt. The best passage comes last, next to the question.

        Args:
            question: its text; braces in it are plain text.
            passages: as `one_line` has them, best first.
        """
        parts = (self.passage.replace("{passage}", passage) for passage in reversed(passages))
        return "".join([self.head, *parts, self.question.replace("{question}", question)])


def one_line(context: Context) -> str:
    """A passage as it stands in a prompt: its title, if it has one, and its text, all in one line."""
    text = " ".join(context.text.split())
    title = " ".join(context.title.split())
    return f"{title}: {text}" if title else text


_EXAMPLES = (
    (
        "Tower Bridge: Tower Bridge is a combined bascule and suspension bridge in London, built between 1886"
        " and 1894. It crosses the River Thames close to the Tower of London.",
        "when was tower bridge built",
        "between 1886 and 1894",
    ),
    (
        "Marie Curie: Marie Curie was a physicist and chemist who did research on radioactivity. In 1903 she"
        " shared the Nobel Prize in Physics with her husband Pierre Curie and Henri Becquerel.",
        "Who shared the 1903 physics prize with the Curies?",
        "Henri Becquerel",
    ),
    (
        "Okapi: The okapi is a mammal native to the northeast of the Democratic Republic of the Congo."
        " Although it has striped markings reminiscent of zebras, it is most closely related to the giraffe.",
        "what animal is the okapi related to",
        "the giraffe",
    ),
)
FEW_SHOT = Template(
    head="Answer each question with a few words from its passages.\n\n"
    + "".join(
        f"Passage: {passage}\nQuestion: {question}\nAnswer: {answer}\n\n"
        for passage, question, answer in _EXAMPLES
    ),
    passage="Passage: {passage}\n",
    question="Question: {question}\nAnswer:",
)
DEFAULT_TEMPLATE = FEW_SHOT
