"""Encoder-decoder models (BART, T5): the source is encoded once, rows are entries of the decoder's batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from seal_ir.decode.causal import log_softmax
from seal_ir.decode.model import Floats, Ints, Prompt, cache_keyword


class Seq2SeqModel:
    """A transformers sequence-to-sequence model.

    Its configuration's own ideas about generation (forced tokens, minimum length, n-gram bans) play no
    part: only `forward` is used, and the target starts with the tokens given here.
    """

    def __init__(self, network: Any, start_tokens: Sequence[int]) -> None:
        self.network = network
        self.start_tokens = list(start_tokens)
        self.cache_keyword = cache_keyword(network)

    @property
    def max_tokens(self) -> int:
        """Longest source in tokens."""
        config = self.network.config
        longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        return int(longest or 1 << 20)

    def start(self, prompts: Sequence[Prompt]) -> Seq2SeqSession:
        """A session with one row per prompt."""
        return Seq2SeqSession(self, prompts)


class Seq2SeqSession:
    """Rows of one batch; each holds its own copy of the source's keys and values."""

    def __init__(self, model: Seq2SeqModel, prompts: Sequence[Prompt]) -> None:
        self._model = model
        device = model.network.device
        width = max(len(prompt.tokens) for prompt in prompts)
        source = torch.zeros(len(prompts), width, dtype=torch.long)
        self._mask = torch.zeros(len(prompts), width, dtype=torch.long)
        for i, prompt in enumerate(prompts):
            source[i, : len(prompt.tokens)] = torch.tensor(prompt.tokens)
            self._mask[i, : len(prompt.tokens)] = 1
        self._mask = self._mask.to(device)
        with torch.inference_mode():
            encoder = model.network.get_encoder()
            encoded = encoder(input_ids=source.to(device), attention_mask=self._mask)
        self._encoded = encoded.last_hidden_state
        self._cache: Any = None
        start = torch.tensor([model.start_tokens] * len(prompts), device=device)
        self._logprobs = self._forward(start)

    @property
    def logprobs(self) -> Floats:
        """Natural-log softmax of each row's next token, float32 [rows, vocab]."""
        return self._logprobs

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        index = torch.from_numpy(rows).to(self._encoded.device)
        if not np.array_equal(rows, np.arange(len(self._encoded))):
            self._cache.batch_select_indices(index)
            self._encoded, self._mask = self._encoded[index], self._mask[index]
        self._logprobs = self._forward(torch.from_numpy(tokens).to(index.device)[:, None])

    @torch.inference_mode()
    def _forward(self, target: torch.Tensor) -> Floats:
        output = self._model.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded),
            attention_mask=self._mask,
            decoder_input_ids=target,
            use_cache=True,
            **{self._model.cache_keyword: self._cache},
        )
        self._cache = getattr(output, self._model.cache_keyword)
        return log_softmax(output.logits[:, -1])
