"""BART and T5 from index to ranked documents: real tokenizers and small random weights in a folder."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from seal_ir import SealSearcher
from seal_ir.config import PRESETS
from seal_ir.formats.collections.collection import Collection
from seal_ir.index.builder import build_index
from seal_ir.records import BODY, TITLE, Document
from seal_ir.text.pretrained import find_model, load_tokenizer
from seal_ir.text.symbols import BOUNDARY, TITLE_END, to_symbols

DEMO = Path(__file__).parents[2] / "collections" / "demo" / "corpus.jsonl"
DATA = os.environ.get("SEAL_IR_DATA")
BART_TOKENIZER = Path(DATA or ".").parent / "models" / "bart-tokenizer"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    found = list(Collection("JsonCollection", DEMO))[:40]
    odd = "The tag </s> ends, <mask> hides, <pad> fills, @@ and || too."
    return [*found, Document("odd#0", "", odd), Document("odd#1", "Straße", "  two  spaces\n\nand 東京 🙂")]


def bart_folder(folder: Path) -> Path:
    """The real BART tokenizer and small random weights; the config's own ideas about decoding are on."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(BART_TOKENIZER / name, folder)
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=50265,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
    )
    network = BartForConditionalGeneration(config)
    network.generation_config.forced_bos_token_id = 0
    network.generation_config.no_repeat_ngram_size = 3
    network.save_pretrained(folder)
    return folder


def t5_folder(folder: Path, documents: list[Document]) -> Path:
    """A unigram tokenizer like T5's, trained here, and small random weights."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=800, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator([document.text for document in documents[:40]], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def check(folder: Path, documents: list[Document], tmp_path: Path) -> SealSearcher:
    """Everything from the collection to the hits; returns the searcher."""
    tokenizer = load_tokenizer(find_model(str(folder)))
    about = {"model": str(folder), "collection": {"kind": "test", "counts": ""}}
    build_index(documents, tmp_path / "index", tokenizer, lambda: about)
    searcher = SealSearcher(tmp_path / "index", preset="paper", device="cpu")
    assert searcher.index.documents(range(len(documents))) == documents
    queries = ["who held off lava with wet cowhides", "mount </s> etna"]
    fields = tokenizer.encode_fields([document.title for document in documents])
    titles = {tuple(to_symbols(ids).tolist()) for ids in fields}
    for keys in searcher.decode(queries):
        assert {key.kind for key in keys.keys} >= {BODY, TITLE}
        for key in keys.keys:
            ranges = searcher.index.find(key.symbols)
            assert (key.ranges, key.count) == (ranges, sum(hi - lo for lo, hi in ranges))
            assert key.count >= 1
            if key.kind == TITLE:
                assert (key.symbols[0], key.symbols[-1]) == (BOUNDARY, TITLE_END)
                assert key.symbols[1:-1] in titles
        for preset in PRESETS.values():
            scores = [item.score for item in searcher.rank(keys, 10, preset)]
            assert scores == sorted(scores, reverse=True)
    # Random weights find no key likelier than it is in the corpus; only `lm` gives such keys a weight.
    hits = searcher.hits(searcher.rank(searcher.decode(queries[:1])[0], 5, PRESETS["lm"]))
    assert len(hits) == 5
    assert all(json.loads(hit.raw or "")["id"] == hit.docid for hit in hits)
    return searcher


@pytest.mark.data
@pytest.mark.skipif(not BART_TOKENIZER.is_dir(), reason="needs the BART tokenizer beside SEAL_IR_DATA")
def test_bart_from_index_to_hits(documents: list[Document], tmp_path: Path) -> None:
    folder = tmp_path / "bart"
    folder.mkdir()
    searcher = check(bart_folder(folder), documents, tmp_path)
    generator = searcher.generator
    assert generator.tokenizer.affixes == ([0], [2])  # <s> source </s>
    assert generator.model.start_tokens == [2, 0]  # decoder start, forced <s>


@pytest.mark.slow
def test_t5_from_index_to_hits(documents: list[Document], tmp_path: Path) -> None:
    folder = tmp_path / "t5"
    folder.mkdir()
    searcher = check(t5_folder(folder, documents), documents, tmp_path)
    generator = searcher.generator
    assert generator.tokenizer.affixes == ([], [1])
    assert generator.model.start_tokens == [0]
    stored = [searcher.index._tables[0].stored_text(i) for i in (40, 41)]
    assert stored[1] is not None  # what a unigram tokenizer cannot give back is kept beside the index
