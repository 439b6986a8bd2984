"""The reader: a Fusion-in-Decoder model that answers questions from their passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from seal_ir.lm.device import chosen_device, chosen_dtype
from seal_ir.lm.load import load_network
from seal_ir.lm.protocols import Tokens
from seal_ir.read.citing import citations
from seal_ir.read.fid.attention import use_state_attention
from seal_ir.read.fid.encoding import InputEncoder
from seal_ir.read.fid.fusion import CHUNK_TOKENS, fuse
from seal_ir.read.fid.loading import Parts, parts_of
from seal_ir.read.records import Answer, Context
from seal_ir.text.pretrained import find_model

FUSED_TOKENS = 32_768  # that are decoded over together, padding included


class FidReader:
    """Answers greedily: each token is the likeliest one after those before it.

    Memory is bounded by what is encoded together (`chunk_tokens`) and decoded together (`fused_tokens`), and
    by the passages of a single question, whatever the batch.

    Attributes:
        network: the transformers network; not to be saved, as its attention has been exchanged.
        parts: what goes with it.
        inputs: makes the token ids of a question with its passages.
        keeps_keys: whether keys and values of passages are kept while decoding, since the network's
            attention is neither T5's nor BART's.
    """

    def __init__(
        self,
        network: Any,
        parts: Parts,
        chunk_tokens: int = CHUNK_TOKENS,
        fused_tokens: int = FUSED_TOKENS,
        *,
        keep_keys: bool = False,
    ) -> None:
        """Take a network.

        Args:
            network: an encoder-decoder model with a head.
            parts: what goes with it.
            chunk_tokens: of inputs that are encoded together at most.
            fused_tokens: of passages that are decoded over together at most; a question is never parted.
            keep_keys: keep keys and values of passages even where it can be done without.
        """
        self.network, self.parts = network.eval(), parts
        bias = parts.description.cross_attention_bias  # transformers' own attention misplaces it with a cache
        self.keeps_keys = (keep_keys and not bias) or not use_state_attention(network)
        self._chunk_tokens, self._fused_tokens = chunk_tokens, fused_tokens
        self.inputs = InputEncoder(parts.tokenizer, parts.description)
        network.generation_config = _greedy(network, parts)  # its own ideas play no part, as a least length
        known = (getattr(network.config, f"{name}_token_id", None) for name in ("pad", "bos"))
        self._special = frozenset((*known, parts.end, *parts.start))

    def read(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[Answer]:
        """The answers to questions, with the places where they stand in the passages.

        A question without passages is asked alone.

        Args:
            questions: their texts.
            contexts: the passages of each question, best first.

        Raises:
            InputError: a question is too long for the model.
        """
        inputs = [self.inputs(*pair) for pair in zip(questions, contexts, strict=True)]
        answers: list[Answer] = [Answer("")] * len(inputs)
        for group in self._groups(inputs):
            for i, tokens in zip(group, self.write([inputs[i] for i in group]), strict=True):
                text = self._text(tokens)
                answers[i] = Answer(text, citations(text, contexts[i]))
        return answers

    @torch.inference_mode()
    def write(self, inputs: Sequence[Sequence[Tokens]]) -> list[Tokens]:
        """Tokens of each question's answer, without what starts and ends it.

        Args:
            inputs: of each question, one for each passage.
        """
        start = self.parts.start
        fused = fuse(self.network, inputs, self._chunk_tokens, self.parts.description.width)
        begun = torch.tensor([start] * len(inputs), device=self.network.device)
        written = self.network.generate(**fused.outputs(), decoder_input_ids=begun)
        return [self._until_end(row[len(start) :]) for row in written.tolist()]

    def _until_end(self, row: list[int]) -> Tokens:
        return tuple(row[: row.index(self.parts.end)] if self.parts.end in row else row)

    def _text(self, tokens: Tokens) -> str:
        text = self.parts.tokenizer.decode([token for token in tokens if token not in self._special])
        return " ".join(text.split())

    def _groups(self, inputs: Sequence[Sequence[Tokens]]) -> Iterator[list[int]]:
        """Numbers of questions of about one size, as many as have a padded size within bounds."""
        width = self.parts.description.width
        sizes = [sum(width or len(row) for row in rows) for rows in inputs]
        group: list[int] = []
        for i in sorted(range(len(inputs)), key=sizes.__getitem__):
            if group and sizes[i] * (len(group) + 1) > self._fused_tokens:
                yield group
                group = []
            group.append(i)
        if group:
            yield group


def _greedy(network: Any, parts: Parts) -> Any:
    kind: Any = GenerationConfig
    pad = network.config.pad_token_id
    return kind(
        max_new_tokens=parts.description.answer_tokens,
        do_sample=False,
        num_beams=1,
        decoder_start_token_id=parts.start[0],
        eos_token_id=parts.end,
        pad_token_id=parts.end if pad is None else pad,
    )


def load_fid_reader(
    name: str,
    device: str | None = None,
    dtype: str | None = None,
    chunk_tokens: int = CHUNK_TOKENS,
) -> FidReader:
    """Load a reader by folder or hub name.

    Args:
        name: a folder that `read fit` or `read convert` made, or an encoder-decoder model as it is.
        device: "cpu", "cuda", "cuda:1"...; default: CUDA where there is one.
        dtype: "float32" (the default), "bfloat16", "float16" or "auto".
        chunk_tokens: of inputs that are encoded together at most.

    Raises:
        ModelError: it cannot be loaded, is no encoder-decoder model, or has the tokenizer of another one.
        UsageError: device or dtype is unknown or not available.
    """
    place = chosen_device(device)
    files = find_model(name)
    network = load_network(files, chosen_dtype(dtype, place))
    parts = parts_of(network, files)
    return FidReader(network.to(place), parts, chunk_tokens)
