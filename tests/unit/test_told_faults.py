"""Faults that a user can make and no test of the part itself does; `tests.helpers.raised` finds such ones."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seal_ir.config import preset
from seal_ir.errors import InputError, ModelError, SealError, UsageError
from seal_ir.explain.__main__ import main as explain
from seal_ir.records import Hit
from seal_ir.reproduce.__main__ import main as reproduce
from seal_ir.search.__main__ import main as search
from seal_ir.train.__main__ import main as train
from tests.helpers import tiny
from tests.helpers.commands import Main, Runner, assert_fault
from tests.helpers.tables import arguments, two, write_data

TRAIN_DATA = ("data", "--output", "{out}")
TRAIN_FIT = ("fit", "--data", "{out}", "--output", "{out}")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A few files by their names."""
    (tmp_path / "ids.tsv").write_text("1\twho\td1\n", encoding="utf-8")
    kilt = {"id": "1", "input": "who", "output": [{"provenance": [{"wikipedia_id": "1"}]}]}
    (tmp_path / "kilt.jsonl").write_text(json.dumps(kilt) + "\n", encoding="utf-8")
    (tmp_path / "fused.toml").write_text("[fusion]\nnever = 3\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("main", "options", "code", "told"),
    [
        (train, TRAIN_DATA, 2, "no source; give --pairs, --judged, --distant or --input"),
        (train, (*TRAIN_DATA, "--pairs", "{kilt}", "--unsupervised"), 2, "need the collection; give --input"),
        (
            train,
            (*TRAIN_DATA, "--pairs", "{kilt}", "--fields", "a"),
            2,
            "--fields are the collection's; give",
        ),
        (train, (*TRAIN_DATA, "--pairs", "{kilt}"), 2, "is KILT's; give the pages with --knowledge-source"),
        (train, (*TRAIN_FIT, "--dev-topics", "x"), 2, "need an index to search; give --dev-index"),
        (train, (*TRAIN_FIT, "--dev-index", "x"), 2, "needs questions to search for; give --dev-topics"),
        (
            explain,
            ("--index", "{out}", "--query", "a", "--docid", "d1", "--fuse", "bm25"),
            2,
            "leave --fuse out",
        ),
    ],
)
def test_options_that_do_not_go_together(
    call: Runner, world: Path, main: Main, options: tuple[str, ...], code: int, told: str
) -> None:
    names = {"out": world / "out", "kilt": world / "kilt.jsonl"}
    assert_fault(call(main, *(option.format(**names) for option in options)), code, told)
    assert not list(world.rglob("part-*"))
    assert not (world / "out" / "checkpoints").exists()


def test_settings_of_a_fusion_that_does_not_exist(call: Runner, world: Path, tiny_index: Path) -> None:
    (world / "topics.tsv").write_text("1\twho\n", encoding="utf-8")
    (world / "run.trec").write_text("1 Q0 d1 1 2.0 t\n", encoding="utf-8")
    options = ("--index", tiny_index, "--topics", world / "topics.tsv", "--output", world / "out")
    fused = ("--fuse", world / "run.trec", "--config", world / "fused.toml")
    assert_fault(call(search, *options, *fused), 2, "fused.toml", "never")


@pytest.mark.parametrize("given", ["x", "=run.trec", "x="])
def test_a_run_that_is_named_otherwise(
    call: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data")))
    assert_fault(call(reproduce, *arguments(tmp_path, two(), "--run", given)), 2, "write NAME=FILE")


def text_after_an_array(folder: Path) -> object:
    from seal_ir.formats.io.jsonlines import iter_values

    (folder / "a.json").write_text("[1]\nmore", encoding="utf-8")
    return list(iter_values(folder / "a.json"))


def questions_of_another_form(folder: Path) -> object:
    from seal_ir.convert.kilt_questions import write_questions

    (folder / "q.json").write_text('{"Data": [{"QuestionId": 1}]}', encoding="utf-8")
    return write_questions(folder / "kilt.jsonl", folder / "q.json", folder / "out")


def a_label_that_is_no_id(folder: Path) -> object:
    pytest.importorskip("seal_ir._sdsl")
    from seal_ir.convert.published_index import PublishedCollection

    (folder / "p.fmi").write_bytes(b"")
    (folder / "p.oth").write_bytes(pickle.dumps(([0, 5], {1}, ["a b"])))
    return PublishedCollection(folder / "p", tiny.tokenizer())


def an_encoder_of_questions(folder: Path) -> object:
    from seal_ir.baselines.dense.encoders import DPR_QUESTION, EncoderFiles
    from seal_ir.baselines.dense.encoding import load_encoder

    return load_encoder(EncoderFiles("x", str(folder), DPR_QUESTION))


def a_device_of_shapes_only(folder: Path) -> object:
    from seal_ir.lm.device import chosen_device

    return chosen_device("meta")


def an_adapter_that_is_no_plain_lora(folder: Path) -> object:
    from seal_ir.lm.load import _adapter_scale

    return _adapter_scale({"peft_type": "LORA", "use_dora": True}, folder / "adapter_config.json")


def adapters_of_two_sizes(folder: Path) -> object:
    from seal_ir.train.average import _check_alike

    tiny.save_tokenizer(folder / "base")
    for name, rank in (("a", 2), ("b", 4)):
        (folder / name).mkdir()
        config = {"base_model_name_or_path": str(folder / "base"), "r": rank}
        (folder / name / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    return _check_alike(folder / "a", folder / "b")


def a_hit_of_elsewhere(folder: Path) -> object:
    return Hit("d1", 1.0).keys


def rank_training_that_reads_keys_twice(folder: Path) -> object:
    from dataclasses import replace

    from seal_ir.train.rank.run import check_config

    config = preset("balanced")
    return check_config(replace(config, decode=replace(config.decode, constrained=False)))


def a_place_for_lucene_that_holds_something(folder: Path) -> object:
    from seal_ir.pyserini_plugin import build_lucene_index

    return build_lucene_index(folder / "kilt.jsonl", folder)


def a_checkpoint_from_a_pipe(folder: Path) -> object:
    from seal_ir.convert.torch_files import load_torch

    os.mkfifo(folder / "x.pt")
    return load_torch(folder / "x.pt")


def parquet_from_a_pipe(folder: Path) -> object:
    from seal_ir.formats.collections.hub import find_dataset

    os.mkfifo(folder / "x.parquet")
    return find_dataset(folder / "x.parquet")


def a_collection_of_nothing(folder: Path) -> object:
    from seal_ir.formats.collections.kinds import kind_and_source

    return kind_and_source("TsvCollection", None)


def a_range_of_too_many_values(folder: Path) -> object:
    from seal_ir.tune.ranges import MOST_VALUES, _values

    return _values("rank.alpha", list(range(MOST_VALUES + 1)))


def a_searcher_that_is_none(folder: Path) -> object:
    from seal_ir.integrations.searchers import searcher_of

    odd: Any = 7
    return searcher_of(odd, {})


def a_dictionary_for_another_tokenizer(folder: Path) -> object:
    from seal_ir.convert.fairseq_vocabulary import Vocabulary, rows_by_dictionary

    return rows_by_dictionary(Vocabulary({"a": 0}, ()), 5, folder)


def a_dev_set_without_what_is_right(folder: Path) -> object:
    from seal_ir.train.fit.dev_source import DevSource
    from seal_ir.train.fit.retrieval import load_dev_set

    return load_dev_set(DevSource(folder, str(folder / "ids.tsv"), None, None, 5, None))


def a_dev_set_of_other_fields(folder: Path) -> object:
    from seal_ir.train.fit.run import _check_dev_fields

    (folder / "settings.json").write_text('{"fields": ["genre"]}', encoding="utf-8")
    prompts: Any = SimpleNamespace(further={})
    return _check_dev_fields(folder, prompts)


def an_index_that_is_not_published(folder: Path) -> object:
    from seal_ir.index.download import downloaded

    entry: Any = SimpleNamespace(name="x", present=False, published=None, build="make it")
    return downloaded(entry, agreed=True)


def sections_that_are_none(folder: Path) -> object:
    from seal_ir.reproduce.fields import Fields

    return Fields("t.toml", {"row": [1]}).sections("row")


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (text_after_an_array, InputError, r"a.json:2: .*text after the array's end"),
        (questions_of_another_form, InputError, 'it needs strings "QuestionId" and "Question"'),
        (a_label_that_is_no_id, InputError, "p.oth: label 0 "),
        pytest.param(
            *(an_encoder_of_questions, ModelError, "x: encodes questions, for --query-encoder"),
            marks=pytest.mark.slow,
        ),
        (a_device_of_shapes_only, UsageError, "device 'meta' "),
        (an_adapter_that_is_no_plain_lora, ModelError, "use_dora is True; only plain LoRA can be loaded"),
        (adapters_of_two_sizes, ModelError, "r is 4, in .* it is 2"),
        (a_hit_of_elsewhere, UsageError, "hit 'd1' has no keys: only hits of SealSearcher.search"),
        (
            rank_training_that_reads_keys_twice,
            UsageError,
            "rank training needs keys written under the constraint",
        ),
        (a_checkpoint_from_a_pipe, InputError, "x.pt: a checkpoint is not read from a pipe; give a file"),
        (parquet_from_a_pipe, InputError, "x.parquet: Parquet is not read from a pipe; give a file"),
        (
            a_collection_of_nothing,
            UsageError,
            "TsvCollection needs what to read: a file or folder",
        ),
        (a_range_of_too_many_values, UsageError, r"rank.alpha has [\d,]+ values; give [\d,]+ at most"),
        (a_searcher_that_is_none, UsageError, "index is 7; give a SealSearcher, a directory or a registered"),
        (a_dictionary_for_another_tokenizer, ModelError, "the tokenizer is no byte-level BPE"),
        (a_dev_set_without_what_is_right, UsageError, "needs --dev-qrels or --dev-answers"),
        (a_dev_set_of_other_fields, UsageError, "the field 'genre', which the model neither has nor learns"),
        (an_index_that_is_not_published, UsageError, "index 'x' is not published; build it with: make it"),
        (sections_that_are_none, InputError, r"t.toml: row .*\[\[row\]\] sections"),
        (a_place_for_lucene_that_holds_something, UsageError, "holds something; choose an empty or new"),
    ],
)
def test_it_is_told(world: Path, make: Callable[[Path], object], kind: type[SealError], told: str) -> None:
    with pytest.raises(kind, match=told) as error:
        make(world)
    assert len(str(error.value).splitlines()) == 1
    assert not (world / "out").exists()


def test_an_example_of_natural_questions_that_comes_twice() -> None:
    from seal_ir.convert.nq320k import _unique

    example: Any = SimpleNamespace(qid="7", line=2)
    with pytest.raises(InputError, match=r"a.jsonl:2: example '7' comes twice; keep one"):
        list(_unique([(Path("a.jsonl"), example)] * 2))


def test_a_query_of_ir_datasets_without_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    from seal_ir.formats.io import ir_datasets_access

    query = SimpleNamespace(query_id="5", image=b"")
    dataset = SimpleNamespace(queries_iter=lambda: iter([query]))
    monkeypatch.setattr(ir_datasets_access, "dataset_with", lambda name, kind: dataset)
    with pytest.raises(InputError, match="query '5' has no text to ask"):
        list(ir_datasets_access.queries_of("ir_datasets:x"))


def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from seal_ir.distributed.cluster import Cluster, connected
    from seal_ir.index import native

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SealError, match="pip install"):
        connected(Cluster())
    monkeypatch.setattr(native, "find_spec", lambda name: None)
    with pytest.raises(SealError, match="libdivsufsort is missing; pip install pydivsufsort"):
        native._divsufsort.__wrapped__()


def test_lucene_that_leaves_documents_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seal_ir.baselines import lucene_index
    from seal_ir.formats.collections.collection import Collection

    def built(source: Path, index_dir: Path, threads: int) -> int:
        index_dir.mkdir()
        return 1

    (tmp_path / "c.tsv").write_text("d1\ta\nd2\tb\n", encoding="utf-8")
    monkeypatch.setattr(lucene_index, "build_lucene_index", built)
    source = lucene_index.Source("TsvCollection", str(tmp_path / "c.tsv"))
    with pytest.raises(SealError, match="Lucene took 1 of 2 documents; it was removed"):
        lucene_index.build(Collection("TsvCollection", tmp_path / "c.tsv"), source, tmp_path / "lucene")
    assert not (tmp_path / "lucene").exists()


def test_the_last_document_of_an_index_that_is_served(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from seal_ir.server.failures import ConflictError
    from tests.helpers import serving

    tiny.build(tmp_path / "i", tiny.DOCUMENTS[:1])
    with pytest.raises(ConflictError) as error:
        serving.served(tmp_path / "i").delete("d1")
    assert len(str(error.value).splitlines()) == 1


def test_a_preset_that_a_service_does_not_have(tiny_index: Path) -> None:
    pytest.importorskip("fastapi")
    from seal_ir.server.limits import Limits
    from seal_ir.server.service import Service
    from tests.helpers import serving

    service = Service([serving.served(tiny_index)], Limits())
    try:
        with pytest.raises(SealError, match="tiny: no preset 'x'; there are paper, lm"):
            asyncio.run(service.search("tiny", "a", 1, "x"))
    finally:
        service.close()
