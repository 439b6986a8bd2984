"""The batches of a run of training: item i is the whole of batch i, made when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import Dataset

from seal_ir.arrays import Ints
from seal_ir.errors import InputError
from seal_ir.lm.protocols import Tokens
from seal_ir.read.contexts import Passages
from seal_ir.read.fid.collate import collate
from seal_ir.read.fid.encoding import InputEncoder
from seal_ir.read.fid.loading import Parts
from seal_ir.read.fid.questions import FitQuestion

_DEV_QUESTIONS = 256  # for the dev loss
Batch = dict[str, torch.Tensor]


class Material:
    """Questions with what turns them into tensors for one model."""

    def __init__(self, questions: Sequence[FitQuestion], passages: Passages, parts: Parts) -> None:
        """Leave out questions that are too long for the model, which goes to stderr.

        Args:
            questions: all.
            passages: theirs.
            parts: what goes with the model.

        Raises:
            InputError: all of them are too long.
        """
        self._passages, self._parts = passages, parts
        self._inputs = InputEncoder(parts.tokenizer, parts.description)
        self.questions = [question for question in questions if self._inputs.has_room(question.text)]
        n_long = len(questions) - len(self.questions)
        if not self.questions:
            raise InputError(
                f"no question is left: all {n_long:,} have too many tokens for the"
                f" {parts.description.passage_tokens:,} of a question with a passage; raise --passage-tokens"
            )
        if n_long:
            sys.stderr.write(f"questions that leave no room for a passage, left out: {n_long:,}\n")

    def batch(self, chosen: Sequence[tuple[FitQuestion, str]]) -> Batch:
        """Questions, each with one of its answers, as tensors; see `collate`."""
        rows = [self._inputs(question.text, self._passages.read(question.passages)) for question, _ in chosen]
        targets = [self._target(answer) for _, answer in chosen]
        return collate(rows, targets, self._parts.start, self._parts.description.width)

    def _target(self, answer: str) -> Tokens:
        written = self._parts.tokenizer.encode(answer)[: self._parts.description.answer_tokens - 1]
        return (*written, self._parts.end)

    def held_out(self) -> tuple[Ints, list[Batch]]:
        """Numbers of the questions to train on, and batches of the others, each with its first answer.

        A tenth is held out, 256 at most, the same for every seed.

        Raises:
            InputError: there are too few.
        """
        n = len(self.questions)
        n_dev = min(_DEV_QUESTIONS, n // 10)
        if n_dev < 1:
            raise InputError(
                f"{n} questions are too few to hold some out of them for the dev loss; give 10 or more"
            )
        order = np.random.default_rng(0).permutation(n)
        dev = (self.questions[i] for i in order[:n_dev].tolist())
        return np.sort(order[n_dev:]), [self.batch([(one, one.answers[0])]) for one in dev]


class Batches(Dataset[Batch]):
    """All batches of a run. Each pass has all questions once, in an order and with answers of its own."""

    def __init__(self, material: Material, chosen: Ints, n_batches: int, n_questions: int, seed: int) -> None:
        """Take questions.

        Args:
            material: all of them.
            chosen: int64 [n], numbers of those to train on.
            n_batches: of the run.
            n_questions: of a batch.
            seed: of order and answers.
        """
        self._material, self._chosen = material, chosen
        self._n_batches, self._n_questions, self._seed = n_batches, n_questions, seed

    def __len__(self) -> int:
        """Number of batches."""
        return self._n_batches

    def __getitem__(self, position: int) -> Batch:
        """The batch at a position, whatever was asked for before."""
        if not 0 <= position < self._n_batches:
            raise IndexError(position)
        first = position * self._n_questions
        return self._material.batch([self.drawn(first + i) for i in range(self._n_questions)])

    def drawn(self, place: int) -> tuple[FitQuestion, str]:
        """The question at a place of the endless stream, with one of its answers."""
        number, at = divmod(place, len(self._chosen))
        order = np.random.default_rng([self._seed, number]).permutation(self._chosen)
        question = self._material.questions[int(order[at])]
        draw = np.random.default_rng([self._seed, number, at])
        return question, question.answers[int(draw.integers(len(question.answers)))]
