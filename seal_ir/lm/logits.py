"""Reading next-token distributions where the model is: a CPU's in place, others' selected on the device."""

from __future__ import annotations

import numpy as np
import torch

from seal_ir.arrays import Floats, Ints
from seal_ir.lm.next_tokens import HostTokens
from seal_ir.lm.protocols import NextTokens, Read


def next_tokens(logits: torch.Tensor) -> NextTokens:
    """The distribution of the next token of each row, from its logits [rows, vocabulary]."""
    if logits.device.type == "cpu":
        return HostTokens(lambda rows: log_softmax(_chosen(logits, rows)), logits.shape[1])
    return DeviceTokens(logits)


class DeviceTokens:
    """A `NextTokens` on an accelerator: small arrays go there, small arrays come back."""

    def __init__(self, logits: torch.Tensor) -> None:
        """Args: logits: [rows, vocabulary], on the device."""
        self._logprobs = torch.log_softmax(logits.float(), dim=-1)

    @property
    def n_vocabulary(self) -> int:
        """Number of tokens."""
        return self._logprobs.shape[1]

    @torch.inference_mode()
    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        """See `NextTokens.read`."""
        m, n = len(rows), len(top_rows)
        sent = torch.from_numpy(np.concatenate([rows, tokens, top_rows])).to(self._logprobs.device)
        values, best = torch.topk(self._logprobs[sent[2 * m :]], k)
        found = self._logprobs[sent[:m], sent[m : 2 * m]]
        # Tokens travel as the bits of floats, so that all comes back in one piece.
        back = torch.cat([found, values.flatten(), best.int().flatten().view(torch.float32)]).cpu().numpy()
        top_tokens = back[m + n * k :].view(np.int32).reshape(n, k).astype(np.int64)
        return Read(back[:m], top_tokens, back[m : m + n * k].reshape(n, k))

    def whole(self, rows: Ints) -> Floats:
        """See `NextTokens.whole`."""
        return self._logprobs[torch.from_numpy(rows).to(self._logprobs.device)].cpu().numpy()


def log_softmax(logits: torch.Tensor) -> Floats:
    """Natural-log softmax along the last axis, float32, as an array."""
    return torch.log_softmax(logits.float(), dim=-1).cpu().numpy()


def _chosen(logits: torch.Tensor, rows: Ints) -> torch.Tensor:
    """Rows of a matrix, without a copy where they are neighbours (as nearly always)."""
    if len(rows) and (np.diff(rows) == 1).all():
        return logits[int(rows[0]) : int(rows[-1]) + 1]
    return logits[torch.from_numpy(rows)]
