"""Scores of the published system, from inputs and numeric outputs recorded in published_system.json.

Not compared, because they are options of that system that we do not have: `allow_overlaps`,
`length_penalty`, `sort_by_length`, `sort_by_freq`, a `single_key` between 0 and 1, and the unigram
flags `add_best_unigrams_to_ngrams` and `unigrams_ignore_free_places`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.config import RankConfig
from seal_ir.rank.ranker import rank
from seal_ir.records import BODY, Key, QueryKeys, Range, Ranked, Unigrams
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN
from tests.helpers import reference
from tests.helpers.streams import StreamIndex

GOLDEN = json.loads((Path(__file__).parent / "published_system.json").read_text())
EOS = GOLDEN["meta"]["eos"]
CORPORA = sorted(GOLDEN["corpora"])
NEAR = {"rtol": 0.0, "atol": 1e-6}
MANY = 10_000


def _streams(docs: list[list[int]]) -> list[list[int]]:
    return [[BOUNDARY, *(token + FIRST_TOKEN for token in doc[:-1])] for doc in docs]


def _ngram(tokens: list[int]) -> tuple[int, ...]:
    """A key's symbols; an EOS at its start is the boundary before a document."""
    return tuple(
        BOUNDARY if i == 0 and token == EOS else token + FIRST_TOKEN for i, token in enumerate(tokens)
    )


@cache
def _corpus(name: str) -> tuple[list[list[int]], StreamIndex]:
    streams = _streams(GOLDEN["corpora"][name]["docs"])
    return streams, StreamIndex(streams, n_segments=2)


def _keys(index: StreamIndex, entries: list[Any]) -> tuple[Key, ...]:
    keys = []
    for tokens, logprob in entries:
        ranges = index.find(_ngram(tokens))
        count = sum(hi - lo for lo, hi in ranges)
        if count:
            keys.append(Key(_ngram(tokens), logprob, count, ranges, BODY))
    return tuple(keys)


def _unigrams(index: StreamIndex, logprobs: list[float], k: int) -> Unigrams:
    """The k most likely tokens, those that occur."""
    best = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])[:k]
    rows = [(token + FIRST_TOKEN, logprobs[token], index.find([token + FIRST_TOKEN])) for token in best]
    rows = [(symbol, logprob, _size(ranges)) for symbol, logprob, ranges in rows if _size(ranges)]
    symbols, values, counts = zip(*rows, strict=True)
    return Unigrams(np.array(symbols, np.uint32), np.array(values), np.array(counts, np.int64))


def _size(ranges: tuple[Range, ...]) -> int:
    return sum(hi - lo for lo, hi in ranges)


def _inputs(entry: dict[str, Any]) -> tuple[StreamIndex, QueryKeys]:
    corpus = GOLDEN["corpora"][entry["corpus"]]
    _, index = _corpus(entry["corpus"])
    keys = _keys(index, corpus["ngrams_and_scores"] + entry["extra_ngrams"])
    k = entry["params"].get("use_top_k_unigrams", GOLDEN["meta"]["aggregate_defaults"]["use_top_k_unigrams"])
    unigrams = _unigrams(index, corpus["unigram_scores"], k)
    return index, QueryKeys(keys, unigrams)


def _config(entry: dict[str, Any], **changes: Any) -> RankConfig:
    parameters = GOLDEN["meta"]["aggregate_defaults"] | entry["params"]
    values = {
        "weight": "lm-fm" if parameters["use_fm_index_frequency"] else "lm",
        "score": "max" if parameters["single_key"] == 1.0 else "intersective",
        "alpha": parameters["alpha"],
        "beta": parameters["beta"],
        "smoothing": parameters["smoothing"],
        "unigrams": entry["unigrams"],
        "max_count": parameters["max_occurrences_1"],
    }
    return RankConfig(**values | changes)


def _entries(*settings: str) -> list[Any]:
    ours = {"add_best_unigrams_to_ngrams", "unigrams_ignore_free_places"}
    return [
        pytest.param(
            entry, id="-".join([entry["corpus"], entry["setting"]] + ["unigrams"] * entry["unigrams"])
        )
        for entry in GOLDEN["aggregate"]
        if entry["setting"] in settings and not ours & set(entry["params"])
    ]


def _scores(ranked: list[Ranked]) -> dict[int, float]:
    return {item.document: item.score for item in ranked}


def _published(entry: dict[str, Any]) -> dict[int, float]:
    return {int(document): score for document, score in entry["scores"].items()}


def _exhaustive(entry: dict[str, Any]) -> dict[int, float]:
    """Scores of all documents by the brute-force scorer."""
    streams, _ = _corpus(entry["corpus"])
    _, query_keys = _inputs(entry)
    best: dict[tuple[int, ...], float] = {}
    for key in query_keys.keys:
        best[key.symbols] = max(key.logprob, best.get(key.symbols, -np.inf))
    unigrams = dict(
        zip(query_keys.unigrams.symbols.tolist(), query_keys.unigrams.logprobs.tolist(), strict=True)
    )
    keys = [(ngram, logprob, BODY) for ngram, logprob in sorted(best.items())]
    return reference.scores(streams, keys, unigrams, _config(entry), candidates_only=False)


@pytest.mark.parametrize(
    "entry",
    _entries(
        "intersective",
        "intersective_nosmoothing",
        "intersective_alpha1_beta0",
        "intersective_beta1",
        "intersective_title_keys",
        "lm_fm_single_key_alpha1",
        "lm_fm_single_key_alpha2",
    ),
)
def test_scores_are_those_of_the_published_system(entry: dict[str, Any]) -> None:
    index, query_keys = _inputs(entry)
    ours = _scores(rank(index, query_keys, _config(entry), MANY))
    theirs = _published(entry)
    assert theirs
    for document, score in theirs.items():
        np.testing.assert_allclose(ours[document], score, err_msg=f"document {document}", **NEAR)
    # What the published pruning loses is here all the same, with its exhaustive score.
    exhaustive = _exhaustive(entry)
    assert set(ours) == set(exhaustive) >= set(theirs)
    np.testing.assert_allclose([ours[d] for d in exhaustive], list(exhaustive.values()), rtol=1e-9)


@pytest.mark.parametrize("entry", _entries("lm_only_single_key", "lm_only_single_key_alpha2"))
def test_lm_scores_are_the_published_ones_up_to_a_constant(entry: dict[str, Any]) -> None:
    """There, a constant makes weights positive before they are raised to alpha; here log P is the score."""
    index, query_keys = _inputs(entry)
    ours = _scores(rank(index, query_keys, _config(entry), MANY))
    theirs = _published(entry)
    roots = {document: score ** (1 / entry["params"]["alpha"]) for document, score in theirs.items()}
    constant = next(iter(roots.values())) - ours[next(iter(roots))]
    assert set(theirs) <= set(ours)
    for document, root in roots.items():
        np.testing.assert_allclose(ours[document] + constant, root, **NEAR)


@pytest.mark.parametrize("entry", _entries("intersective_top3"))
def test_the_first_three_are_the_exhaustive_best_three(entry: dict[str, Any]) -> None:
    index, query_keys = _inputs(entry)
    ours = rank(index, query_keys, _config(entry), 3)
    best = reference.ranking(_exhaustive(entry), [f"{i:05d}" for i in range(index.n_documents)], 3)
    assert [item.document for item in ours] == [document for document, _ in best]
    np.testing.assert_allclose([item.score for item in ours], [score for _, score in best], rtol=1e-9)
    for document, score in _published(entry).items():  # three of the documents, with the right scores
        np.testing.assert_allclose(_exhaustive(entry)[document], score, **NEAR)


@pytest.mark.parametrize("entry", _entries("intersective_max_occ_2"))
def test_every_document_with_a_rare_key_has_its_exhaustive_score(entry: dict[str, Any]) -> None:
    streams, _ = _corpus(entry["corpus"])
    index, query_keys = _inputs(entry)
    exhaustive = _exhaustive(entry)
    n_tokens = sum(map(len, streams))
    rare = [
        key
        for key in query_keys.keys
        if key.count <= 2 and reference.log_odds(key.logprob, key.count, n_tokens, 5.0) > 0
    ]
    occurrences = index.locate(key.ranges for key in rare)
    holders = set(occurrences.documents.tolist())
    ours = _scores(rank(index, query_keys, _config(entry), len(holders)))
    everyone = _scores(rank(index, query_keys, _config(entry, max_count=1500), MANY))
    assert set(ours) == holders <= set(everyone)
    for document, score in ours.items():
        np.testing.assert_allclose(score, exhaustive[document], rtol=1e-9)


@pytest.mark.parametrize("name", CORPORA)
def test_counts_successors_and_documents(name: str) -> None:
    _, index = _corpus(name)
    corpus = GOLDEN["corpora"][name]
    entries = [entry for entry in corpus["fm"] if not entry["has_eos"]]
    assert len(entries) > 20
    for entry in entries:
        assert _answers(index, entry["ngram"]) == {k: entry[k] for k in ("count", "successors", "doc_ids")}
    assert index.n_tokens == corpus["n_tokens"]
    occurring = [EOS, *(int(s) - FIRST_TOKEN for s in index.first_symbols.symbols if s >= FIRST_TOKEN)]
    assert occurring == corpus["occurring"]


@pytest.mark.parametrize("name", CORPORA)
def test_every_document_start_is_found(name: str) -> None:
    """In the published system the last document's is not."""
    streams, index = _corpus(name)
    for entry in GOLDEN["corpora"][name]["title_prefix_counts"]:
        prefix = _ngram(entry["ngram"])
        assert _size(index.find(prefix)) == sum(tuple(s[: len(prefix)]) == prefix for s in streams) >= 1
        last = tuple(streams[-1][: len(prefix)]) == prefix
        assert _size(index.find(prefix)) - last == entry["count"]


@pytest.mark.parametrize("defect", GOLDEN["fm_defects"], ids=lambda defect: str(defect["ngram"][0]))
def test_answers_are_true_where_the_published_index_errs(defect: dict[str, Any]) -> None:
    for n_segments in (1, 2):
        index = StreamIndex(_streams(defect["docs"]), n_segments)
        assert _answers(index, defect["ngram"]) == defect["true"] != defect["peer"]


def _answers(index: StreamIndex, tokens: list[int]) -> dict[str, Any]:
    """Count, next tokens (EOS where a document ends) and documents of an n-gram."""
    ranges = index.find(_ngram(tokens))
    occurrences = index.locate([ranges])
    lengths = [len(stream) for stream in index.streams(occurrences.documents)]
    successors = [int(s) - FIRST_TOKEN for s in index.successors(np.array(ranges)[None]).symbols]
    if any(end == length for end, length in zip(occurrences.ends.tolist(), lengths, strict=True)):
        successors.append(EOS)
    documents = sorted(occurrences.documents.tolist())
    return {"count": _size(ranges), "successors": sorted(successors), "doc_ids": documents}


def test_the_best_document_survives_where_the_published_first_stage_drops_it() -> None:
    quirk = next(quirk for quirk in GOLDEN["quirks"] if "n_docs_complete_score=1" in quirk)
    index = StreamIndex(_streams(quirk["docs"]))
    logprobs = np.array([logprob for _, logprob in quirk["ngrams_and_scores"]])
    assert len(logprobs)
    query_keys = QueryKeys(_keys(index, quirk["ngrams_and_scores"]), _nothing())
    config = RankConfig(**quirk["params"], unigrams=False)
    ranked = rank(index, query_keys, config, MANY)
    expected = {int(document): score for document, score in quirk["all_scored"].items()}
    assert [item.document for item in ranked] == sorted(expected, key=lambda document: -expected[document])
    np.testing.assert_allclose(
        [item.score for item in ranked], sorted(expected.values(), reverse=True), **NEAR
    )
    assert rank(index, query_keys, config, 1)[0].document == 11


def test_a_certain_unigram_and_no_keys_at_all_are_no_crash() -> None:
    """The published system raises on log-probability 0 and on an empty list without frequencies."""
    assert {"ValueError: math domain error", "IndexError: list index out of range"} <= {
        quirk.get("peer") for quirk in GOLDEN["quirks"]
    }
    _, index = _corpus("tiny")
    symbol = 4 + FIRST_TOKEN
    certain = Unigrams(
        np.array([symbol], np.uint32), np.array([0.0]), np.array([_size(index.find([symbol]))])
    )
    keys = _keys(index, GOLDEN["corpora"]["tiny"]["ngrams_and_scores"])
    assert all(np.isfinite(item.score) for item in rank(index, QueryKeys(keys, certain), RankConfig(), MANY))
    for weight, score in (("lm", "max"), ("lm-fm", "max"), ("lm-fm", "intersective")):
        config = RankConfig(weight=weight, score=score)
        assert rank(index, QueryKeys((), _nothing()), config, MANY) == []
        assert rank(index, QueryKeys((), certain), config, MANY) == []


def _nothing() -> Unigrams:
    return Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))
