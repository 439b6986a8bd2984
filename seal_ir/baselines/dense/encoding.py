"""Passages to vectors: a transformers network on batches of passages of about one length."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer, DPRContextEncoder

from seal_ir.arrays import Floats
from seal_ir.baselines.dense.encoders import DPR_PASSAGE, DPR_QUESTION, MEAN, EncoderFiles
from seal_ir.errors import ModelError
from seal_ir.formats.io.files import shown
from seal_ir.lm.device import check_weights, chosen_device, chosen_dtype
from seal_ir.lm.load import quiet_transformers
from seal_ir.records import Document
from seal_ir.search.documents import contents
from seal_ir.structured import json_line
from seal_ir.text.pretrained import ModelFiles, loading_reason, reachable_source

_BATCH_TOKENS = {"cpu": 2048}  # tokens that a step reads, padding included
_ACCELERATED_TOKENS = 65536


@dataclass(frozen=True, slots=True)
class PassageEncoder:
    """A loaded encoder of passages.

    Attributes:
        files: how its vectors are made.
        network: the transformers network, in evaluation mode.
        tokenizer: the transformers tokenizer.
        device, dtype: where and in which precision it computes; sums of tokens are float32.
    """

    files: EncoderFiles
    network: Any
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype

    @property
    def fingerprint(self) -> str:
        """A digest of all that vectors depend on but the passages: weights, tokenizer, settings."""
        files = self.files
        settings = (files.family, files.pooling, files.unit_length, files.max_tokens, str(self.dtype))
        digest = hashlib.sha256(repr(settings).encode())
        definition = json.loads(self.tokenizer.backend_tokenizer.to_str())
        unset = dict.fromkeys(("truncation", "padding"))  # which every call sets anew
        digest.update(json_line(definition | unset, ascii_only=True, sort_keys=True).encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().flatten().view(torch.uint8).numpy())
        return digest.hexdigest()


def load_encoder(files: EncoderFiles, device: str | None = None, dtype: str | None = None) -> PassageEncoder:
    """Load an encoder of passages.

    Args:
        files: of any family but DPR's for questions.
        device: see `chosen_device`.
        dtype: see `chosen_dtype`.

    Raises:
        ModelError: it encodes questions, cannot be loaded, or has a weight that is no finite number.
        UsageError: device or dtype is unknown or not available.
    """
    if files.family == DPR_QUESTION:
        raise ModelError(
            f"{files.name}: encodes questions, for --query-encoder; --encoder is DPR's context encoder"
        )
    torch_device = chosen_device(device)
    torch_dtype = chosen_dtype(dtype, torch_device)
    kind = DPRContextEncoder if files.family == DPR_PASSAGE else AutoModel
    source = reachable_source(ModelFiles(files.name, files.source))
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
            network = kind.from_pretrained(source, dtype=torch_dtype, trust_remote_code=False)
            network = network.eval().to(torch_device)
    except Exception as error:  # noqa: BLE001 - transformers raises many kinds
        raise ModelError(f"{files.source}: the encoder cannot be loaded ({loading_reason(error)})") from error
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ModelError(f"{files.source}: only encoders with a fast tokenizer (tokenizer.json) can be used")
    check_weights(network, files.source)
    return PassageEncoder(files, network, tokenizer, torch_device, torch_dtype)


def encode(encoder: PassageEncoder, documents: Sequence[Document]) -> Floats:
    """The vectors of documents, float32 [n_documents, dimension], in their order.

    What is read is title and text; DPR sees them as a pair. Batches are of passages of about one length, so
    the last bits of a vector depend a little on the other documents.

    Raises:
        ModelError: a vector holds a number that is not finite; Faiss would never find its passage.
    """
    ids = _token_ids(encoder, documents)
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    n_tokens = _BATCH_TOKENS.get(encoder.device.type, _ACCELERATED_TOKENS)
    vectors: Floats | None = None
    for batch in _batches([len(ids[at]) for at in order], n_tokens):
        rows = order[batch]
        made = _read(encoder, [ids[at] for at in rows])
        if vectors is None:
            vectors = np.empty((len(ids), made.shape[1]), np.float32)
        vectors[rows] = made
    if vectors is None:
        raise ValueError("no documents to encode")
    odd = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(odd):
        raise ModelError(
            f"passage {shown(documents[odd[0]].id)}: its vector holds numbers that are not finite; encode in"
            " float32 (--dtype), or give another --encoder"
        )
    return vectors


def _token_ids(encoder: PassageEncoder, documents: Sequence[Document]) -> list[list[int]]:
    options = {"truncation": True, "max_length": encoder.files.max_tokens, "padding": False}
    if encoder.files.family == DPR_PASSAGE:
        titles, texts = [document.title for document in documents], [document.text for document in documents]
        return list(encoder.tokenizer(titles, texts, **options)["input_ids"])
    return list(encoder.tokenizer([contents(document) for document in documents], **options)["input_ids"])


def _batches(lengths: Sequence[int], n_tokens: int) -> Iterator[slice]:
    """Neighbours whose number times the last and longest is at most `n_tokens`, or single ones."""
    start = 0
    for at, length in enumerate(lengths):
        if at > start and (at + 1 - start) * length > n_tokens:
            yield slice(start, at)
            start = at
    if lengths:
        yield slice(start, len(lengths))


@torch.inference_mode()
def _read(encoder: PassageEncoder, ids: Sequence[Sequence[int]]) -> Floats:
    """Vectors of sequences of token ids, the last of them the longest: float32 [n, dimension]."""
    lengths = torch.tensor([len(tokens) for tokens in ids])
    mask = torch.arange(int(lengths[-1])) < lengths[:, None]
    tokens = torch.full(mask.shape, encoder.tokenizer.pad_token_id or 0)
    tokens[mask] = torch.tensor([token for sequence in ids for token in sequence])
    mask = mask.to(encoder.device)
    output = encoder.network(input_ids=tokens.to(encoder.device), attention_mask=mask.long())
    if encoder.files.family == DPR_PASSAGE:
        vectors = output.pooler_output.float()
    elif encoder.files.pooling == MEAN:
        hidden = output.last_hidden_state.float()
        vectors = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    else:
        vectors = output.last_hidden_state[:, 0].float()
    if encoder.files.unit_length:
        vectors = torch.nn.functional.normalize(vectors)
    return np.asarray(vectors.cpu().numpy(), np.float32)
