"""`FMIndexLogitsProcessor`: lets `generate()` of transformers write only what stands in a collection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import LogitsProcessor

from seal_ir.arguments import whole
from seal_ir.arrays import Ints
from seal_ir.errors import ArgumentError, ModelError
from seal_ir.index.reader import Index
from seal_ir.quoting.provenance import token_ids
from seal_ir.text.symbols import FIRST_TOKEN
from seal_ir.text.tokenizer import TextTokenizer

_HALF = "\ufffd"  # what a tokenizer makes of part of a character


class _State(NamedTuple):
    """Where a sequence is.

    Attributes:
        span: tokens of the quotation that it is writing.
        ranges: the rows of that n-gram, int64 [n_segments, 2].
        over: whether it has ended, or holds what is no quotation: then nothing but its end may follow.
    """

    span: tuple[int, ...]
    ranges: Ints
    over: bool = False


class FMIndexLogitsProcessor(LogitsProcessor):
    """Forbids every token after which the text would not stand in the collection.

    What is generated is a quotation, or several with a separator after each: n-grams of titles, bodies or
    further fields, none across two of them. It ends where the model likes, once a quotation is `min_tokens`
    long, and where its document ends. It may be used for greedy search, sampling and beams, and for one
    `generate()` after the other: prompts are what the rows hold when one begins, and stay as they are. States
    go by what a row holds, not by its place, so that beams may be reordered. A prompt that is a text of the
    last generation continues its quotation; `reset` begins anew.

    Logits of allowed tokens are not changed; all others become -inf. Where a beam search finds fewer texts
    than it is to return, the rest has a score of -inf and is no quotation.
    """

    def __init__(
        self,
        index: Index,
        eos_token_id: int | Iterable[int],
        *,
        min_tokens: int = 1,
        end_anywhere: bool = False,
        separators: Iterable[int] = (),
        tokenizer: Any = None,
    ) -> None:
        """A processor for one generation at a time.

        Args:
            index: the collection's.
            eos_token_id: what ends a text.
            min_tokens: length from which on a quotation may end.
            end_anywhere: let it end at any token, shorter ones and the empty text included.
            separators: tokens that end a quotation and begin another; none is part of one.
            tokenizer: transformers', to be compared with the index's.

        Raises:
            ArgumentError: an argument is no token or number, or there is no `eos_token_id`.
            ModelError: the tokenizer is another one than the index has.
        """
        ends = [eos_token_id] if isinstance(eos_token_id, int) else eos_token_id
        self._ends = token_ids(ends, "eos_token_id")
        if not self._ends:
            raise ArgumentError("eos_token_id holds no token; give at least one")
        self._separators = token_ids(separators, "separators")
        self._min_tokens = whole(min_tokens, "min_tokens", 1)
        self._end_anywhere = end_anywhere
        self._index = index
        self._states: dict[bytes, _State] = {}
        if tokenizer is not None:
            _check(index, tokenizer)

    def reset(self) -> None:
        """Forget the last generation: before prompts that each are a text of it, which would be continued."""
        self._states = {}

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [n, n_vocabulary] of what may follow rows of tokens [n, n_tokens]; -inf for the rest."""
        rows: Ints = input_ids.detach().cpu().numpy().astype(np.int64)
        known = [self._states.get(_digest(row[:-1])) for row in rows]
        if any(state is None for state in known):  # they continue nothing that was generated: prompts
            self._states = {}
            states = [_State((), self._index.everything) for _ in rows]
        else:
            pairs = zip(known, rows[:, -1].tolist(), strict=True)
            states = [self._after(state, token) for state, token in pairs if state is not None]
        # All are kept, as assisted generation goes back to shorter texts.
        self._states.update((_digest(row), state) for row, state in zip(rows, states, strict=True))
        allowed = np.zeros(tuple(scores.shape), dtype=bool)
        for line, state in zip(allowed, states, strict=True):
            tokens = self._allowed(state)
            line[tokens[tokens < len(line)]] = True
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -torch.inf)

    def _after(self, state: _State, token: int) -> _State:
        if state.over or token in self._ends:
            return state._replace(over=True)
        if token in self._separators:
            return _State((), self._index.everything)
        symbol = np.array([token + FIRST_TOKEN], dtype=np.uint32)
        ranges = self._index.extend(np.ascontiguousarray(state.ranges[None]), symbol)[0]
        # A beam that had no better continuation holds what was forbidden.
        return _State((*state.span, token), ranges, over=bool((ranges[:, 0] == ranges[:, 1]).all()))

    def _allowed(self, state: _State) -> Ints:
        if state.over:
            return np.array(self._ends)
        tokens = self._following(state)
        may_end = self._end_anywhere or len(state.span) >= self._min_tokens or not len(tokens)
        if may_end and not self._decoded(state.span).endswith(_HALF):
            return np.concatenate([tokens, self._ends, self._separators if state.span else []]).astype(int)
        return tokens

    def _following(self, state: _State) -> Ints:
        """Tokens that follow the n-gram inside a field."""
        if not state.span:
            return self._first
        found = self._index.successors(np.ascontiguousarray(state.ranges[None])).symbols
        return self._inside(found)

    def _inside(self, symbols: Any) -> Ints:
        tokens: Ints = symbols[symbols >= FIRST_TOKEN].astype(np.int64) - FIRST_TOKEN
        return tokens[~np.isin(tokens, [*self._separators, *self._ends])]

    @cached_property
    def _first(self) -> Ints:
        """Tokens that a quotation may begin with: none that begins within a character."""
        tokens = self._inside(self._index.first_symbols.symbols)
        return np.array([token for token in tokens.tolist() if not self._decoded((token,)).startswith(_HALF)])

    def _decoded(self, tokens: Sequence[int]) -> str:
        return self._index.tokenizer.decode(tokens)


def _digest(row: Ints) -> bytes:
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()


def _check(index: Index, tokenizer: Any) -> None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("only models with a fast tokenizer (tokenizer.json) can quote an index")
    if TextTokenizer(str(backend.to_str())).fingerprint != index.manifest.tokenizer:
        raise ModelError(
            f"{index.directory}: built with the tokenizer of {index.manifest.model!r}, which is not this"
            " model's; index the collection again with --model"
        )
