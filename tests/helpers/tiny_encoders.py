"""Encoders of passages with random weights, saved as transformers and sentence-transformers save theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    DPRConfig,
    DPRContextEncoder,
    DPRQuestionEncoder,
    PreTrainedTokenizerFast,
)

from seal_ir.formats.collections.collection import Collection
from seal_ir.records import Document
from tests.helpers import tiny

HIDDEN = 16
MAX_POSITIONS = 40
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
DOCUMENTS = [
    *tiny.DOCUMENTS,
    Document("long", "A long one", " ".join(tiny.SENTENCES * 3)),
    *(Document(f"s{n}", "", " ".join(tiny.SENTENCES[n % 5].split()[: 1 + n % 7])) for n in range(13)),
]
QUESTIONS = ["what is the capital of france", "whale", "which river flows through london", ""]


def _sizes(vocabulary: list[str]) -> dict[str, Any]:
    return {
        "vocab_size": len(vocabulary),
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": MAX_POSITIONS,
        "initializer_range": 0.5,  # so that texts are told apart
    }


def save_sentence_encoder(
    folder: Path, pooling: str | None = "mean_tokens", normalised: bool = True, seed: int = 0, **sizes: int
) -> Path:
    """A BERT; without pooling as transformers saves it, else as sentence-transformers does."""
    torch.manual_seed(seed)
    config = BertConfig(**(_sizes(_vocabulary()) | sizes))
    BertModel(config).eval().save_pretrained(folder)
    _save_tokenizer(folder)
    if pooling is not None:
        kinds = ["Transformer", "Pooling", *(["Normalize"] if normalised else [])]
        modules = [
            {"idx": at, "path": f"{at}_{kind}" if at else "", "type": f"sentence_transformers.models.{kind}"}
            for at, kind in enumerate(kinds)
        ]
        write_json(folder / "modules.json", modules)
        names = ("cls_token", "mean_tokens", "max_tokens")
        write_json(
            folder / "1_Pooling" / "config.json",
            {"word_embedding_dimension": HIDDEN}
            | {f"pooling_mode_{name}": name == pooling for name in names},
        )
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": 24, "do_lower_case": False})
    return folder


def save_dpr(folder: Path, questions: bool = False, seed: int = 0) -> Path:
    """DPR's encoder of passages, or of questions."""
    torch.manual_seed(seed)
    kind = DPRQuestionEncoder if questions else DPRContextEncoder
    kind(DPRConfig(**_sizes(_vocabulary()))).eval().save_pretrained(folder)
    _save_tokenizer(folder)
    return folder


def write_json(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


def write_collection(path: Path, documents: list[Document]) -> Path:
    """A JsonCollection of the documents."""
    lines = [
        json.dumps({"id": d.id, "title": d.title, "contents": f"{d.title}\n{d.text}"}) for d in documents
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _vocabulary() -> list[str]:
    texts = " ".join([*(f"{d.title} {d.text}" for d in tiny.DOCUMENTS), *QUESTIONS]).lower()
    words = {word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(texts)}
    return [*SPECIAL, *sorted(words)]


def _save_tokenizer(folder: Path) -> None:
    vocabulary = {word: at for at, word in enumerate(_vocabulary())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in names}
    ).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in vocabulary), encoding="utf-8")


def collection(folder: Path, documents: list[Document] = DOCUMENTS) -> Collection:
    return Collection("JsonCollection", write_collection(folder / "docs.jsonl", documents))
