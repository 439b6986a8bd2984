"""Small valid files of every reader, to be made hostile; what takes an import of its own is imported late."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.commands import ROOT

_RECORDS = [
    {"id": "d1", "title": "Paris", "contents": "Paris\nThe Seine flows.", "genre": "city", "year": 1900},
    {"_id": "d2", "title": "", "text": "A whale “sings”.", "genre": ["sea", "song"], "year": 7},
    {"docid": 3, "body": "Everest", "contents": "Mountains"},
]
JSONL = b"".join(json.dumps(record).encode() + b"\n" for record in _RECORDS)
ARRAY = json.dumps(_RECORDS, ensure_ascii=False, indent=1).encode()
TSV = "d1\tParis, the capital\nd2\tA whale “sings”\n".encode()
DPR = b'id\ttext\ttitle\n1\t"A ""whale""\nsings"\tWhale\n2\tParis\t"Pa\tris"\n'
_PAGE = {"wikipedia_id": "12", "wikipedia_title": "Paris", "text": ["Paris\n", "The Seine.\n"], "anchors": []}
KILT_PAGES = b"".join(json.dumps({**_PAGE, "wikipedia_id": str(n)}).encode() + b"\n" for n in range(3))
QUERIES = {
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
RUNS = {
    "run.trec": b"1 Q0 d1 1 2.500000 seal\n1 Q0 d2 2 1.250000 seal\n2 Q0 d1 1 -3.0 seal\n",
    "other.run": b"1\tQ0\td1\t0\t1e3\tx\r\n1\tQ0\td2\t1\t999.5\tx\r\n",
    "kilt.jsonl": QUERIES["kilt.jsonl"].replace(b"[]}", b"[{}]}"),
}
QRELS = {
    "q.trec": b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n",
    "beir.tsv": b"query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t0\n",
    "kilt.jsonl": QUERIES["kilt.jsonl"],
}


def packed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, and the first of them under every compression that readers know."""
    name, content = next(iter(files.items()))
    packed = {
        ".gz": gzip.compress(content, mtime=0),
        ".bz2": bz2.compress(content),
        ".xz": lzma.compress(content),
    }
    return {**files, **{name + suffix: value for suffix, value in packed.items()}}


PAIRS = {
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


def registry_files(folder: Path) -> None:
    for name in ("indexes.toml", "models.toml"):
        text = (ROOT / "collections" / name).read_text(encoding="utf-8")
        text += f'\n[[{"index" if name.startswith("i") else "model"}]]\nname = "x"\ndescription = "d"\n'
        text += 'licence = "l"\ntopics = ["a"]\nbuild = "b {index}"\nn_bytes = 3\n'
        text += f'download = {{url = "https://x.org/x.tar.gz", sha256 = "{"0" * 64}", n_bytes = 3}}\n'
        (folder / name).write_text(text, encoding="utf-8")


def tables() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((ROOT / "eval").glob("*.toml"))}


def make_keys(folder: Path) -> None:
    from seal_ir.records import Query
    from tests.helpers import keys, tiny

    index = tiny.built(folder / "index")
    queries = [(Query(f"q{i}", f"query {i} “é”"), keys.random_keys(index, i, 6)) for i in range(3)]
    keys.write(folder / "k.jsonl", index, queries)


def make_index(folder: Path) -> None:
    from seal_ir.index.engine import EngineSpec
    from tests.unit.test_index_flips import build

    build(folder / "index", EngineSpec())


def make_descriptions(folder: Path) -> None:
    from tests.helpers import tiny

    values = {"family": "causal", "body": "words: {query} :", "title": "t: {query} :", "title_end": "\n"}
    (folder / "seal.json").write_text(
        json.dumps({**values, "start": ["a"], "fields": {"genre": "g {query}"}})
    )
    fid = {"passage_tokens": 250}
    (folder / "fid.json").write_text(json.dumps(fid))
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "x", "r": 4}))
    tiny.save_tokenizer(folder)


def costs() -> dict[str, bytes]:
    from seal_ir.search.bm25 import ABOUT

    made = {"seconds": 3.5, "n_topics": 4, "cpu_seconds": 3}
    return {"run.config.json": json.dumps(made).encode(), ABOUT: b'{"index": "/x", "n_documents": 7}'}


def make_checkpoint(folder: Path) -> None:
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


def make_fairseq(folder: Path) -> None:
    import torch

    from tests.helpers import fairseq_bart

    state = {"encoder.a": torch.ones(2, 2), "decoder.b": torch.zeros(3)}
    fairseq_bart.save(folder / "checkpoint.pt", state, fairseq_bart.arguments())


def make_published(folder: Path) -> None:
    from tests.helpers import published, tiny

    lists = [published.token_list(document) for document in tiny.DOCUMENTS]
    published.write(folder / "p", lists, [document.id for document in tiny.DOCUMENTS])


def make_set(folder: Path) -> None:
    from tests.helpers import training

    training.make_set(folder / "set")
