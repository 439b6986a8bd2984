"""The decoder's attention over passages without keys and values of them.

Of an attention's head, with x_t what the decoder holds and h_s the encoder's states, the score is
(W_q x_t) . (W_k h_s) = (W_k^T W_q x_t) . h_s, and its output sum_s a_ts W_v h_s = W_v sum_s a_ts h_s. So the
small side is projected and the states are read as they are. Over 100 passages keys and values of all layers
would take many times the memory of the states, and to compute them costs more than an answer of a few tokens.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import nn

from seal_ir.lm.kv_cache import cache_keyword

logger = logging.getLogger(__name__)
_T5, _BART = "EncDecAttention", "encoder_attn"  # what decoders call their attention over the encoder
_T5_LAYERS, _BART_LAYERS = ("q", "k", "v", "o"), ("q_proj", "k_proj", "v_proj", "out_proj")
_TOLERANCE, _HALF_TOLERANCE = 0.001, 0.1  # total variation distance, in float32 and in half precision


class StateAttention(nn.Module):
    """An attention over encoder states; gives what the network's own module gives, but for rounding.

    Only for inference: no dropout, and masks are the same for all places of the decoder.
    """

    def __init__(self, attention: Any, names: tuple[str, ...], n_heads: int, scaling: float) -> None:
        """Args: attention: the module; names: of its four projections; n_heads, scaling: of its scores."""
        super().__init__()
        self._q, self._k, self._v, self._out = (getattr(attention, name) for name in names)
        self._attention, self._n_heads, self._scaling = attention, n_heads, scaling

    def attend(
        self,
        hidden: torch.Tensor,
        states: torch.Tensor,
        mask: torch.Tensor | None,
        bias: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """What each place of the decoder reads, [n, length, size].

        Args:
            hidden: [n, length, size], the decoder's.
            states: [n, places, size], the encoder's.
            mask: [n, 1, 1 or length, places], bool or added to the scores; None where all is seen.
            bias: [1 or n, heads, length, places], added to the scores.
        """
        n, length, _ = hidden.shape
        query = self._q(hidden).view(n, length, self._n_heads, -1)
        keys, values = (layer.weight.view(self._n_heads, -1, states.shape[2]) for layer in (self._k, self._v))
        # A bias of the keys adds the same to all scores of a place: the softmax takes it out.
        asked = torch.einsum("nthk,hkd->nhtd", query, keys).flatten(1, 2)
        scores = (asked @ states.transpose(1, 2)).view(n, self._n_heads, length, -1) * self._scaling
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            hidden_places = mask.logical_not() if mask.dtype == torch.bool else mask < -1
            scores = scores.masked_fill(hidden_places, torch.finfo(scores.dtype).min)
        precise = torch.promote_types(scores.dtype, torch.float32)
        shares = scores.softmax(dim=-1, dtype=precise).to(states.dtype).flatten(1, 2)
        read = (shares @ states).view(n, self._n_heads, length, -1)
        found = torch.einsum("nhtd,hkd->nthk", read, values).flatten(2)
        if self._v.bias is not None:
            found = found + self._v.bias
        gathered: torch.Tensor = self._out(found)
        return gathered


class _T5StateAttention(StateAttention):
    """In the place of a T5 decoder's attention over its encoder."""

    def forward(
        self,
        hidden_states: torch.Tensor,
        mask: torch.Tensor | None = None,
        key_value_states: torch.Tensor | None = None,
        position_bias: torch.Tensor | None = None,
        **options: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        assert key_value_states is not None  # noqa: S101 - T5 gives them to this module always
        own = self._attention
        if position_bias is None and own.has_relative_attention_bias:
            length, cache = hidden_states.shape[1], options.get("cache", options.get("past_key_values"))
            # The layer's own keys have been added to the cache before.
            before = 0 if cache is None else int(cache.get_seq_length(own.layer_idx)) - length
            position_bias = own.compute_bias(length, key_value_states.shape[1], past_seen_tokens=before)
        return self.attend(hidden_states, key_value_states, mask, position_bias), position_bias, None


class _BartStateAttention(StateAttention):
    """In the place of a BART decoder's attention over its encoder."""

    def forward(
        self,
        hidden_states: torch.Tensor,
        key_value_states: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        **_: Any,
    ) -> tuple[torch.Tensor, None]:
        assert key_value_states is not None  # noqa: S101 - BART gives them to this module always
        return self.attend(hidden_states, key_value_states, attention_mask), None


def use_state_attention(network: Any) -> bool:
    """Put state attention into a network's decoder, if its parts are T5's or BART's and it computes the same.

    The parameters stay where they are, under further names: do not save the network afterwards.

    Returns:
        Whether it is there; the network stays as it was where it is not.
    """
    decoder = network.get_decoder()
    found = [
        (module, name, getattr(module, name))
        for module in decoder.modules()
        for name in (_T5, _BART)
        if isinstance(getattr(module, name, None), nn.Module)
    ]
    try:
        expected = _confirming(network, (3,))
        for module, name, attention in found:
            setattr(module, name, _in_place_of(attention, name))
        given = _confirming(network, (2, 1))
        tolerance = _TOLERANCE if network.dtype == torch.float32 else _HALF_TOLERANCE
        if found and bool((given.softmax(-1) - expected.softmax(-1)).abs().sum(-1).max() / 2 < tolerance):
            return True
        reason = "it computes something else"
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
    for module, name, attention in found:
        setattr(module, name, attention)
    logger.debug("%s: state attention does not fit (%s)", type(network).__name__, reason)
    return False


def _in_place_of(attention: Any, name: str) -> nn.Module:
    if name == _T5:
        return _T5StateAttention(attention, _T5_LAYERS, attention.n_heads, 1.0)
    return _BartStateAttention(attention, _BART_LAYERS, attention.num_heads, attention.scaling)


@torch.inference_mode()
def _confirming(network: Any, steps: tuple[int, ...]) -> torch.Tensor:
    """Logits of three tokens, so many in a step, over two short sources: float32 [2, 3, vocabulary]."""
    source = (torch.arange(10, device=network.device) + 5).view(2, 5) % network.config.vocab_size
    mask = torch.tensor([[1] * 5, [1] * 3 + [0] * 2], device=network.device)
    encoded = network.get_encoder()(input_ids=source, attention_mask=mask)
    keyword, cache, logits = cache_keyword(network), None, []
    for target in source[:, :3].split(steps, dim=1):
        output = network(
            encoder_outputs=encoded,
            attention_mask=mask,
            decoder_input_ids=target,
            use_cache=len(steps) > 1,
            **{keyword: cache},
        )
        cache = getattr(output, keyword)
        logits.append(output.logits.float())
    return torch.cat(logits, dim=1)
