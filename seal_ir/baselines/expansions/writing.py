"""What a model writes for questions when no collection holds it: a piece of a passage, and titles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seal_ir.baselines.expansions.texts import ExpansionConfig, sentence_of, titles_of
from seal_ir.baselines.generating import Writer, Writing, line_ends, write
from seal_ir.decode.prompts import Cut, make_prompt, note_cut
from seal_ir.records import Query

_BLOCKS = 8  # batches whose questions are sorted by length


class Expanded(NamedTuple):
    """A topic and what was written for it.

    Attributes:
        topic: the question.
        sentence: may be empty.
        titles: may be empty.
        cut: the question by its place 0, if it was cut to what the model can read.
    """

    topic: Query
    sentence: str
    titles: str
    cut: Cut


def expand(writer: Writer, topics: Sequence[Query], config: ExpansionConfig) -> Iterator[Expanded]:
    """Each topic, in order, with what the model writes after its body and its title prompt.

    The sentence takes the best token at each step; titles are the best of a beam search, by their
    log-probability. The same topics and config give the same texts.

    Raises:
        ModelError: a prompt alone is too long for the model.
    """
    sentences = Writing(config.sentence_tokens, line_ends(writer))
    titles = Writing(config.title_tokens, (writer.generator.title_end,), config.titles)
    description = writer.generator.description
    decode = writer.generator.tokenizer.decode
    for at in range(0, len(topics), _BLOCKS * config.batch_size):
        block = topics[at : at + _BLOCKS * config.batch_size]
        texts = [topic.text for topic in block]
        body = [make_prompt(writer.generator, description.body, text, sentences.n_tokens) for text in texts]
        title = [make_prompt(writer.generator, description.title, text, titles.n_tokens) for text in texts]
        bodies = write(writer, [made.prompt.tokens for made in body], sentences, config.batch_size)
        names = write(writer, [made.prompt.tokens for made in title], titles, config.batch_size)
        for n, topic in enumerate(block):
            (written,) = bodies[n]
            cut: dict[int, int] = {}
            for made in (body[n], title[n]):
                note_cut(cut, 0, made.limit)
            yield Expanded(
                topic,
                sentence_of(decode(written.tokens), written.finished),
                titles_of([decode(name.tokens) for name in names[n] if name.finished]),
                cut,
            )
