"""Which kind of language model a name means, by its configuration alone: no weights are read."""

from __future__ import annotations

from transformers import AutoConfig
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from seal_ir.errors import ModelError
from seal_ir.lm.load import quiet_transformers
from seal_ir.text.description import CAUSAL, SEQ2SEQ
from seal_ir.text.pretrained import (
    BASE_MODEL,
    ModelFiles,
    base_of,
    explain_failure,
    find_model,
    reachable_source,
)


def family_of(files: ModelFiles) -> str:
    """CAUSAL or SEQ2SEQ; an adapter is what its base is. The default model's weights may not be here yet.

    Raises:
        ModelError: the configuration cannot be had, or the model writes no text (an encoder alone, say).
    """
    base = base_of(files.folder) if files.folder is not None else None
    if BASE_MODEL in (files.name, base):
        return CAUSAL
    if base is not None:
        return family_of(find_model(base))
    source = reachable_source(files)
    with quiet_transformers():
        try:
            config = AutoConfig.from_pretrained(source, trust_remote_code=False)
        except Exception as error:  # noqa: BLE001 - transformers raises many kinds
            raise explain_failure(files, error) from error
    kind = config.model_type
    if config.is_encoder_decoder and kind in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return SEQ2SEQ
    # Of the models that fill gaps, some can be told to write on: then their configuration says so.
    fills = kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not any(
        getattr(config, name, False) for name in ("is_decoder", "causal")
    )
    if not config.is_encoder_decoder and kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not fills:
        return CAUSAL
    raise ModelError(
        f"{files.source}: {kind} is neither a causal nor an encoder-decoder language model; give one of these"
    )
