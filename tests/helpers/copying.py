"""A task for readers: several passages give codes of names, and the answer is the code of the name asked for.

Names and codes are single words of a vocabulary of their own; no pair that is asked for in a test was an
answer in training.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from seal_ir.read.records import Context
from seal_ir.records import Document
from tests.helpers import tiny

NAMES = [f"name{i}" for i in range(10)]
CODES = [f"code{i}" for i in range(20)]
DOCUMENTS = [Document(f"{name}-{code}", name, f"the code is {code} here") for name in NAMES for code in CODES]
SPECIAL = ["<pad>", "</s>", "<s>", "<unk>"]
WORDS = [*SPECIAL, "question:", "title:", "context:", "the", "code", "is", "here", "of"]


class Asked(NamedTuple):
    """A question with the ids of its passages and its answer."""

    question: str
    passages: list[str]
    answer: str


def asked(n: int, n_passages: int, *, test: bool, seed: int = 0) -> list[Asked]:
    """Questions; every fourth pair of a name and a code is asked for in tests only."""
    draw = random.Random(f"{seed} {test}")
    pairs = [(name, code) for at, name in enumerate(NAMES) for i, code in enumerate(CODES)
             if ((at + i) % 4 == 0) == test]  # fmt: skip
    found = []
    for _ in range(n):
        name, code = draw.choice(pairs)
        others = draw.sample([other for other in NAMES if other != name], n_passages - 1)
        passages = [f"{name}-{code}", *(f"{other}-{draw.choice(CODES)}" for other in others)]
        draw.shuffle(passages)
        found.append(Asked(f"the code of {name}", passages, code))
    return found


def contexts(one: Asked) -> list[Context]:
    by_id = {document.id: document for document in DOCUMENTS}
    return [Context(docid, by_id[docid].title, by_id[docid].text) for docid in one.passages]


def write(folder: Path, questions: list[Asked]) -> Path:
    """An index of all passages, and topics, answers and a run of the questions."""
    tiny.build(folder / "index", DOCUMENTS)
    topics = [{"qid": str(i), "question": one.question} for i, one in enumerate(questions)]
    answers = [{"qid": str(i), "answers": [one.answer]} for i, one in enumerate(questions)]
    for name, records in (("topics", topics), ("answers", answers)):
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    run = [
        f"{i} Q0 {docid} {rank} {10 - rank} test\n"
        for i, one in enumerate(questions)
        for rank, docid in enumerate(one.passages, start=1)
    ]
    (folder / "run.trec").write_text("".join(run), encoding="utf-8")
    return folder


def save_model(folder: Path, kind: str) -> Path:
    """A T5 or BART of random weights for the vocabulary of the task."""
    vocabulary = {word: i for i, word in enumerate([*WORDS, *NAMES, *CODES])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    torch.manual_seed(0)
    special = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    size = {"vocab_size": len(vocabulary), "d_model": 64}
    if kind == "bart":
        sizes = {"layers": 2, "attention_heads": 4, "ffn_dim": 128}
        layers = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in sizes.items()}
        rest = {"max_position_embeddings": 32, "bos_token_id": 2, "init_std": 0.1, "dropout": 0.0}
        made = BartForConditionalGeneration(BartConfig(**size, **layers, **special, **rest))
    else:
        layers = {"d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
        made = T5ForConditionalGeneration(T5Config(**size, **layers, **special, dropout_rate=0.0))
    made.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    return folder
