"""Every reader of files that a user may hand us, each with a few small valid files to begin from."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.errors import SealError
from tests.helpers.commands import ROOT

Make = Callable[[Path], Mapping[str, bytes] | None]


class Reader(NamedTuple):
    """A reader under test.

    Attributes:
        name: of the folder of its regression files.
        make: writes valid files into an empty folder, or returns them by name.
        read: reads them all; may return refusals of single readers where others have read.
        changed: which of them are made hostile, as a pattern of names; all by default.
        alone: each file is read by itself, and `read` is given its path rather than the folder's.
    """

    name: str
    make: Make
    read: Callable[[Path], object]
    changed: str = "*"
    alone: bool = False


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


_RECORDS = [
    {"id": "d1", "title": "Paris", "contents": "Paris\nThe Seine flows.", "genre": "city", "year": 1900},
    {"_id": "d2", "title": "", "text": "A whale “sings”.", "genre": ["sea", "song"], "year": 7},
    {"docid": 3, "body": "Everest", "contents": "Mountains"},
]
_JSONL = b"".join(json.dumps(record).encode() + b"\n" for record in _RECORDS)
_ARRAY = json.dumps(_RECORDS, ensure_ascii=False, indent=1).encode()
_TSV = "d1\tParis, the capital\nd2\tA whale “sings”\n".encode()
_DPR = b'id\ttext\ttitle\n1\t"A ""whale""\nsings"\tWhale\n2\tParis\t"Pa\tris"\n'
_PAGE = {"wikipedia_id": "12", "wikipedia_title": "Paris", "text": ["Paris\n", "The Seine.\n"], "anchors": []}
_KILT_PAGES = b"".join(json.dumps({**_PAGE, "wikipedia_id": str(n)}).encode() + b"\n" for n in range(3))
_QUERIES = {
    "t.tsv": b"1\twhat is paris\n2\twho sings\n",
    "nq.txt": b'what is paris\t[\'a city\', "the capital"]\nwho sings\t["whales"]\n',
    "dpr.csv": b'"what, is ""paris"""\t"[\'a\', \'b\']"\nwho\t["whales"]\n',
    "lines.jsonl": b'{"qid": "1", "question": "who", "answers": ["a", ["b"]]}\n{"id": 2, "text": "x"}\n',
    "map.json": b'{"1": {"title": "who", "answers": ["a"]}, "2": {"title": "b", "answers": "[\'c\']"}}',
    "dpr.json": b'[{"question": "who", "answers": ["a"], "positive_ctxs": [{"title": "", "text": "b"}]}]',
    "kilt.jsonl": b'{"id": "1", "input": "who", "output": [{"answer": "a", "provenance": '
    b'[{"wikipedia_id": "12", "title": "Paris"}]}]}\n{"id": "2", "input": "x", "output": []}\n',
    "trec.sgml": b"<top>\n<num> Number: 301\n<title> whales\n<desc> Description:\nWho\n</top>\n"
    b"<top>\n<num>302</num>\n<title>Paris</title>\n</top>\n",
}
_RUNS = {
    "run.trec": b"1 Q0 d1 1 2.500000 seal\n1 Q0 d2 2 1.250000 seal\n2 Q0 d1 1 -3.0 seal\n",
    "other.run": b"1\tQ0\td1\t0\t1e3\tx\r\n1\tQ0\td2\t1\t999.5\tx\r\n",
    "kilt.jsonl": _QUERIES["kilt.jsonl"].replace(b"[]}", b"[{}]}"),
}
_QRELS = {
    "q.trec": b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n",
    "beir.tsv": b"query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t0\n",
    "kilt.jsonl": _QUERIES["kilt.jsonl"],
}


def _packed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, and the first of them under every compression that readers know."""
    name, content = next(iter(files.items()))
    packed = {
        ".gz": gzip.compress(content, mtime=0),
        ".bz2": bz2.compress(content),
        ".xz": lzma.compress(content),
    }
    return {**files, **{name + suffix: value for suffix, value in packed.items()}}


def _topics(path: Path) -> list[SealError]:
    from seal_ir.formats.topics.answers import read_answers
    from seal_ir.formats.topics.reading import TOPICS_FORMATS, read_topics

    return _all([partial(read_topics, path, name) for name in TOPICS_FORMATS] + [partial(read_answers, path)])


def _runs(path: Path) -> list[SealError]:
    from seal_ir.eval.rankings import read_rankings
    from seal_ir.formats.kilt import read_guessed_answers, read_guesses

    return _all([partial(call, path) for call in (read_rankings, read_guesses, read_guessed_answers)])


def _qrels(path: Path) -> list[SealError]:
    from seal_ir.formats.kilt import read_provenance
    from seal_ir.formats.runs.trec import read_qrels

    return _all([partial(read_qrels, path), partial(read_provenance, path)])


def _all(calls: list[Callable[[], object]]) -> list[SealError]:
    """Calls every one; what those that refuse have to say, or the last of it raised if all do."""
    refused = []
    for call in calls:
        try:
            call()
        except SealError as error:
            refused.append(error)
    if len(refused) == len(calls):
        raise refused[-1]
    return refused


def _predictions(path: Path) -> None:
    from seal_ir.formats.topics.predictions import has_predictions, read_predictions

    has_predictions(path)
    read_predictions(path)


def _pairs(path: Path) -> list[SealError]:
    from seal_ir.convert.nq_examples import read_examples
    from seal_ir.convert.overlap import read_overlap
    from seal_ir.formats.topics.questions import excluded_questions
    from seal_ir.train.data.pairs import read_dpr_pairs

    return _all(
        [
            lambda: list(read_dpr_pairs(path)),
            lambda: read_overlap(path),
            lambda: list(read_examples(path)),
            lambda: excluded_questions([path]),
        ]
    )


_PAIRS = {
    "pairs.json": b'[{"question": "who", "answers": ["a"], "positive_ctxs": [{"title": "T", "text": "b", '
    b'"passage_id": "1"}], "negative_ctxs": [], "hard_negative_ctxs": []}]',
    "overlap.jsonl": b'{"id": 0, "labels": ["answer_overlap"]}\n{"id": 1, "labels": ["no_overlap"]}\n',
    "nq.jsonl": json.dumps(
        {
            "example_id": 5,
            "question_text": "who",
            "document_url": "https://en.wikipedia.org/w/index.php?title=A&oldid=7",
            "document_title": "A",
            "annotations": [{"long_answer": {"start_token": 0, "candidate_index": 0}}],
            "document_tokens": [{"token": "a", "html_token": False}],
        }
    ).encode()
    + b"\n",
}


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


def _registry_files(folder: Path) -> None:
    for name in ("indexes.toml", "models.toml"):
        text = (ROOT / "collections" / name).read_text(encoding="utf-8")
        text += f'\n[[{"index" if name.startswith("i") else "model"}]]\nname = "x"\ndescription = "d"\n'
        text += 'licence = "l"\ntopics = ["a"]\nbuild = "b {index}"\nn_bytes = 3\n'
        text += f'download = {{url = "https://x.org/x.tar.gz", sha256 = "{"0" * 64}", n_bytes = 3}}\n'
        (folder / name).write_text(text, encoding="utf-8")


def _table(path: Path) -> None:
    from seal_ir.formats.io.resolve import Places
    from seal_ir.reproduce.reading import read_spec

    read_spec(path, path.parent / "results", Places(None, ROOT / "collections", path.parent / "cache"))


def _tables() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((ROOT / "eval").glob("*.toml"))}


def _space(path: Path) -> None:
    from seal_ir.config import RankConfig
    from seal_ir.tune.ranges import read_space

    read_space(path, RankConfig(), None)


def _keys(folder: Path) -> list[SealError]:
    from seal_ir.keys.files import iter_records
    from seal_ir.keys.provenance import read_provenance

    return _all(
        [
            lambda: list(iter_records(folder / "k.jsonl")),
            lambda: read_provenance(folder / "k.jsonl.config.json"),
        ]
    )


def _make_keys(folder: Path) -> None:
    from seal_ir.records import Query
    from tests.helpers import keys, tiny

    index = tiny.built(folder / "index")
    queries = [(Query(f"q{i}", f"query {i} “é”"), keys.random_keys(index, i, 6)) for i in range(3)]
    keys.write(folder / "k.jsonl", index, queries)


def _make_index(folder: Path) -> None:
    from seal_ir.index.engine import EngineSpec
    from tests.unit.test_index_flips import build

    build(folder / "index", EngineSpec())


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
    from seal_ir.read.readers import _is_encoder_decoder
    from seal_ir.text.description import read_description
    from seal_ir.text.pretrained import adapter_config
    from seal_ir.text.tokenizer import TextTokenizer

    return _all(
        [
            lambda: read_description(folder / "seal.json"),
            lambda: load_fid_description(folder),
            lambda: adapter_config(folder),
            lambda: _is_encoder_decoder(folder),
            lambda: TextTokenizer.from_file(folder / "tokenizer.json"),
        ]
    )


def _make_descriptions(folder: Path) -> None:
    from tests.helpers import tiny

    values = {"family": "causal", "body": "words: {query} :", "title": "t: {query} :", "title_end": "\n"}
    (folder / "seal.json").write_text(
        json.dumps({**values, "start": ["a"], "fields": {"genre": "g {query}"}})
    )
    fid = {"passage_tokens": 250}
    (folder / "fid.json").write_text(json.dumps(fid))
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "x", "r": 4}))
    (folder / "config.json").write_text(json.dumps({"is_encoder_decoder": True}))
    tiny.save_tokenizer(folder)


def _cost(folder: Path) -> list[SealError]:
    from seal_ir.baselines.built_from import read_about
    from seal_ir.reproduce.costs import search_cost

    return _all([lambda: search_cost("SearchMinutes", [folder / "run"]), lambda: read_about(folder)])


def _costs() -> dict[str, bytes]:
    from seal_ir.search.bm25 import ABOUT

    made = {"seconds": 3.5, "n_topics": 4, "cpu_seconds": 3}
    return {"run.config.json": json.dumps(made).encode(), ABOUT: b'{"index": "/x", "n_documents": 7}'}


def _make_checkpoint(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    last = folder / "checkpoints" / "checkpoint-2"
    last.mkdir(parents=True)
    save_file({"a": torch.ones(2, 3), "b": torch.zeros(4)}, last / "trained.safetensors")
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        torch.save({"state": torch.ones(3), "step": 2}, last / name)
    log = [{"eval_loss": 2.0, "step": 1, "epoch": 0.1}, {"loss": 1.5, "step": 2}]
    state = {"global_step": 2, "log_history": log}
    (last / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")


def _checkpoint(folder: Path) -> None:
    from seal_ir.train.fit.checkpoints import checkpoint_of
    from seal_ir.train.fit.options import FitOptions

    checkpoint_of(folder, FitOptions(steps=9, patience=3), resume=True)


def _make_fairseq(folder: Path) -> None:
    from tests.helpers import fairseq_bart

    state = {"encoder.a": __import__("torch").ones(2, 2), "decoder.b": __import__("torch").zeros(3)}
    fairseq_bart.save(folder / "checkpoint.pt", state, fairseq_bart.arguments())


def _fairseq(folder: Path) -> None:
    from seal_ir.convert.fairseq_reading import read_checkpoint

    read_checkpoint(folder / "checkpoint.pt")


def _make_published(folder: Path) -> None:
    from tests.helpers import published, tiny

    lists = [published.token_list(document) for document in tiny.DOCUMENTS]
    published.write(folder / "p", lists, [document.id for document in tiny.DOCUMENTS])


def _published(folder: Path) -> None:
    from seal_ir.convert.published_side_file import read_side_file

    read_side_file(folder / "p.oth")


def _make_set(folder: Path) -> None:
    from tests.helpers import training

    training.make_set(folder / "set")


def _set(folder: Path) -> list[SealError]:
    from seal_ir.train.data.dataset import further_fields, load_dataset

    return _all([lambda: further_fields(folder / "set"), lambda: load_dataset(folder / "set")])


def _of(files: Mapping[str, bytes]) -> Make:
    return lambda folder: files


READERS = (
    *(
        Reader(f"{kind}", _of(_packed(files)), partial(_collection, kind), alone=True)
        for kind, files in (
            ("JsonCollection", {"c.jsonl": _JSONL, "c.json": _ARRAY}),
            ("TsvCollection", {"c.tsv": _TSV}),
            ("DprTsvCollection", {"c.tsv": _DPR}),
            ("KiltCollection", {"c.jsonl": _KILT_PAGES}),
        )
    ),
    Reader("topics", _of(_packed(_QUERIES)), _topics, alone=True),
    Reader("runs", _of(_packed(_RUNS)), _runs, alone=True),
    Reader("qrels", _of(_packed(_QRELS)), _qrels, alone=True),
    Reader(
        "predictions",
        _of(
            {
                "p.jsonl": b'{"qid": "1", "question": "who", "answer": "a", "citations": []}\n'
                b'{"qid": "2", "answer": ""}\n'
            }
        ),
        _predictions,
        alone=True,
    ),
    Reader("ids", _of({"ids.txt": b"d1\nd2\n\n3\n"}), lambda path: _read_ids(path), alone=True),
    Reader("training-questions", _of(_PAIRS), _pairs, alone=True),
    Reader(
        "settings",
        _of({"s.toml": b'[decode]\nbeam = 5\nfields = ["genre"]\n\n[rank]\nalpha = 0.5\n'}),
        _settings,
        alone=True,
    ),
    Reader("ranges", _of({"r.toml": b"[rank]\nalpha = [1, 2.5]\n"}), _space, alone=True),
    Reader("registries", lambda folder: _registry_files(folder), _registries),
    Reader("tables", lambda folder: _tables(), _table, alone=True),
    Reader("keys", _make_keys, _keys, "k.*"),
    Reader("index", _make_index, partial(_index, "bytes"), "index/**/*"),
    Reader("index-sizes-only", _make_index, partial(_index, "sizes"), "index/**/*"),
    Reader("index-verify", _make_index, _verify, "index/**/*"),
    Reader("manifest", _make_index, _manifest, "index/index.json"),
    Reader("model-descriptions", _make_descriptions, _descriptions),
    Reader("costs", lambda folder: _costs(), _cost),
    Reader("checkpoint", _make_checkpoint, _checkpoint, "checkpoints/*/*"),
    Reader("fairseq", _make_fairseq, _fairseq),
    Reader("published-side-file", _make_published, _published, "p.oth"),
    Reader("training-set", _make_set, _set, "set/*"),
)


def _read_ids(path: Path) -> object:
    from seal_ir.formats.collections.collection import read_ids

    return read_ids(path)
