"""`--preset published`: the slow path finds what the fast one finds; it is a baseline and no straw man."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir import SealSearcher
from seal_ir.config import PRESETS, DecodeConfig, RankConfig, SearchConfig, covering, preset
from seal_ir.config_files import from_toml
from seal_ir.decode.beam import decode
from seal_ir.errors import UsageError
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import Generator
from seal_ir.published import decode as slow_decoding
from seal_ir.published import rank as slow_ranking
from seal_ir.rank.ranker import rank
from seal_ir.records import QueryKeys
from seal_ir.search.__main__ import main
from tests.helpers import stub, tiny
from tests.helpers.commands import Runner, assert_fault

CONFIG = DecodeConfig(beam=4, body_steps=6, title_steps=8, unigrams=100)
QUERIES = ["the capital of Japan", "which river flows through London", " ", tiny.LITERAL, "whale"]


@pytest.fixture(scope="module", params=[1 << 30, 55], ids=["one segment", "segments"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    directory = tmp_path_factory.mktemp("published") / "index"
    return tiny.built(directory, max_segment_tokens=request.param)


def random_generator(seed: int = 0, levels: int = 0) -> Generator:
    tokenizer = tiny.tokenizer()
    (title_end,) = tokenizer.encode("\n")
    return stub.generator(tokenizer, stub.StubModel(tokenizer.n_vocabulary, seed, levels), title_end)


def same_keys(slow: QueryKeys, fast: QueryKeys, *, abs_tolerance: float = 0.0) -> None:
    """The same keys with the same counts and ranges, in whatever order, and the same unigrams."""
    ours, theirs = ({(key.kind, key.symbols): key for key in keys.keys} for keys in (slow, fast))
    assert ours.keys() == theirs.keys()
    for name, key in ours.items():
        assert (key.count, key.ranges) == (theirs[name].count, theirs[name].ranges)
        assert key.logprob == pytest.approx(theirs[name].logprob, abs=abs_tolerance)
    assert slow.unigrams.symbols.tolist() == fast.unigrams.symbols.tolist()
    assert slow.unigrams.counts.tolist() == fast.unigrams.counts.tolist()
    np.testing.assert_allclose(slow.unigrams.logprobs, fast.unigrams.logprobs, rtol=0, atol=abs_tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("made", [
    random_generator(0), random_generator(1), random_generator(2, levels=3), tiny.generator(),
], ids=["random", "another", "ties", "echo"])  # fmt: skip
@pytest.mark.parametrize("config", [
    CONFIG, DecodeConfig(beam=1, body_steps=1), DecodeConfig(beam=30, body_steps=3, title_steps=0),
    DecodeConfig(beam=2, body_steps=4, query_words=0, unigrams=0),
])  # fmt: skip
def test_the_slow_path_writes_the_same_keys(index: Index, made: Generator, config: DecodeConfig) -> None:
    fast = decode(made, index, QUERIES, config)
    slow = slow_decoding.decode(made, index, QUERIES, config)
    assert slow.cut == fast.cut == {}
    for ours, theirs in zip(slow.queries, fast.queries, strict=True):
        same_keys(ours, theirs)
    assert any(found.keys for found in fast.queries)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Bart", "T5"])
def test_the_slow_path_of_an_encoder_decoder_network(index: Index, name: str) -> None:
    """Expanded rows, and keys read whole and padded: the same keys, probabilities within 1e-4."""
    from seal_ir.lm.load import wire
    from seal_ir.text.description import SEQ2SEQ, ModelDescription
    from tests.unit import test_models_structural as structural

    extra: dict[str, Any] = {"vocab_size": tiny.tokenizer().n_vocabulary}
    extra |= {"decoder_start_token_id": 0} if name == "T5" else {"max_position_embeddings": 512}
    network = structural._network(name, {"Bart": structural._BART, "T5": structural._T5}[name] | extra)
    made = wire(network, tiny.tokenizer(), ModelDescription(SEQ2SEQ, "{query} words", "{query} title", "\n"))
    fast = decode(made, index, QUERIES, CONFIG).queries
    slow = slow_decoding.decode(made, index, QUERIES, CONFIG).queries
    for ours, theirs in zip(slow, fast, strict=True):
        same_keys(ours, theirs, abs_tolerance=1e-4)


def test_long_queries_are_cut_and_counted(index: Index) -> None:
    made = tiny.generator()
    queries = ["word " * 3000, "Japan"]
    fast, slow = (
        decode(made, index, queries, CONFIG),
        slow_decoding.decode(made, index, queries, CONFIG),
    )
    assert list(fast.cut) == [0]
    assert slow.cut == fast.cut
    for ours, theirs in zip(slow.queries, fast.queries, strict=True):
        same_keys(ours, theirs)


def test_no_queries(index: Index) -> None:
    assert slow_decoding.decode(tiny.generator(), index, [], CONFIG).queries == []
    (nothing,) = slow_decoding.decode(tiny.generator(), index, [" "], CONFIG).queries
    assert nothing.keys == ()
    assert slow_ranking.rank(index, nothing, RankConfig(), 10) == []


RANKS = [
    RankConfig(),
    RankConfig(smoothing=0.0, unigram_alpha=True),
    RankConfig(smoothing=0.0, alpha=1.0, beta=0.0),
    RankConfig(smoothing=0.5, beta=1.0, unigrams=False, kinds=("body", "title")),
    RankConfig(smoothing=0.0, max_count=3),
    RankConfig(smoothing=0.0, length=2),
]


@pytest.mark.slow
@pytest.mark.parametrize("config", RANKS, ids=str)
@pytest.mark.parametrize("made", [random_generator(3), tiny.generator()], ids=["random", "echo"])
def test_the_slow_path_ranks_the_same(index: Index, made: Generator, config: RankConfig) -> None:
    for keys in decode(made, index, QUERIES, CONFIG).queries:
        n_rare = len(slow_ranking.rank(index, keys, config, 100))  # the slow path has no other candidates
        for n in sorted({1, 3, 100, n_rare} & set(range(1, n_rare + 1))):
            fast = rank(index, keys, config, n)
            slow = slow_ranking.rank(index, keys, config, n)
            assert [item.document for item in slow] == [item.document for item in fast]
            assert [item.score for item in slow] == pytest.approx([item.score for item in fast], rel=1e-9)


def test_there_are_scores_to_compare(index: Index) -> None:
    keys = decode(tiny.generator(), index, QUERIES, CONFIG).queries
    assert [len(slow_ranking.rank(index, item, RANKS[1], 100)) > 2 for item in keys] == [
        bool(query.strip()) for query in QUERIES
    ]


# The preset


def test_the_preset_is_intersective_with_a_second_pass() -> None:
    published = preset("published")
    assert published.rank == preset("intersective").rank
    assert published.decode == replace(preset("intersective").decode, title_steps=15, rescore=True)
    assert published.slow_path
    assert [name for name, config in PRESETS.items() if config.slow_path] == ["published"]


def test_it_shares_no_decoding() -> None:
    for names in (("published", "intersective"), ("lm", "published", "paper")):
        with pytest.raises(UsageError, match="'published', and those with rescore or without"):
            covering([preset(name) for name in names])
    assert covering([preset("published")]) == preset("published").decode
    again = [replace(preset(name), decode=DecodeConfig(rescore=True)) for name in ("lm-fm", "paper")]
    assert covering(again) == DecodeConfig(rescore=True)


def test_it_scores_as_published_only(tmp_path: Path) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text("[rank]\nscore = 'max'\n")
    with pytest.raises(UsageError, match=r"mine.toml: preset 'published' has score 'intersective'"):
        from_toml(settings, preset("published"))
    with pytest.raises(UsageError, match="weight 'lm-fm' only"):
        SearchConfig("mine", rank=RankConfig(weight="lm", score="max"), slow_path=True)


def pairs(searcher: SealSearcher, queries: Sequence[str]) -> list[list[tuple[str, float]]]:
    found = searcher.batch_search(queries, [str(number) for number in range(len(queries))])
    return [[(hit.docid, hit.score) for hit in hits] for hits in found.values()]


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_searcher_takes_the_slow_path(tiny_index: Path, batch_size: int) -> None:
    """With the same settings otherwise, hits are the same ones."""
    paper = preset("paper")
    published = replace(preset("published"), rank=paper.rank)
    fast = SealSearcher(tiny_index, tiny.generator(), config=paper, batch_size=batch_size)
    slow = SealSearcher(tiny_index, tiny.generator(), config=published, batch_size=batch_size)
    expected = pairs(fast, QUERIES)
    for ours, theirs in zip(pairs(slow, QUERIES), expected, strict=True):
        assert [docid for docid, _ in ours] == [docid for docid, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], rel=1e-6)
    assert sum(map(len, expected)) > 8


@pytest.mark.usefixtures("stubbed")
def test_the_command_runs_it_and_says_what_it_is(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\tthe capital of Japan\n2\twhich river flows through London\n")
    settings = tmp_path / "mine.toml"
    settings.write_text("[rank]\nsmoothing = 0.0\n")
    runs = []
    for name in ("published", "intersective"):
        output = tmp_path / name
        arguments = ["--topics", topics, "--index", tiny_index, "--config", settings, "--preset", name]
        assert call(main, *arguments, "--output", output, "--tag", "x").code == 0
        runs.append([line.split()[:4] for line in output.read_text().splitlines()])
        saved = json.loads((tmp_path / f"{name}.config.json").read_text())
        assert (saved["preset"], saved["slow_path"]) == (name, name == "published")
    assert runs[0] == runs[1]
    assert len(runs[0]) > 5
    both = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "both"]
    assert_fault(call(main, *both, "--preset", "published", "lm"), 2, "run alone")
    told = call(main, "--help").out
    assert "published is a slow baseline for benchmarks only" in " ".join(told.split())
