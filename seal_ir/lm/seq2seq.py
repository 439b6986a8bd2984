"""Encoder-decoder models (BART, T5): the source is encoded once, and its states are kept once where possible.

Where attention can be exchanged (BART and its relatives), rows live in trees as those of decoder-only models
do, and neither their own keys and values nor those of the source are ever copied. Elsewhere (T5, whose
attention adds a bias that depends on the place) each row is an entry of the decoder's batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from seal_ir.arrays import Ints
from seal_ir.lm.attention import use_tree_attention
from seal_ir.lm.kv_cache import Layout, TreeCache, cache_keyword
from seal_ir.lm.next_tokens import next_tokens
from seal_ir.lm.protocols import NextTokens, Prompt, Session


class Seq2SeqModel:
    """A transformers sequence-to-sequence model.

    Its configuration's own ideas about generation (forced tokens, minimum length, n-gram bans) play no
    part: only `forward` is used, and the target starts with the tokens given here.

    Attributes:
        network: the model.
        start_tokens: what the target starts with.
        cache_keyword: the name of `forward`'s key-value cache argument.
    """

    def __init__(self, network: Any, start_tokens: Sequence[int]) -> None:
        """Args: network: the model; start_tokens: what the target starts with, at least one token."""
        self.network = network
        self.start_tokens = list(start_tokens)
        self.cache_keyword = cache_keyword(network)

    @property
    def max_tokens(self) -> int:
        """Longest source in tokens."""
        config = self.network.config
        longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        return int(longest or 1 << 20)

    def start(self, prompts: Sequence[Prompt]) -> Session:
        """A session with one row per prompt."""
        return Seq2SeqSession(self, prompts)

    @torch.inference_mode()
    def encode(self, prompts: Sequence[Prompt]) -> tuple[torch.Tensor, torch.Tensor]:
        """The encoder's states [n, longest, size] of sources, and int64 [n, longest]: 1 for real places."""
        width = max(len(prompt.tokens) for prompt in prompts)
        source, mask = np.zeros((2, len(prompts), width), dtype=np.int64)
        for i, prompt in enumerate(prompts):
            source[i, : len(prompt.tokens)] = prompt.tokens
            mask[i, : len(prompt.tokens)] = 1
        sent = torch.from_numpy(np.stack([source, mask])).to(self.network.device)
        encoded = self.network.get_encoder()(input_ids=sent[0], attention_mask=sent[1])
        return encoded.last_hidden_state, sent[1]


class TreeSeq2SeqModel(Seq2SeqModel):
    """One whose attention is computed by `attention.py`."""

    def __init__(self, network: Any, start_tokens: Sequence[int]) -> None:
        """See `Seq2SeqModel`.

        Raises:
            TypeError: its attention cannot be exchanged.
        """
        use_tree_attention(network)
        super().__init__(network, start_tokens)

    def start(self, prompts: Sequence[Prompt]) -> Session:
        """A session with one row per prompt."""
        return TreeSeq2SeqSession(self, prompts)


class Seq2SeqSession:
    """Rows of one batch; each holds its own copy of the source's keys and values."""

    def __init__(self, model: Seq2SeqModel, prompts: Sequence[Prompt]) -> None:
        """Encode the prompts."""
        self._model = model
        self._encoded, self._mask = model.encode(prompts)
        self._cache: Any = None
        start = torch.tensor([model.start_tokens] * len(prompts), device=self._mask.device)
        self._following = self._forward(start)

    @property
    def following(self) -> NextTokens:
        """The distribution of what follows each row."""
        return self._following

    @property
    def nested(self) -> bool:
        """See `Session`."""
        return False

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        index = torch.from_numpy(rows).to(self._encoded.device)
        if not np.array_equal(rows, np.arange(len(self._encoded))):
            self._cache.batch_select_indices(index)
            self._encoded, self._mask = self._encoded[index], self._mask[index]
        self._following = self._forward(torch.from_numpy(tokens).to(index.device)[:, None])

    @torch.inference_mode()
    def _forward(self, target: torch.Tensor) -> NextTokens:
        output = self._model.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded),
            attention_mask=self._mask,
            decoder_input_ids=target,
            use_cache=True,
            **{self._model.cache_keyword: self._cache},
        )
        self._cache = getattr(output, self._model.cache_keyword)
        return next_tokens(output.logits[:, -1])


class TreeSeq2SeqSession:
    """Rows of one batch, as trees; the source's keys and values are kept once per prompt."""

    def __init__(self, model: TreeSeq2SeqModel, prompts: Sequence[Prompt]) -> None:
        """Encode the prompts."""
        self._model = model
        self._encoded, self._mask = model.encode(prompts)
        n, device = len(prompts), self._mask.device
        self._tree = TreeCache(n, device, model.network.dtype)
        self._cache = EncoderDecoderCache(self._tree, DynamicCache())
        for token in model.start_tokens:
            layout = self._tree.read_prompts(np.arange(n))
            logits = self._forward(np.full(n, token), layout)
        self._following = next_tokens(logits)

    @property
    def following(self) -> NextTokens:
        """The distribution of what follows each row."""
        return self._following

    @property
    def nested(self) -> bool:
        """See `Session`."""
        return False

    def advance(self, rows: Ints, tokens: Ints) -> None:
        """Replace the rows: new row i is old row `rows[i]` with `tokens[i]` appended."""
        alive = self._tree.retire(rows)
        if alive is not None:
            self._cache.cross_attention_cache.batch_select_indices(alive)
            self._encoded, self._mask = self._encoded[alive], self._mask[alive]
        self._following = next_tokens(self._forward(tokens, self._tree.branch(rows)))

    @torch.inference_mode()
    def _forward(self, tokens: Ints, layout: Layout) -> torch.Tensor:
        """Logits [rows, vocabulary]; each row is an entry of the batch, and all are equally long."""
        lowest = torch.finfo(self._encoded.dtype).min
        source = torch.zeros_like(self._mask, dtype=self._encoded.dtype).masked_fill_(self._mask == 0, lowest)
        output = self._model.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded),
            attention_mask=source[:, None, None].expand(-1, 1, layout.width, -1),
            decoder_input_ids=torch.from_numpy(tokens).to(self._mask.device)[:, None],
            decoder_attention_mask=layout.mask,
            use_cache=True,
            seal_layout=layout,
            **{self._model.cache_keyword: self._cache},
        )
        self._tree.length += 1
        return output.logits[:, -1]  # type: ignore[no-any-return]
