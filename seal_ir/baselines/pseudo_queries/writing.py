"""Questions that a language model writes for passages: one trained for it, or any after a few examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import LogitsProcessor

from seal_ir.arguments import check_least
from seal_ir.baselines.generating import Writer, Writing, line_ends, write
from seal_ir.decode.prompts import CutQueries, make_prompt, note_cut
from seal_ir.errors import ModelError
from seal_ir.lm.protocols import Generator, Tokens
from seal_ir.records import Document
from seal_ir.text.description import CAUSAL, QUESTION, passage_source

_BLOCKS = 8  # batches whose passages are sorted by length
_N_TOKENS = 32  # of the longest question
_LIKELY = 10  # each token is drawn from so many, as in docTTTTTquery

# Written for this purpose: no question of any test set.
_EXAMPLES = (
    (
        "Coffee",
        "Coffee is a drink made of roasted coffee beans. The beans are the seeds of a berry that grows on"
        " shrubs of the genus Coffea, native to tropical Africa and to Madagascar.",
        "where do coffee plants originally come from",
    ),
    (
        "Suspension bridge",
        "In a suspension bridge the deck hangs below cables on vertical suspenders. The cables run over"
        " towers and are anchored at each end of the bridge, so that they carry most of the load.",
        "what carries the weight of a suspension bridge",
    ),
    (
        "Sundial",
        "A sundial tells the hour by the shadow that a rod, the gnomon, throws on a plate with lines. As the"
        " Sun moves across the sky, the shadow meets one line after the other.",
        "what is the part of a sundial that casts the shadow called",
    ),
)


@dataclass(frozen=True, slots=True)
class QuestionConfig:
    """How questions are written.

    Attributes:
        per_document: how many are drawn for each passage.
        seed: of the draws.
        batch_size: texts written together.
    """

    per_document: int = 5
    seed: int = 0
    batch_size: int = 16

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, per_document=1, seed=0, batch_size=1)


class _Draws(LogitsProcessor):
    """Adds Gumbel noise to the likeliest tokens, so that the greatest sum is a draw from their distribution.

    Each row has a generator of its own: what is drawn for it does not depend on the other rows.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._generators = [np.random.default_rng(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        likely = torch.topk(scores.float(), min(_LIKELY, scores.shape[1]), dim=1)
        noise = np.stack([generator.gumbel(size=likely.values.shape[1]) for generator in self._generators])
        values = likely.values + torch.from_numpy(noise).to(likely.values)
        return torch.full_like(scores.float(), -torch.inf).scatter(1, likely.indices, values)


def template() -> str:
    """The examples, and the place of the passage."""
    examples = "".join(
        f"{_told(title, text)}\nQuestion: {question}\n\n" for title, text, question in _EXAMPLES
    )
    return f"{examples}{{query}}\nQuestion:"


def write_questions(
    writer: Writer, documents: Sequence[Document], config: QuestionConfig, cut: CutQueries
) -> Iterator[tuple[Document, list[str]]]:
    """Each document, in order, with the questions that came to an end; they may be equal.

    A model that was trained to ask (`python -m seal_ir.train data --questions`) is asked with the prompt of
    its training, another one with examples. Tokens are drawn from the ten likeliest. What is drawn depends on
    the seed and the document, up to the rounding of batches, so that a part of the documents gets the same
    questions as all of them.

    Args:
        writer: a question generator, or a causal model; a long passage is cut to what it can read.
        documents: the passages.
        config: how.
        cut: gets the passages that were cut.

    Raises:
        ModelError: the model is neither, or the examples alone are too long for it.
    """
    if not is_trained(writer.generator) and writer.generator.description.family != CAUSAL:
        raise ModelError(
            "questions are written by a causal model that continues a text, or by one that was trained with"
            " --questions; name one with --model"
        )
    writing = Writing(_N_TOKENS, _question_ends(writer))
    size = max(1, _BLOCKS * config.batch_size // config.per_document)
    for at in range(0, len(documents), size):
        block = documents[at : at + size]
        tasks = [(document, n) for document in block for n in range(config.per_document)]
        prompts = _prompts(writer, block, cut)
        seeds = [_seed(config.seed, document.id, n) for document, n in tasks]
        written = write(
            writer,
            [prompts[document.id] for document, _ in tasks],
            writing,
            config.batch_size,
            lambda places, seeds=seeds: _Draws([seeds[place] for place in places]),  # type: ignore[misc]
        )
        questions: dict[str, list[str]] = {document.id: [] for document in block}
        for (document, _), (text,) in zip(tasks, written, strict=True):
            if text.finished:
                questions[document.id].append(writer.generator.tokenizer.decode(text.tokens).strip())
        yield from ((document, questions[document.id]) for document in block)


def is_trained(generator: Generator) -> bool:
    """Whether a model was trained to write questions of passages."""
    return QUESTION in generator.description.fields


def _question_ends(writer: Writer) -> Tokens:
    """Tokens that end a question: what a generator was taught to end it with, else any line feed."""
    generator = writer.generator
    if generator.description.family == CAUSAL:
        return line_ends(writer)
    return (generator.title_end,)


def _prompts(writer: Writer, documents: Sequence[Document], cut: CutQueries) -> dict[str, Tokens]:
    """The token ids to go on from by document id."""
    generator = writer.generator
    trained = is_trained(generator)
    asking = generator.description.fields[QUESTION] if trained else template()
    prompts: dict[str, Tokens] = {}
    places: dict[int, int] = {}
    for place, document in enumerate(documents):
        passage = (passage_source if trained else _told)(document.title, document.text)
        prompt, limit = make_prompt(generator, asking, passage, _N_TOKENS)
        note_cut(places, place, limit)
        prompts[document.id] = tuple(prompt.tokens)
    cut.add([document.id for document in documents], places)
    return prompts


def _told(title: str, text: str) -> str:
    article = f"Article: {' '.join(title.split())}\n" if title.strip() else ""
    return f"{article}Passage: {' '.join(text.split())}"


def _seed(seed: int, docid: str, n: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {n} {docid}".encode()).digest()[:8])
