"""gensim's BM25 as a baseline: against the formula in plain Python, ties, and what it refuses."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.baselines.gensim_bm25.__main__ import main
from seal_ir.baselines.gensim_bm25.okapi import GensimConfig, build, check_gensim, search
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.runs.trec import read_run
from seal_ir.records import Document, Query
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.piping import pipes
from tests.helpers.tiny_encoders import write_collection

needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="gensim is not installed (its extra)")
DOCUMENTS = [*tiny.DOCUMENTS, *(Document(f"t{n}", "Twins", "A whale and another whale.") for n in (3, 1, 2))]
TOPICS = [
    Query("2", "the capital of France"),
    Query("1", "Whale whale SEA"),
    Query("none", "xylophone 1953 a"),
    Query("empty", ""),
]


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d]+", text.lower()) if 2 <= len(word) <= 15]


def scores(documents: list[Document], query: str, config: GensimConfig) -> dict[str, float]:
    """Okapi BM25 with gensim's floor of the inverse document frequency, word by word."""
    bags = {d.id: Counter(words(f"{d.title}\n{d.text}")) for d in documents}
    n, mean = len(bags), sum(bag.total() for bag in bags.values()) / len(bags)
    frequency = Counter(word for bag in bags.values() for word in bag)
    idf = {word: math.log(n - df + 0.5) - math.log(df + 0.5) for word, df in frequency.items()}
    floor = config.epsilon * sum(idf.values()) / len(idf)
    found: dict[str, float] = {}
    for docid, bag in bags.items():
        length = 1 - config.b + config.b * bag.total() / mean
        for word in set(words(query)) & bag.keys():
            weight = idf[word] if idf[word] >= 0 else floor
            part = weight * bag[word] * (config.k1 + 1) / (bag[word] + config.k1 * length)
            found[docid] = found.get(docid, 0.0) + part
    return found


def collection(folder: Path) -> Collection:
    return Collection("JsonCollection", write_collection(folder / "docs.jsonl", DOCUMENTS))


@needs_gensim
@pytest.mark.parametrize("config", [GensimConfig(), GensimConfig(k1=0.9, b=0.4, epsilon=0.1, hits=2)])
def test_against_the_formula(tmp_path: Path, config: GensimConfig) -> None:
    found = dict(search(build(collection(tmp_path), config), TOPICS, config.hits))
    assert list(found) == TOPICS
    for topic, hits in found.items():
        wanted = scores(DOCUMENTS, topic.text, config)
        best = sorted(wanted, key=lambda docid: (-round(wanted[docid], 5), docid))[: config.hits]
        assert [hit.docid for hit in hits] == best
        assert [hit.score for hit in hits] == pytest.approx([wanted[docid] for docid in best], rel=1e-5)
    assert [hit.docid for hit in found[TOPICS[1]]][:2] == ["d5", "t1"]  # of three twins the first ids
    assert found[TOPICS[2]] == found[TOPICS[3]] == []


@needs_gensim
def test_command(tmp_path: Path, call: Runner) -> None:
    path = write_collection(tmp_path / "docs.jsonl", DOCUMENTS)
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{topic.id}\t{topic.text}\n" for topic in TOPICS), encoding="utf-8")
    run = tmp_path / "run.trec"
    result = call(main, "--input", path, "--topics", topics, "--output", run, "--hits", 3)
    assert (result.code, result.out) == (0, f"{run}\n")
    assert "2 of 4 topics have no hits" in result.err
    assert {qid: len(entries) for qid, entries in read_run(run).items()} == {"2": 3, "1": 3}
    words = ["--input", path, "--topics", topics, "--hits", 3]
    result = call(main, *words, "--output", "-")
    assert (result.code, result.out) == (0, run.read_text(encoding="utf-8"))
    assert not Path("-.config.json").exists()
    with pipes(tmp_path) as piped:
        both = ["--input", piped(path.read_bytes(), "fd"), "--topics", piped(topics.read_bytes(), "fifo")]
        assert call(main, *both, "--hits", 3, "--output", "-").out == result.out
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"id": "a", "contents": ""}\n', encoding="utf-8")
    result = call(main, "--input", empty, "--topics", topics, "--output", tmp_path / "no.trec")
    assert_fault(result, 2, "no documents to search (read 1 = indexed 0 + empty 1")
    assert not (tmp_path / "no.trec").exists()


def test_refusals(tmp_path: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--topics", "demo", "--output", tmp_path / "no.trec"]
    assert_fault(call(main, *words), 2, "--input is missing: name the documents to search")
    for option, value, fault in (
        ("--k1", -1, "k1 is -1.0"),
        ("--b", 2, "b is 2.0"),
        ("--hits", 0, "hits is 0"),
    ):
        assert_fault(call(main, *words, "--input", tmp_path, option, value), 2, fault)
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(
        UsageError, match=r"this baseline needs gensim \(.*\); pip install 'seal-ir\[gensim\]'"
    ):
        check_gensim()
    assert_fault(call(main, *words, "--input", tmp_path), 2, "needs gensim")
    assert not (tmp_path / "no.trec").exists()
