"""Fusion-in-Decoder over a transformers encoder-decoder network.

With E the encoder, D the decoder and x_1 ... x_n a question's inputs, one for each passage, the answer is
decoded as log P(y_t | y_<t) = D(y_<t, [E(x_1); ...; E(x_n)]): no passage sees another one until the decoder
attends over the concatenation. Padding is left out of it, so that what the decoder reads is as long as the
passages are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers.modeling_outputs import BaseModelOutput

from seal_ir.lm.protocols import Tokens

CHUNK_TOKENS = 4096  # that are encoded together, padding included


class Fused(NamedTuple):
    """What the decoder attends over.

    Attributes:
        states: [n_questions, longest, size], the encoder's states of all passages of each question.
        mask: int64 [n_questions, longest], 1 where there is a state.
    """

    states: torch.Tensor
    mask: torch.Tensor

    def outputs(self) -> dict[str, Any]:
        """As the arguments of a transformers network."""
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=self.states),
            "attention_mask": self.mask,
        }


class FusionInDecoder(nn.Module):
    """A transformers network that reads passages apart and answers from all of them; what is trained.

    Attributes:
        network: the encoder-decoder network.
        config: its configuration.
    """

    def __init__(self, network: Any) -> None:
        """Args: network: a transformers encoder-decoder model with a head."""
        super().__init__()
        self.network, self.config = network, network.config

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        keep: torch.Tensor,
        lengths: torch.Tensor,
        decoder_input_ids: torch.Tensor,
        use_cache: bool = False,
    ) -> Any:
        """What the network gives for the beginnings of answers, with `logits` [n_questions, n, vocabulary].

        Args:
            input_ids: int64 [n_inputs, width], those of the first question, then of the next.
            attention_mask: int64 [n_inputs, width], 1 for tokens.
            keep: bool [n_inputs, width], the states that the decoder may be given: tokens, or all places.
            lengths: int64 [n_questions], states kept of each question's inputs.
            decoder_input_ids: int64 [n_questions, n].
            use_cache: whether keys and values are kept; see the network's.
        """
        encoded = self.network.get_encoder()(input_ids=input_ids, attention_mask=attention_mask)
        sizes = lengths.tolist()
        fused = Fused(*(_apart(part[keep], sizes) for part in (encoded.last_hidden_state, attention_mask)))
        return self.network(**fused.outputs(), decoder_input_ids=decoder_input_ids, use_cache=use_cache)


@torch.inference_mode()
def fuse(
    network: Any,
    inputs: Sequence[Sequence[Tokens]],
    chunk_tokens: int = CHUNK_TOKENS,
    width: int | None = None,
) -> Fused:
    """The states of questions' inputs, encoded in chunks, so that memory does not grow with their number.

    Args:
        network: a transformers encoder-decoder model.
        inputs: of each question, one for each passage.
        chunk_tokens: encoded together at most, padding included; a longer input is a chunk of its own.
        width: places that each input has in the concatenation, the rest of them masked; None for as many
            as it has tokens. Only a decoder that knows of places (`cross_attention_bias`) sees a difference.
    """
    rows = [row for question in inputs for row in question]
    lengths = [sum(width or len(row) for row in question) for question in inputs]
    starts = np.cumsum([0, *(width or len(row) for row in rows)])
    device = network.device
    flat = torch.zeros(int(starts[-1]), network.config.hidden_size, dtype=network.dtype, device=device)
    seen = torch.zeros(len(flat), dtype=torch.int64, device=device)
    for chunk in _chunks(rows, chunk_tokens):
        tokens, mask = padded([rows[i] for i in chunk])
        tokens, mask = tokens.to(device), mask.to(device)
        encoded = network.get_encoder()(input_ids=tokens, attention_mask=mask).last_hidden_state
        for i, states in zip(chunk, encoded, strict=True):
            place = slice(starts[i], starts[i] + len(rows[i]))
            flat[place], seen[place] = states[: len(rows[i])], 1
    if len(inputs) == 1:  # nothing to be padded: no copy
        return Fused(flat[None], seen[None])
    return Fused(_apart(flat, lengths), _apart(seen, lengths))


def _apart(values: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """Values of one question after the other as [n_questions, longest, ...], padded with 0."""
    return pad_sequence(list(torch.split(values, lengths)), batch_first=True)


def _chunks(rows: Sequence[Tokens], chunk_tokens: int) -> Iterator[list[int]]:
    """Numbers of rows of about one length, as many as have a padded size of at most `chunk_tokens`."""
    chunk: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        if chunk and len(rows[i]) * (len(chunk) + 1) > chunk_tokens:
            yield chunk
            chunk = []
        chunk.append(i)
    if chunk:
        yield chunk


def padded(rows: Sequence[Tokens], width: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of tokens as int64 [n, width], padded at their ends with 0, and int64 [n, width]: 1 for tokens."""
    width = width or max(map(len, rows))
    tokens = np.zeros((len(rows), width), dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for i, row in enumerate(rows):
        tokens[i, : len(row)], mask[i, : len(row)] = row, 1
    return torch.from_numpy(tokens), torch.from_numpy(mask)
