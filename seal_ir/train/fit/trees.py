"""A question and several targets as one sequence: the prompt once, then a branch for each target.

A causal model reads the prompt's tokens once however many targets follow from it: a token sees the shared
beginning and its own branch, and has the position that it would have in a sequence of its own. Logits are
wanted only where a token of a target is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Ints


class Encoded(NamedTuple):
    """Token ids of one example.

    Attributes:
        prompt: what the model reads first; for a sequence-to-sequence model, the encoder's input.
        target: what it is to write.
        limit: where the source had to be cut to fit the model, the tokens that there was room for.
    """

    prompt: tuple[int, ...]
    target: tuple[int, ...]
    limit: int | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens of prompt and target together."""
        return len(self.prompt) + len(self.target)


class Tree(NamedTuple):
    """Sequences that begin alike, laid out in one.

    Attributes:
        tokens: int64 [n].
        positions: int64 [n], each token's place in its own sequence.
        parents: int64 [n], number of the branch of each token; -1 in the shared beginning.
        predict: int64 [m], places whose next token belongs to a target.
        labels: int64 [m], those next tokens.
    """

    tokens: Ints
    positions: Ints
    parents: Ints
    predict: Ints
    labels: Ints

    def visible(self) -> Bools:
        """Bool [n, n]: whether the token of the row sees that of the column."""
        same = self.parents[:, None] == self.parents[None, :]
        before = np.tril(np.ones((len(self.tokens),) * 2, dtype=bool))
        visible: Bools = before & (same | (self.parents[None, :] == -1))
        return visible


class TreeBatch(NamedTuple):
    """Trees side by side, padded at their ends.

    Attributes:
        tokens: int64 [batch, n].
        positions: int64 [batch, n].
        visible: bool [batch, n, n]; a padding token sees itself.
        predict: int64 [m], places in the flattened batch.
        labels: int64 [m].
    """

    tokens: Ints
    positions: Ints
    visible: Bools
    predict: Ints
    labels: Ints


def plant(sequences: Sequence[Encoded]) -> Tree:
    """One tree of sequences; what all prompts begin with is shared.

    The last token of the shortest prompt is not, so that each branch predicts its own first token.
    """
    prompts = [sequence.prompt for sequence in sequences]
    n_shared = _common_prefix(prompts)
    tokens, positions, parents = list(prompts[0][:n_shared]), list(range(n_shared)), [-1] * n_shared
    predict: list[int] = []
    labels: list[int] = []
    for number, (prompt, target, _) in enumerate(sequences):
        branch = (*prompt[n_shared:], *target[:-1])  # the last token of a target predicts nothing
        first = len(tokens) + len(prompt) - n_shared - 1
        predict.extend(range(first, first + len(target)))
        labels.extend(target)
        tokens.extend(branch)
        positions.extend(range(n_shared, n_shared + len(branch)))
        parents.extend([number] * len(branch))
    return Tree(
        *(np.array(values, dtype=np.int64) for values in (tokens, positions, parents, predict, labels))
    )


def tree_size(sequences: Sequence[Encoded]) -> int:
    """Tokens of the tree that `plant` makes of the sequences."""
    n_shared = _common_prefix([sequence.prompt for sequence in sequences])
    return n_shared + sum(sequence.n_tokens - n_shared - 1 for sequence in sequences)


def side_by_side(trees: Sequence[Tree]) -> TreeBatch:
    """Trees as one batch."""
    width = max(len(tree.tokens) for tree in trees)
    tokens = np.zeros((len(trees), width), dtype=np.int64)
    positions = np.zeros((len(trees), width), dtype=np.int64)
    visible = np.zeros((len(trees), width, width), dtype=bool)
    visible[:, np.arange(width), np.arange(width)] = True
    for i, tree in enumerate(trees):
        n = len(tree.tokens)
        tokens[i, :n], positions[i, :n], visible[i, :n, :n] = tree.tokens, tree.positions, tree.visible()
    predict = np.concatenate([tree.predict + i * width for i, tree in enumerate(trees)])
    return TreeBatch(tokens, positions, visible, predict, np.concatenate([tree.labels for tree in trees]))


def _common_prefix(prompts: Sequence[tuple[int, ...]]) -> int:
    """Length of the common beginning; at least one token of each prompt is its branch's own."""
    shortest = min(map(len, prompts)) - 1
    return next(
        (n for n in range(shortest) if any(prompt[n] != prompts[0][n] for prompt in prompts)),
        max(0, shortest),
    )
