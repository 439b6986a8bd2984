"""How the published system calls its encoder-decoder network: for the baseline in `published.py` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from seal_ir.arrays import Floats, Ints
from seal_ir.lm.next_tokens import HostTokens, log_softmax
from seal_ir.lm.protocols import NextTokens, Prompt

_ROWS_AT_ONCE = 64  # keys read together: their log-probabilities over the vocabulary take 130 MB at most


class ExpandedSession:
    """A decoding whose rows are from the first step `width` copies of each prompt, encoder states and all."""

    def __init__(self, model: Any, prompts: Sequence[Prompt], width: int) -> None:
        self._model = model
        states, mask = model.encode(prompts)
        self._states, self._mask = (part.repeat_interleave(width, dim=0) for part in (states, mask))
        self._cache: Any = None
        start = torch.tensor([model.start_tokens] * len(self._states), device=self._states.device)
        self._logprobs = self._forward(start)

    @property
    def following(self) -> NextTokens:
        """The log-probabilities, which all have been moved to numpy."""
        return HostTokens(lambda rows: self._logprobs[rows], self._logprobs.shape[1])

    @property
    def nested(self) -> bool:
        """See `Session`."""
        return False

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        index = torch.from_numpy(rows).to(self._states.device)
        self._cache.batch_select_indices(index)
        self._logprobs = self._forward(torch.from_numpy(tokens).to(index.device)[:, None])

    @torch.inference_mode()
    def _forward(self, target: torch.Tensor) -> Floats:
        output = self._model.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._states),
            attention_mask=self._mask,
            decoder_input_ids=target,
            use_cache=True,
            **{self._model.cache_keyword: self._cache},
        )
        self._cache = getattr(output, self._model.cache_keyword)
        return log_softmax(output.logits[:, -1]).cpu().numpy()


@torch.inference_mode()
def read_keys(model: Any, prompt: Prompt, continuations: Sequence[Sequence[int]]) -> list[float]:
    """Log-probability of each continuation of a prompt: whole sequences, padded, without a cache."""
    states, mask = model.encode([prompt])
    start = list(model.start_tokens)
    found: list[float] = []
    for at in range(0, len(continuations), _ROWS_AT_ONCE):
        part = continuations[at : at + _ROWS_AT_ONCE]
        width = max(map(len, part))
        padded = np.zeros((len(part), width), dtype=np.int64)
        real = np.arange(width) < np.array([len(tokens) for tokens in part])[:, None]
        for row, tokens in zip(padded, part, strict=True):
            row[: len(tokens)] = tokens
        target = torch.from_numpy(padded).to(states.device)
        opening = torch.tensor([start] * len(part), device=states.device)
        output = model.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.expand(len(part), -1, -1)),
            attention_mask=mask.expand(len(part), -1),
            decoder_input_ids=torch.cat([opening, target[:, :-1]], dim=1),
            use_cache=False,
        )
        logprobs = log_softmax(output.logits[:, len(start) - 1 :])
        chosen = logprobs.gather(2, target[:, :, None])[:, :, 0].double()
        chosen = chosen.masked_fill(torch.from_numpy(~real).to(chosen.device), 0.0)
        found.extend(chosen.sum(dim=1).tolist())
    return found
