"""Readers of what other systems and earlier runs wrote: runs, evidence, datasets, archives, pages."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from seal_ir.errors import InputError, SealError
from tests.fuzz import seeds
from tests.fuzz.reader import Reader, all_of, of
from tests.helpers.commands import ROOT

_CITED = {"docid": "d1", "start": 0, "end": 5, "text": "Paris"}
_PREDICTED = {"qid": "1", "question": "who", "answer": "a", "citations": [_CITED]}
_PAGE = "# A page\n\n<!-- table demo -->\n| a | b |\n<!-- end of table -->\n\nMore.\n"
_DATAPOINT = {
    "id": "1",
    "input": "who",
    "output": [
        {
            "answer": "a",
            "provenance": [
                {"wikipedia_id": "1", "title": "Paris", "start_paragraph_id": 1, "end_paragraph_id": 1}
            ],
        }
    ],
}


def _lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _contexts_files() -> dict[str, bytes]:
    """The forms that docs/others.md has."""
    from tests.unit.test_formats_others import FILES

    found = {}
    for n, value in enumerate(FILES.values()):
        records = value if isinstance(value, tuple) else (value,)
        found[f"{n:02d}.json{'l' if isinstance(value, tuple) else ''}"] = _lines(*records)
    return found


def _contexts(path: Path) -> list[SealError]:
    from seal_ir.formats.runs.others import has_texts, is_kilt_run, read_ranked

    asked = {"1": "where is it", "7": "who"}
    return all_of([partial(call, path) for call in (read_ranked, has_texts, is_kilt_run)]) + all_of(
        [partial(read_ranked, path, asked)]
    )


def _cited(path: Path) -> None:
    from seal_ir.read.predictions import iter_predictions

    list(iter_predictions(path))


def _expanded(path: Path) -> None:
    from seal_ir.baselines.gar.expanded import read_expanded
    from seal_ir.records import Query

    read_expanded(path, [Query("1", "What is  paris"), Query("2", "who sings")])


def _evidence_files() -> dict[str, bytes]:
    asked = {"QuestionId": "2", "Question": "who sings"}
    return {
        "gold.jsonl": _lines(_DATAPOINT, {"id": "2", "output": []}),
        "pages.jsonl": seeds.KILT_PAGES,
        "run.trec": b"1 Q0 1#0 1 2.5 seal\n2 Q0 2#1 1 1.0 seal\n",
        "answers.jsonl": _lines({"qid": "1", "answer": "a"}, {"qid": "2", "answer": ""}),
        "questions.json": json.dumps({"Data": [asked]}).encode(),
        "topics.jsonl": _lines(_DATAPOINT, {**_DATAPOINT, "id": "2"}),
    }


def _evidence(folder: Path) -> list[SealError]:
    """What `seal_ir.convert` and `train data` make of KILT's files."""
    from seal_ir.convert.kilt_passages import write_passages
    from seal_ir.convert.kilt_predictions import write_output
    from seal_ir.convert.kilt_questions import write_questions
    from seal_ir.formats.collections.splitting import Split
    from seal_ir.train.data.kilt import read_kilt_pairs
    from seal_ir.train.data.pairs import PairCounts

    gold, pages, topics, out = (
        folder / name for name in ("gold.jsonl", "pages.jsonl", "topics.jsonl", "out")
    )
    return all_of(
        [
            lambda: write_passages(gold, pages, Split.parse("words:3"), out),
            lambda: write_output(topics, folder / "run.trec", folder / "answers.jsonl", out, delimiter="#"),
            lambda: write_output(topics, topics, None, out),
            lambda: write_questions(gold, folder / "questions.json", out),
            lambda: list(read_kilt_pairs(topics, pages, PairCounts())),
        ]
    )


def _vectors(folder: Path) -> None:
    from seal_ir.encode.encoder import SealQueryEncoder

    SealQueryEncoder.load_encoded_queries(folder / "k.jsonl")


def _rows(path: Path) -> None:
    """What Pyserini's process says of a Lucene index, through the reader that has it from there."""
    from seal_ir.formats.collections import lucene
    from seal_ir.formats.collections.stored import stored_fields

    def said(kind: str, name: str) -> Iterator[list[Any]]:
        for line in path.read_bytes().decode("utf-8", "replace").splitlines():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, list) and len(value) == 4:
                yield [None if part is None else str(part) for part in value]  # as Lucene stores them

    with mock.patch.object(lucene, "pyserini_records", said):
        stored = stored_fields(["year:int"])
        list(lucene.read_lucene(path, keep_raw=True, fields=("genre",), stored=stored))


def _dataset_files(folder: Path) -> None:
    import datasets

    rows = {
        "id": ["d1", "d2", "3"],
        "title": ["Paris", "", "Ü"],
        "text": ["The Seine.", "A whale “sings”.", "x"],
        "genre": ["a", None, "b"],
        "year": [1, 2, 3],
    }
    made = datasets.Dataset.from_dict(rows)
    with mock.patch.dict("os.environ"):
        datasets.disable_progress_bars()
        made.save_to_disk(folder / "saved")
        made.to_parquet(folder / "rows.parquet")
    (folder / "c.jsonl").write_bytes(seeds.JSONL)


def _dataset(folder: Path) -> list[SealError]:
    from seal_ir.formats.collections.collection import Collection, ReadOptions

    fields: Any = {"fields": ("genre",), "keep_raw": True}
    places = (folder / "saved", folder / "rows.parquet", folder / "c.jsonl")
    return all_of(
        [lambda place=place: list(Collection("HFDataset", place, ReadOptions(**fields))) for place in places]
    )


def _packed(folder: Path, mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        tar.add(folder, "x")
    return packed.getvalue()


def _archives(folder: Path) -> dict[str, bytes]:
    import numpy as np
    from safetensors.numpy import save

    from tests.helpers import tiny

    model, index = folder / ".model", folder / ".index"
    tiny.save_tokenizer(model)
    (model / "config.json").write_text("{}", encoding="utf-8")
    (model / "seal.json").write_text(
        '{"family": "causal", "body": "{query}", "title": "{query}", "title_end": "x"}'
    )
    (model / "model.safetensors").write_bytes(save({"a": np.ones(2, np.float32)}))
    tiny.build(index)
    found = {f"model.{kind or 'tar'}": _packed(model, f"w:{kind}") for kind in ("", "gz", "bz2", "xz")}
    found["index.tar"] = _packed(index, "w:")
    for made in (model, index):
        shutil.rmtree(made)
    return found


def _archive(path: Path) -> None:
    """Of `unpack`, which has the archive's name in its messages, and of both who give it what to check."""
    from seal_ir.formats.io.downloads import unpack
    from seal_ir.index.manifest import MANIFEST
    from seal_ir.index.reader import Index
    from seal_ir.models.download import check_folder
    from seal_ir.text.registered import CONFIGS

    made = path.parent / "made"
    before = {each.name for each in path.parent.parent.iterdir()}
    try:
        if path.name.startswith("model"):
            unpack(path, made, CONFIGS, check_folder)
        else:
            unpack(path, made, (MANIFEST,), lambda folder: Index(folder, check="bytes"))
    except SealError as error:
        assert not made.exists(), "something was kept"
        if type(error) is InputError:
            assert path.name in str(error), error
        raise InputError(f"{path}: {error}") from error
    else:
        shutil.rmtree(made)
    finally:
        assert {each.name for each in path.parent.parent.iterdir()} == before, "it escaped"
        assert not list(path.parent.glob(".made*")), "something half-written was left"


def _recorded(path: Path) -> None:
    """Figures written into a table file, which is read again."""
    from seal_ir.formats.io.resolve import Places
    from seal_ir.reproduce.figures import Figure, Measured
    from seal_ir.reproduce.reading import read_spec
    from seal_ir.reproduce.recorded import record

    places = Places(None, ROOT / "collections", path.parent / "cache")
    spec = read_spec(path, path.parent / "results", places)
    figures = [
        Figure(row.system, topics.name, measure, 0.25)
        for row in spec.rows
        for topics in spec.topics
        for measure in topics.measures
        if topics.name in row.runs
    ]
    record(path, spec, Measured(figures, {}))
    read_spec(path, path.parent / "results", places)


def _page(path: Path) -> None:
    from seal_ir.reproduce.pages import insert, read_page

    read_page(path, "demo")
    insert(path, "demo", "| c |\n")
    assert "| c |" in read_page(path, "demo")


def _sample(folder: Path) -> list[SealError]:
    """What a table has beside it: ids of some topics, seconds of steps."""
    from seal_ir.formats.io.resolve import Places
    from seal_ir.reproduce.figures import write_topics
    from seal_ir.reproduce.steps import _timings

    topics: Any = SimpleNamespace(
        source=str(folder / "t.tsv"), sample=folder / "ids.txt", file=folder / "out" / "topics.tsv"
    )
    spec: Any = SimpleNamespace(folder=folder)
    places = Places(None, ROOT / "collections", folder / "cache")
    return all_of([lambda: write_topics(topics, places), lambda: _timings(spec)])


def _fused_ranges(path: Path) -> None:
    from seal_ir.config import RankConfig
    from seal_ir.search.fusion import Fusion
    from seal_ir.tune.ranges import read_space

    read_space(path, RankConfig(), Fusion())


def _key(path: Path) -> None:
    from seal_ir.server.options import key_of

    key = key_of(SimpleNamespace(key_file=path, writable=True, host="127.0.0.1", mcp=None))  # type: ignore[arg-type]
    assert key, "no key"
    assert key.isascii(), key


_ENCODER = {
    "config.json": {"architectures": ["BertModel"], "max_position_embeddings": 40},
    "modules.json": [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ],
    "sentence_bert_config.json": {"max_seq_length": 24},
    "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
}


def _encoder_files(folder: Path) -> None:
    for name, value in _ENCODER.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value), encoding="utf-8")


def _encoder(folder: Path) -> None:
    from seal_ir.baselines.dense.encoders import find_encoder

    find_encoder(str(folder))


_STORED = (
    ["d1", json.dumps({"id": "d1", "contents": "Paris\nThe Seine.", "genre": "a", "year": 3}), None, None],
    ["d2", "<DOC><TITLE>x</TITLE>A whale</DOC>", None, "Whale"],
    ["d3", None, "Everest", None],
)
READERS = (
    Reader("contexts", lambda folder: _contexts_files(), _contexts, alone=True),
    Reader(
        "cited-answers", of({"p.jsonl": _lines(_PREDICTED, {**_PREDICTED, "qid": 2})}), _cited, alone=True
    ),
    Reader(
        "expanded-questions",
        of({"t.tsv": b"1\twhat is Paris the city\n2\twho sings\n"}),
        _expanded,
        alone=True,
    ),
    Reader("kilt-evidence", of(_evidence_files()), _evidence, "*.*"),
    Reader("encoded-queries", seeds.make_keys, _vectors, "k.jsonl"),
    Reader("lucene-documents", of({"rows.jsonl": _lines(*_STORED)}), _rows, alone=True),
    Reader("HFDataset", _dataset_files, _dataset, "**/*"),
    Reader("archives", _archives, _archive, alone=True),
    Reader("recorded-figures", lambda folder: seeds.tables(), _recorded, alone=True),
    Reader("pages", of({"page.md": _PAGE.encode()}), _page, alone=True),
    Reader(
        "beside-tables",
        of({"ids.txt": b"1\n2\n", "t.tsv": seeds.QUERIES["t.tsv"], "steps.json": b'{"a b": 1.5, "c": 2}'}),
        _sample,
    ),
    Reader("fused-ranges", of({"r.toml": b"[fusion]\nrrf_k = [10, 60]\n"}), _fused_ranges, alone=True),
    Reader("server-key", of({"key": b"a-key\n"}), _key, alone=True),
    Reader("dense-encoder", _encoder_files, _encoder, "**/*.json"),
)
