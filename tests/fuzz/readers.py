"""Every reader of files that a user may hand us, each with a few small valid files to begin from."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from seal_ir.errors import SealError
from tests.fuzz import models, others, seeds, surface
from tests.fuzz.reader import Reader, all_of, of
from tests.helpers.commands import ROOT


def _collection(kind: str, path: Path) -> None:
    from seal_ir.formats.collections.collection import Collection, ReadOptions
    from seal_ir.formats.collections.kinds import KINDS

    for malformed in ("skip", "error"):
        for duplicates in ("last", "error"):
            options = ReadOptions(duplicates, malformed)  # type: ignore[arg-type]
            if KINDS[kind].is_json:
                more = {"fields": ("genre",), "stored": _stored()}
                options = ReadOptions(duplicates, malformed, keep_raw=True, **more)  # type: ignore[arg-type]
            list(Collection(kind, path, options))


def _stored() -> Any:
    from seal_ir.formats.collections.stored import stored_fields

    return stored_fields(["year:int"])


def _topics(path: Path) -> list[SealError]:
    from seal_ir.formats.topics.answers import read_answers
    from seal_ir.formats.topics.reading import TOPICS_FORMATS, read_topics

    return all_of(
        [partial(read_topics, path, name) for name in TOPICS_FORMATS] + [partial(read_answers, path)]
    )


def _runs(path: Path) -> list[SealError]:
    from seal_ir.eval.rankings import read_rankings
    from seal_ir.formats.kilt import read_guessed_answers, read_guesses

    return all_of([partial(call, path) for call in (read_rankings, read_guesses, read_guessed_answers)])


def _qrels(path: Path) -> list[SealError]:
    from seal_ir.formats.kilt import read_provenance
    from seal_ir.formats.runs.trec import read_qrels

    return all_of([partial(read_qrels, path), partial(read_provenance, path)])


def _predictions(path: Path) -> None:
    from seal_ir.formats.topics.predictions import has_predictions, read_predictions

    has_predictions(path)
    read_predictions(path)


def _pairs(path: Path) -> list[SealError]:
    from seal_ir.convert.nq_examples import read_examples
    from seal_ir.convert.overlap import read_overlap
    from seal_ir.formats.topics.questions import excluded_questions
    from seal_ir.train.data.pairs import read_dpr_pairs

    return all_of(
        [
            lambda: list(read_dpr_pairs(path)),
            lambda: read_overlap(path),
            lambda: list(read_examples(path)),
            lambda: excluded_questions([path]),
        ]
    )


def _settings(path: Path) -> None:
    from seal_ir.config import SearchConfig
    from seal_ir.config_files import from_toml

    from_toml(path, SearchConfig())


def _registries(folder: Path) -> None:
    from seal_ir.formats.io.resolve import Places
    from seal_ir.index.registry import registered
    from seal_ir.text.registered import registered_models

    places = Places(None, folder, folder / "cache")
    registered(places)
    registered_models(places)


def _table(path: Path) -> None:
    from seal_ir.formats.io.resolve import Places
    from seal_ir.reproduce.reading import read_spec

    read_spec(path, path.parent / "results", Places(None, ROOT / "collections", path.parent / "cache"))


def _space(path: Path) -> None:
    from seal_ir.config import RankConfig
    from seal_ir.tune.ranges import read_space

    read_space(path, RankConfig(), None)


def _keys(folder: Path) -> list[SealError]:
    from seal_ir.keys.files import iter_records
    from seal_ir.keys.provenance import read_provenance

    return all_of(
        [
            lambda: list(iter_records(folder / "k.jsonl")),
            lambda: read_provenance(folder / "k.jsonl.config.json"),
        ]
    )


_SOUND: dict[Path, str] = {}  # answers of each folder's index, as it was read first, whole


def _index(check: Any, folder: Path) -> None:
    """Of an index whose bytes are compared, every answer must be right too."""
    from seal_ir.index.reader import Index
    from tests.unit.test_index_flips import answers

    found = answers(Index(folder / "index", check=check))
    if check == "bytes" and repr(found) != _SOUND.setdefault(folder, repr(found)):
        raise AssertionError("a changed index gives other answers")


def _manifest(folder: Path) -> None:
    from seal_ir.index.manifest import read_manifest

    read_manifest(folder / "index")


def _verify(folder: Path) -> None:
    from seal_ir.index.verify import verify_index

    verify_index(folder / "index", lambda line: None)


def _descriptions(folder: Path) -> list[SealError]:
    from seal_ir.read.fid.description import load_fid_description
    from seal_ir.text.description import read_description
    from seal_ir.text.pretrained import adapter_config
    from seal_ir.text.tokenizer import TextTokenizer

    return all_of(
        [
            lambda: read_description(folder / "seal.json"),
            lambda: load_fid_description(folder),
            lambda: adapter_config(folder),
            lambda: TextTokenizer.from_file(folder / "tokenizer.json"),
        ]
    )


def _cost(folder: Path) -> list[SealError]:
    from seal_ir.baselines.built_from import read_about
    from seal_ir.reproduce.costs import search_cost

    return all_of([lambda: search_cost("SearchMinutes", [folder / "run"]), lambda: read_about(folder)])


def _checkpoint(folder: Path) -> None:
    from seal_ir.train.fit.checkpoints import checkpoint_of
    from seal_ir.train.fit.options import FitOptions

    checkpoint_of(folder, FitOptions(steps=9, patience=3), resume=True)


def _fairseq(folder: Path) -> None:
    from seal_ir.convert.fairseq_reading import read_checkpoint

    read_checkpoint(folder / "checkpoint.pt")


def _published(folder: Path) -> None:
    from seal_ir.convert.published_side_file import read_side_file

    read_side_file(folder / "p.oth")


def _set(folder: Path) -> list[SealError]:
    from seal_ir.train.data.dataset import further_fields, load_dataset

    return all_of([lambda: further_fields(folder / "set"), lambda: load_dataset(folder / "set")])


READERS = (
    *(
        Reader(f"{kind}", of(seeds.packed(files)), partial(_collection, kind), alone=True)
        for kind, files in (
            ("JsonCollection", {"c.jsonl": seeds.JSONL, "c.json": seeds.ARRAY}),
            ("TsvCollection", {"c.tsv": seeds.TSV}),
            ("DprTsvCollection", {"c.tsv": seeds.DPR}),
            ("KiltCollection", {"c.jsonl": seeds.KILT_PAGES}),
        )
    ),
    Reader("topics", of(seeds.packed(seeds.QUERIES)), _topics, alone=True),
    Reader("runs", of(seeds.packed(seeds.RUNS)), _runs, alone=True),
    Reader("qrels", of(seeds.packed(seeds.QRELS)), _qrels, alone=True),
    Reader(
        "predictions",
        of(
            {
                "p.jsonl": b'{"qid": "1", "question": "who", "answer": "a", "citations": []}\n'
                b'{"qid": "2", "answer": ""}\n'
            }
        ),
        _predictions,
        alone=True,
    ),
    Reader("ids", of({"ids.txt": b"d1\nd2\n\n3\n"}), lambda path: _read_ids(path), alone=True),
    Reader("training-questions", of(seeds.PAIRS), _pairs, alone=True),
    Reader(
        "settings",
        of({"s.toml": b'[decode]\nbeam = 5\nfields = ["genre"]\n\n[rank]\nalpha = 0.5\n'}),
        _settings,
        alone=True,
    ),
    Reader("ranges", of({"r.toml": b"[rank]\nalpha = [1, 2.5]\n"}), _space, alone=True),
    Reader("registries", seeds.registry_files, _registries),
    Reader("tables", lambda folder: seeds.tables(), _table, alone=True),
    Reader("keys", seeds.make_keys, _keys, "k.*"),
    Reader("index", seeds.make_index, partial(_index, "bytes"), "index/**/*"),
    Reader("index-sizes-only", seeds.make_index, partial(_index, "sizes"), "index/**/*"),
    Reader("index-verify", seeds.make_index, _verify, "index/**/*"),
    Reader("manifest", seeds.make_index, _manifest, "index/index.json"),
    Reader("model-descriptions", seeds.make_descriptions, _descriptions),
    Reader("costs", lambda folder: seeds.costs(), _cost),
    Reader("checkpoint", seeds.make_checkpoint, _checkpoint, "checkpoints/*/*"),
    Reader("fairseq", seeds.make_fairseq, _fairseq),
    Reader("published-side-file", seeds.make_published, _published, "p.oth"),
    Reader("training-set", seeds.make_set, _set, "set/*"),
    *others.READERS,
    *models.READERS,
    Reader(
        *("server", surface.make, surface.read, "*.http"),
        alone=True,
        change=surface.changed_request,
        close=surface.close,
    ),
)


def _read_ids(path: Path) -> object:
    from seal_ir.formats.collections.collection import read_ids

    return read_ids(path)
