"""Expanded questions: which files, how they are joined to the topics, how their runs are fused."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from seal_ir.baselines.gar import searching
from seal_ir.baselines.gar.expanded import named_expansions, read_expanded
from seal_ir.baselines.gar.searching import GarConfig, search_expanded
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Hit, Query
from seal_ir.search.bm25 import Bm25Config

TOPICS = [Query("7", "who is the owner"), Query("3", "Where is  Etna"), Query("0", "")]


def expansions(folder: Path, *lines: str) -> Path:
    path = folder / "expanded.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_ids_join_questions_and_expansions(tmp_path: Path) -> None:
    path = expansions(
        tmp_path, "0\tParis", "3\twhere is etna Sicily *** Italy", "9\tof another", "7\twho is the owner"
    )
    assert read_expanded(path, TOPICS) == [
        Query("7", "who is the owner"),
        Query("3", "where is etna Sicily *** Italy"),
        Query("0", "Paris"),
    ]


def test_a_topic_without_expansion(tmp_path: Path) -> None:
    path = expansions(tmp_path, "7\twho is the owner", "0\tParis")
    with pytest.raises(InputError, match=r"expanded.tsv: holds no topic '3'; every topic needs a line$"):
        read_expanded(path, TOPICS)


@pytest.mark.parametrize("text", ["who is the ownership Rome", "who is", "Rome"])
def test_the_expansion_of_another_question(tmp_path: Path, text: str) -> None:
    path = expansions(tmp_path, f"7\t{text}")
    with pytest.raises(InputError, match=r"topic '7' is .*, which does not begin with its question, 'who is"):
        read_expanded(path, TOPICS[:1])


def test_named_files(tmp_path: Path) -> None:
    (tmp_path / "gar").mkdir()
    names = [f"topics.nq.test.gar-t5.{kind}.tsv" for kind in ("answers", "titles", "sentences")]
    for name in names[:2]:
        (tmp_path / "gar" / name).touch()
    places = Places(data=tmp_path, collections=tmp_path, cache_folder=tmp_path)
    with pytest.raises(
        UsageError, match=r"topics.nq.test.gar-t5.sentences.tsv: no such file; give .*--expan"
    ):
        named_expansions("nq-test", places)
    (tmp_path / "gar" / names[2]).touch()
    assert named_expansions("nq-test", places) == [tmp_path / "gar" / name for name in names]
    nowhere = Places(data=None, collections=tmp_path, cache_folder=tmp_path)
    with pytest.raises(UsageError, match="with --expansions, or set SEAL_IR_DATA"):
        named_expansions("nq-test", nowhere)


def test_runs_are_fused_by_reciprocal_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = {"x": ["a", "b", "c"], "y": ["c", "d"], "z": []}

    def fake(lucene: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
        for topic in topics:
            yield topic, [Hit(name, 9.0 - n) for n, name in enumerate(ranked[topic.text])][: config.hits]

    monkeypatch.setattr(searching, "search", fake)
    topics = [Query("1", "q")]
    sets = [[Query("1", text)] for text in "xyz"]
    (found,) = search_expanded(Path("lucene"), topics, sets, GarConfig(Bm25Config(hits=10), rrf_k=60, hits=3))
    topic, hits = found
    assert topic == topics[0]
    scores = {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 62}
    assert [(hit.docid, hit.score) for hit in hits] == [(name, scores[name]) for name in "cab"]
    (found,) = search_expanded(Path("lucene"), topics, sets, GarConfig(Bm25Config(hits=1)))
    assert [hit.docid for hit in found[1]] == ["a", "c"]  # what is below the depth does not count


def test_config() -> None:
    with pytest.raises(UsageError, match="hits is 0; it must be at least 1"):
        GarConfig(Bm25Config(), hits=0)


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("SEAL_IR_DATA"), reason="needs SEAL_IR_DATA")
def test_gar_t5_is_aligned_with_the_questions_of_nq_test() -> None:
    places = Places.from_environment()
    assert places.data is not None
    topics = read_topics(places.data / "topics" / "nq-test.tsv")
    assert len(topics) == 3610
    for path in named_expansions("nq-test", places):
        expanded = read_expanded(path, topics)
        assert [query.id for query in expanded] == [topic.id for topic in topics]
        # Every question has got something, and nothing before it.
        assert all(len(one.text) > len(other.text) for one, other in zip(expanded, topics, strict=True))
