"""A batch of questions as the tensors that a `TargetLoss` of `FusionInDecoder` reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from seal_ir.lm.protocols import Tokens
from seal_ir.read.fid.fusion import padded


def collate(
    inputs: Sequence[Sequence[Tokens]],
    targets: Sequence[Tokens],
    start: Tokens,
    width: int | None = None,
) -> dict[str, torch.Tensor]:
    """The arguments of `FusionInDecoder`, and which of its logits predict which tokens.

    Args:
        inputs: of each question, one for each passage.
        targets: the answer of each, with the token that ends it.
        start: what an answer starts with in the decoder.
        width: places of each input in the concatenation; see `fuse`.

    Returns:
        Those arguments, `predict` (int64 [m], places in the flattened logits) and `target` (int64 [m]).
    """
    rows = [row for question in inputs for row in question]
    tokens, mask = padded(rows, width)
    written, _ = padded([(*start, *target[:-1]) for target in targets])
    first = torch.arange(len(targets)) * written.shape[1] + len(start) - 1
    return {
        "input_ids": tokens,
        "attention_mask": mask,
        "keep": mask.bool() if width is None else torch.ones_like(mask, dtype=torch.bool),
        "lengths": torch.tensor([sum(width or len(row) for row in question) for question in inputs]),
        "decoder_input_ids": written,
        "predict": torch.cat(
            [at + torch.arange(len(target)) for at, target in zip(first, targets, strict=True)]
        ),
        "target": torch.tensor([token for target in targets for token in target]),
    }
