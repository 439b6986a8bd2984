"""A language model for fast tests: a fixed table of logits behind the protocols of seal_ir.lm.protocols."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from seal_ir.arrays import Floats, Ints
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.reader import Index
from seal_ir.lm.next_tokens import HostTokens
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.records import Document
from seal_ir.text.description import CAUSAL, ModelDescription
from seal_ir.text.tokenizer import TextTokenizer

BODY_PROMPT, TITLE_PROMPT = "{query} body", "{query} title"
FURTHER = ("docid", "pseudo_queries")  # fields beside title and body that the stub has prompts for


class StubModel:
    """Logits of the next token depend on the last token written and on a hash of the whole prompt.

    Args:
        n_vocabulary: tokens.
        seed: another seed, another model.
        levels: round logits to this many distinct values, so that many candidates tie; 0 for none.
        banned: tokens of probability zero.
        max_tokens: longest prompt and continuation; longer ones raise, as a position table does.
        nested: whether rows may continue others of the same call.
    """

    def __init__(
        self,
        n_vocabulary: int,
        seed: int = 0,
        levels: int = 0,
        banned: Iterable[int] = (),
        max_tokens: int = 1 << 20,
        nested: bool = True,
    ) -> None:
        self.n_vocabulary, self.seed, self.levels, self.nested = n_vocabulary, seed, levels, nested
        self.banned = sorted(banned)
        self.max_tokens = max_tokens
        self.prompts: list[tuple[int, ...]] = []  # all that it was asked, for tests of truncation
        self.n_steps = self.n_rows = 0
        self._known: dict[tuple[tuple[int, ...], int], Floats] = {}

    def start(self, prompts: Sequence[Prompt]) -> StubSession:
        self.prompts.extend(prompt.tokens for prompt in prompts)
        return StubSession(self, prompts)

    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> Floats:
        """Log-probabilities of the next token, float32 [n_vocabulary]."""
        last = written[-1] if len(written) else -1
        known = self._known.get((prompt, last))
        if known is None:
            rng = np.random.default_rng(zlib.crc32(repr((self.seed, prompt, last)).encode()))
            logits = rng.normal(size=self.n_vocabulary) * 2
            if self.levels:
                logits = np.round(np.clip(logits, -2, 2) * self.levels / 4)
            logits[self.banned] = -np.inf
            known = (logits - np.logaddexp.reduce(logits)).astype(np.float32)
            self._known[prompt, last] = known
        return known

    def forced(self, prompt: tuple[int, ...], tokens: Sequence[int]) -> float:
        """Log-probability of a whole continuation, teacher-forced."""
        return sum(float(self.following(prompt, tokens[:i])[token]) for i, token in enumerate(tokens))


class StubSession:
    """Rows, each a prompt and what was written after it."""

    def __init__(self, model: StubModel, prompts: Sequence[Prompt]) -> None:
        self._model = model
        self._rows: list[tuple[tuple[int, ...], tuple[int, ...]]] = [(p.tokens, ()) for p in prompts]
        self._check_lengths()

    @property
    def following(self) -> HostTokens:
        return HostTokens(self._logprobs, self._model.n_vocabulary)

    @property
    def nested(self) -> bool:
        return self._model.nested

    def _logprobs(self, rows: Ints) -> Floats:
        known = [self._model.following(*self._rows[row]) for row in rows.tolist()]
        return np.array(known, dtype=np.float32).reshape(-1, self._model.n_vocabulary)

    def advance(self, rows: Ints, tokens: Ints) -> None:
        assert len(rows) == len(tokens) > 0
        known = list(self._rows)
        for row, token in zip(rows.tolist(), tokens.tolist(), strict=True):
            assert self.nested or row < len(self._rows)
            known.append((known[row][0], (*known[row][1], token)))
        self._rows = known[len(self._rows) :]
        assert all(0 <= token < self._model.n_vocabulary for token in tokens.tolist())
        self._model.n_steps += 1
        self._model.n_rows += len(rows)
        self._check_lengths()

    def _check_lengths(self) -> None:
        longest = max(len(prompt) + len(written) for prompt, written in self._rows)
        if longest > self._model.max_tokens:
            raise IndexError(f"{longest} tokens on a model of {self._model.max_tokens} positions")


def word_tokenizer(words: Sequence[str]) -> TextTokenizer:
    """One token per known word, ids in the order given, `[UNK]` last."""
    vocabulary = {word: i for i, word in enumerate([*words, "[UNK]"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return TextTokenizer(tokenizer.to_str())


@cache
def byte_tokenizer() -> TextTokenizer:
    """Byte-level BPE as GPT-2's, with a hundred merges and some special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=356, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    text = "the capital of France is Paris and the river that flows through it to the sea is the Seine " * 3
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.add_special_tokens(
        [AddedToken(s, special=True) for s in ("<s>", "</s>", "<mask>", "<pad>", "@@")]
    )
    return TextTokenizer(tokenizer.to_str())


def generator(
    tokenizer: TextTokenizer, model: StubModel | None = None, title_end: int | None = None
) -> Generator:
    """A stub behind a tokenizer; by default the last id of the vocabulary ends a title."""
    fields = {name: f"{name} of {{query}} :" for name in FURTHER}
    description = ModelDescription(CAUSAL, BODY_PROMPT, TITLE_PROMPT, "\n", fields=fields)
    n = tokenizer.n_vocabulary
    return Generator(model or StubModel(n), tokenizer, description, n - 1 if title_end is None else title_end)


def prompt_tokens(made: Generator, template: str, query: str) -> tuple[int, ...]:
    """The prompt of a query, if it fits."""
    return tuple(made.tokenizer.affixes[0] + made.tokenizer.encode(template.replace("{query}", query)))


def small_index(
    directory: Path,
    documents: Sequence[Document],
    tokenizer: TextTokenizer,
    max_segment_tokens: int = 1 << 30,
) -> Index:
    """A real index of a few documents, through `build_index`."""
    about: Callable[[], dict[str, object]] = lambda: {"model": "stub", "collection": {"kind": "test"}}  # noqa: E731
    build_index(documents, directory, tokenizer, about, BuildOptions(max_segment_tokens=max_segment_tokens))
    return Index(directory)
