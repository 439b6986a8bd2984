"""Questions cut to what their encoder reads: of Pyserini's encoders some cut without a word, some fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seal_ir.baselines.dense.encoders import EncoderFiles
from seal_ir.decode.prompts import Cut
from seal_ir.errors import ModelError
from seal_ir.records import Query
from seal_ir.text.pretrained import loading_reason


def fitting(encoder: EncoderFiles, topics: Sequence[Query]) -> tuple[list[Query], Cut]:
    """The topics, those that are too long cut behind the last token that fits, and which these are.

    Args:
        encoder: of questions.
        topics: what will be asked.

    Raises:
        ModelError: the encoder's tokenizer cannot be loaded, or does not tell where tokens lie in a text.
    """
    tokenizer = _tokenizer(encoder)
    longest = min(tokenizer.model_max_length, encoder.max_positions or tokenizer.model_max_length)
    limit = longest - tokenizer.num_special_tokens_to_add()
    fitted, cut = [], {}
    for place, topic in enumerate(topics):
        ends = _ends(tokenizer, topic.text)
        if len(ends) > limit:
            cut[place] = limit
            topic = topic._replace(text=topic.text[: ends[limit - 1]])
        fitted.append(topic)
    return fitted, cut


def _tokenizer(encoder: EncoderFiles) -> Any:
    from transformers import AutoTokenizer

    from seal_ir.lm.load import quiet_transformers

    try:
        with quiet_transformers():
            tokenizer: Any = AutoTokenizer.from_pretrained(encoder.source, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - transformers raises many kinds
        raise ModelError(
            f"{encoder.source}: the tokenizer cannot be loaded ({loading_reason(error)})"
        ) from error
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ModelError(
            f"{encoder.source}: only encoders with a fast tokenizer (tokenizer.json) can be used"
        )
    return tokenizer


def _ends(tokenizer: Any, text: str) -> list[int]:
    """Where each token of a text ends in it, special tokens left out."""
    definition = tokenizer.backend_tokenizer
    definition.no_truncation()
    return [end for _, end in definition.encode(text, add_special_tokens=False).offsets]
