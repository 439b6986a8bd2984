"""A checkpoint of the published system, trained with fairseq, becomes a model folder that search takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from seal_ir.convert.fairseq_layout import bart_options, bart_tensors, transformers_names, vocabulary_rows
from seal_ir.convert.fairseq_reading import read_checkpoint
from seal_ir.convert.fairseq_vocabulary import read_vocabulary, rows_by_dictionary, rows_in_order
from seal_ir.convert.writing import write_model
from seal_ir.errors import ModelError
from seal_ir.formats.io.outputs import new_folder
from seal_ir.text.description import SEQ2SEQ, SEQ2SEQ_TEMPLATE, ModelDescription
from seal_ir.text.pretrained import find_model, load_tokenizer, tokenizer_definition
from seal_ir.text.tokenizer import TextTokenizer

# In training fairseq moves a target's </s> to its front, and a target of the translation task has no <s>.
PUBLISHED = ModelDescription(
    SEQ2SEQ, SEQ2SEQ_TEMPLATE.body, SEQ2SEQ_TEMPLATE.title, SEQ2SEQ_TEMPLATE.title_end, start=("</s>",)
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What to convert.

    Attributes:
        checkpoint: the file, `model.pt` or the like.
        output: folder to make; there must be none.
        tokenizer: of BART: a folder, or a name as `find_model` takes it.
        dictionary: fairseq's `dict.txt`; None where its numbering is the tokenizer's, as for BART large.
    """

    checkpoint: Path
    output: Path
    tokenizer: str
    dictionary: Path | None = None


def convert(conversion: Conversion) -> int:
    """Make the folder, whole or not at all; returns the number of the model's parameters.

    Raises:
        InputError: the checkpoint or the dictionary is damaged, unsafe, or no BART.
        ModelError: the tokenizer cannot be found or is not the checkpoint's.
        UsageError: the folder exists or cannot be written.
    """
    with new_folder(conversion.output) as folder:
        files = find_model(conversion.tokenizer)
        _check_tokenizer(conversion.tokenizer, load_tokenizer(files))
        definition = tokenizer_definition(files)
        network = _network(conversion, definition)
        texts = {"tokenizer.json": definition, "seal.json": PUBLISHED.to_json()}
        return write_model(network, texts, folder, conversion.output, conversion.checkpoint)


def _check_tokenizer(name: str, tokenizer: TextTokenizer) -> None:
    """Refuse one that cannot write what ends a title, before a checkpoint of gigabytes is read."""
    n_tokens = len(tokenizer.encode(PUBLISHED.title_end))
    if n_tokens != 1:
        raise ModelError(
            f"{name}: its tokenizer splits {PUBLISHED.title_end!r} into {n_tokens} tokens; published models"
            " end a title with it; give --tokenizer BART's"
        )
    for token in PUBLISHED.start:
        tokenizer.token_id(token)


def _network(conversion: Conversion, definition: str) -> Any:
    """The network, its tensors still in the checkpoint's file where they can be."""
    vocabulary = read_vocabulary(definition)
    checkpoint = read_checkpoint(conversion.checkpoint)
    options = bart_options(checkpoint)
    tensors = bart_tensors(checkpoint, options)
    n_rows = vocabulary_rows(tensors)
    if conversion.dictionary is None:
        rows = rows_in_order(vocabulary, n_rows, conversion.checkpoint)
    else:
        rows = rows_by_dictionary(vocabulary, n_rows, conversion.dictionary)
    special: dict[str, Any] = {
        "bos_token_id": vocabulary.ids["<s>"],
        "pad_token_id": vocabulary.ids["<pad>"],
        "eos_token_id": vocabulary.ids["</s>"],
        "decoder_start_token_id": vocabulary.ids["</s>"],
        "forced_eos_token_id": vocabulary.ids["</s>"],
    }
    config = BartConfig(vocab_size=len(rows), **special, **options)
    with torch.device("meta"):  # names and shapes only; the tensors follow
        network: Any = BartForConditionalGeneration(config)
    network.load_state_dict(transformers_names(tensors, torch.tensor(rows)), assign=True)
    network.tie_weights()
    return network.eval()
