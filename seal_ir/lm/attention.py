"""Attention for packed rows, as one of transformers' attention functions.

The rows of a forward pass are laid out as a grid [prompt, row of the prompt]; heads that share keys and
values (grouped-query attention) are further rows of the grid, so that keys and values are not repeated.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from seal_ir.lm.kv_cache import Layout

_NAME = "seal_ir_tree"
_UNKNOWN = ("position_bias", "s_aux", "head_mask")  # what would change scores and is not understood here


def use_tree_attention(network: Any) -> None:
    """Let a network compute its attention here: as ever, and for packed rows when `seal_layout` is given.

    Raises:
        TypeError: its attention cannot be exchanged.
    """
    if not exchangeable(network):  # else transformers logs a warning
        raise TypeError("its attention cannot be exchanged")
    network.set_attn_implementation(_NAME)


def exchangeable(network: Any) -> bool:
    """Whether a network lets others compute its attention, and so sees what a mask says and nothing else."""
    asked = getattr(network, "_can_set_attn_implementation", None)
    return asked is not None and bool(asked())


def restore_attention(network: Any, implementation: str | None) -> None:
    """Let a network that used tree attention compute its attention by another of transformers' ways again."""
    if getattr(network.config, "_attn_implementation", None) == _NAME and implementation is not None:
        network.set_attn_implementation(implementation)


def tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    softcap: float | None = None,
    seal_layout: Layout | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention, as transformers calls it.

    Args:
        module: the layer.
        query: [batch, heads, length, size]; batch x length are the rows when a layout is given.
        key: [batch, key heads, places, size]; by prompt when a layout is given, and `value` too.
        value: see `key`.
        attention_mask: [batch, 1, length, places], added to the scores; [n_prompts, 1, width, places] when
            a layout is given.
        scaling: of the scores; default: one over the root of the size.
        softcap: bound of the scores (Gemma 2).
        seal_layout: where the rows lie.
        options: others that transformers passes.

    Returns:
        [batch, length, heads, size], and None for the weights.
    """
    if seal_layout is None:
        if softcap is None:
            options["scaling"] = scaling
            return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        groups = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(groups, dim=1) for part in (key, value))
        return _attended(query, key, value, attention_mask, scaling, softcap).transpose(1, 2), None
    unknown = [name for name in _UNKNOWN if options.get(name) is not None]
    if unknown:
        raise TypeError(f"attention with {unknown[0]} is not understood")
    n, width, heads, size = seal_layout.n_prompts, seal_layout.width, key.shape[1], query.shape[3]
    rows = query.transpose(1, 2).flatten(0, 1)[seal_layout.rows]
    grid = rows.view(n, width, heads, -1, size).permute(0, 2, 3, 1, 4).flatten(2, 3)
    if attention_mask is not None and grid.shape[2] > width:
        attention_mask = attention_mask.repeat(1, 1, grid.shape[2] // width, 1)
    found = _attended(grid, key, value, attention_mask, scaling, softcap)
    cells = found.view(n, heads, -1, width, found.shape[3]).permute(0, 3, 1, 2, 4).flatten(2, 3).flatten(0, 1)
    return cells[seal_layout.cells].view(query.shape[0], query.shape[2], query.shape[1], -1), None


def _attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float | None,
    softcap: float | None,
) -> torch.Tensor:
    if softcap is None:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    scores = query @ key.transpose(2, 3) * (query.shape[3] ** -0.5 if scaling is None else scaling)
    scores = torch.tanh(scores / softcap) * softcap
    scores = scores if mask is None else scores + mask
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype) @ value


# Known from here on, so that a network that was pickled in another process finds it.
AttentionInterface.register(_NAME, tree_attention)
AttentionMaskInterface.register(_NAME, eager_mask)
