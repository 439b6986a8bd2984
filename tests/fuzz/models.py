"""Readers of models and of other systems' indexes, which load torch, Faiss or sdsl-lite."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from seal_ir.errors import SealError
from tests.fuzz import seeds
from tests.fuzz.mutations import mutated
from tests.fuzz.reader import Reader, all_of

_LONG = re.compile(rb"\d{4,}|\d+[eE]\+?\d")  # numbers of sizes, in a configuration


def modest(content: bytes, chance: Random) -> bytes:
    """A change that makes no network huge: nobody is defended against a model that is large on purpose."""
    known = set(_LONG.findall(content))
    for _ in range(20):
        changed = mutated(content, chance)
        if not content.startswith(b"{") or known.issuperset(_LONG.findall(changed)):
            return changed
    return content


def _make_model(folder: Path) -> None:
    from tests.helpers import tiny

    tiny.save_llama(folder / "base")


def _model(folder: Path) -> None:
    from seal_ir.lm.load import load_generator

    load_generator(str(folder / "base"), "cpu")


def _save_adapter(folder: Path, base: Path, seed: int) -> None:
    import torch
    from safetensors.torch import save_file

    from tests.helpers import tiny

    tiny.save_tokenizer(folder)
    torch.manual_seed(seed)
    layer = "base_model.model.model.layers.0.self_attn.q_proj"
    matrices = {f"{layer}.lora_A.weight": torch.randn(4, 32), f"{layer}.lora_B.weight": torch.randn(32, 4)}
    save_file(matrices, folder / "adapter_model.safetensors")
    about = {"base_model_name_or_path": str(base), "peft_type": "LORA", "r": 4, "lora_alpha": 8}
    (folder / "adapter_config.json").write_text(json.dumps(about), encoding="utf-8")
    (folder / "seal.json").write_text((base / "seal.json").read_text(encoding="utf-8"), encoding="utf-8")


def _make_adapters(folder: Path) -> None:
    _make_model(folder)
    for seed, name in enumerate(("one", "two")):
        _save_adapter(folder / name, folder / "base", seed)


def _adapters(folder: Path) -> list[SealError]:
    """One that is loaded, and two that are averaged."""
    from seal_ir.lm.load import load_generator
    from seal_ir.train.average import average

    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    return all_of(
        [
            lambda: load_generator(str(folder / "one"), "cpu"),
            lambda: average([str(folder / "one"), str(folder / "two")], None, out),
        ]
    )


def _make_reader(folder: Path) -> None:
    from tests.helpers import tiny_readers

    tiny_readers.save(folder / "reader", "t5")
    (folder / "reader" / "fid.json").write_text('{"passage_tokens": 50}', encoding="utf-8")


def _reader(folder: Path) -> None:
    from seal_ir.read.fid.reader import load_fid_reader

    load_fid_reader(str(folder / "reader"), "cpu")


def _make_checkpoint(folder: Path) -> None:
    from tests.helpers import tiny_readers
    from tests.unit.test_read_fid_convert import published, save

    network = tiny_readers.network("t5")
    save(folder / "checkpoint", network, published(network))
    (folder / "tokenizer").mkdir()
    definition = tiny_readers.definition("t5")
    (folder / "tokenizer" / "tokenizer.json").write_text(definition, encoding="utf-8")


def _checkpoint(folder: Path) -> None:
    from seal_ir.read.fid.converting import FidConversion, convert

    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    try:
        convert(FidConversion(folder / "checkpoint", out, str(folder / "tokenizer")))
    except SealError:
        assert not out.exists(), "something was kept"
        raise


def _published(folder: Path) -> None:
    from seal_ir.convert.published_index import PublishedCollection
    from tests.helpers import tiny

    list(PublishedCollection(folder / "p", tiny.tokenizer()))


def _make_dense(folder: Path) -> None:
    import faiss
    import numpy as np

    index: Any = faiss.IndexFlatIP(4)
    index.add(np.arange(12, dtype=np.float32).reshape(3, 4))
    faiss.write_index(index, str(folder / "index"))
    (folder / "docid").write_bytes(b"d1\nd2\nd3\n")
    (folder / "seal_ir.json").write_text('{"family": "sentence"}', encoding="utf-8")


def _dense(folder: Path) -> None:
    from seal_ir.baselines.docids.vectors import read_rows, read_vectors

    rows = read_rows(folder)
    read_vectors(folder, rows, list(rows))


READERS = (
    Reader("loaded-model", _make_model, _model, "base/*", change=modest),
    Reader("adapters", _make_adapters, _adapters, "[ot][nw][eo]/*", change=modest),
    Reader("fid-reader", _make_reader, _reader, "reader/*", change=modest),
    Reader("fid-checkpoint", _make_checkpoint, _checkpoint, "checkpoint/*", change=modest),
    Reader("published-index", seeds.make_published, _published, "p.*"),
    Reader("dense-index", _make_dense, partial(_dense)),
)
