"""A batch of groups as the tensors that `TargetLoss` reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from seal_ir.train.fit.batches import Group
from seal_ir.train.fit.trees import Encoded, TreeBatch, plant, side_by_side


def collate_trees(groups: Sequence[Group], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Causal, with positions: one tree a group; `dtype` is that of the network's attention."""
    batch: TreeBatch = side_by_side([plant(group) for group in groups])
    visible = torch.from_numpy(batch.visible)
    mask = torch.zeros(visible.shape, dtype=dtype).masked_fill_(~visible, torch.finfo(dtype).min)
    return {
        "input_ids": torch.from_numpy(batch.tokens),
        "position_ids": torch.from_numpy(batch.positions),
        "attention_mask": mask[:, None],
        **_labels(batch),
    }


def collate_rows(groups: Sequence[Group]) -> dict[str, torch.Tensor]:
    """Causal, one example a row and nothing told about places: padding comes last, where no token sees it."""
    batch = side_by_side([plant([sequence]) for group in groups for sequence in group])
    tokens = torch.from_numpy(batch.tokens)
    return {"input_ids": tokens, **_labels(batch)}


def collate_pairs(groups: Sequence[Group], start: Sequence[int]) -> dict[str, torch.Tensor]:
    """Sequence to sequence: sources for the encoder, `start` and the target for the decoder."""
    sequences: list[Encoded] = [sequence for group in groups for sequence in group]
    sources, mask = _padded([sequence.prompt for sequence in sequences])
    written, _ = _padded([(*start, *sequence.target[:-1]) for sequence in sequences])
    width, first = written.shape[1], len(start) - 1
    predict = [
        i * width + first + j for i, sequence in enumerate(sequences) for j in range(len(sequence.target))
    ]
    return {
        "input_ids": sources,
        "attention_mask": mask,
        "decoder_input_ids": written,
        "predict": torch.tensor(predict),
        "target": torch.tensor([token for sequence in sequences for token in sequence.target]),
    }


def _labels(batch: TreeBatch) -> dict[str, torch.Tensor]:
    return {"predict": torch.from_numpy(batch.predict), "target": torch.from_numpy(batch.labels)}


def _padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, rows))
    tokens = np.zeros((len(rows), width), dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for i, row in enumerate(rows):
        tokens[i, : len(row)], mask[i, : len(row)] = row, 1
    return torch.from_numpy(tokens), torch.from_numpy(mask)
