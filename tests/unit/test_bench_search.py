"""What the benchmark of the search rests on: parts add up, models are the same, nothing stays changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir import SealSearcher
from seal_ir.config import DecodeConfig, SearchConfig, preset
from seal_ir.index.reader import Index
from tests.bench.search_models import ENTROPY, Shape, entropy, random_bart
from tests.bench.search_parts import PARTS, Watch, clock_seconds, measure
from tests.helpers import tiny

QUERIES = [*tiny.SENTENCES, "the capital of Japan"]
SHAPE = Shape(1, 32, 2)


def work(seconds: float) -> None:
    """Keep the processor busy."""
    ends = time.process_time() + seconds
    while time.process_time() < ends:
        pass


def test_a_part_inside_a_part_counts_for_itself() -> None:
    watch = Watch()
    started = time.process_time()
    with watch.part("other"):
        work(0.02)
        with watch.part("score"):
            work(0.01)
            watch.wrapped("locate", work)(0.03)
        work(0.01)
    total = time.process_time() - started
    seconds = watch.seconds
    assert sum(seconds.values()) == pytest.approx(total, abs=0.002)
    expected = {"other": 0.03, "score": 0.01, "locate": 0.03}
    assert {name: value for name, value in seconds.items() if value} == pytest.approx(expected, abs=0.005)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return tiny.built(tmp_path_factory.mktemp("bench") / "index")


def test_random_models_are_the_same_ones_and_about_as_certain_as_a_trained_one(index: Index) -> None:
    made = [random_bart(SHAPE, index, QUERIES[:3]) for _ in range(2)]
    networks: list[Any] = [generator.model.network for generator in made]  # type: ignore[attr-defined]
    for ours, theirs in zip(*(network.state_dict().values() for network in networks), strict=True):
        assert torch.equal(ours, theirs)
    source = torch.tensor([[*index.tokenizer.encode(f"{QUERIES[0]} || body || +")]])
    with torch.inference_mode():
        logits = networks[0](input_ids=source, decoder_input_ids=torch.tensor([[2, 0]])).logits[:, -1]
    assert entropy(logits) == pytest.approx(ENTROPY, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["intersective", "published"])
def test_all_parts_are_measured_and_nothing_stays_changed(index: Index, name: str) -> None:
    decode = DecodeConfig(beam=3, body_steps=3, title_steps=3, rescore=name == "published")
    config = SearchConfig(name, decode, preset("paper").rank, slow_path=name == "published")
    searcher = SealSearcher(index.directory, random_bart(SHAPE, index, QUERIES[:3]), config=config)
    before, softmax = dict(vars(searcher.index)), torch.log_softmax
    found = measure(searcher, QUERIES, 2)
    assert torch.log_softmax is softmax
    assert {key: vars(searcher.index)[key] for key in before} == before
    assert not {"extend", "locate", "streams"} & set(vars(searcher.index))
    assert set(found.seconds) == set(PARTS)
    for part in ("model", "read", "constraint", "locate", "score", "other"):
        assert found.seconds[part] > 0, part
    assert found.n_queries == len(QUERIES)
    assert found.n_keys > 3
    assert 0 < found.share("model") < 1
    assert clock_seconds(searcher, QUERIES, 2, threads=2) > 0


def test_bench_search_tells_what_it_needs(tmp_path: Path) -> None:
    from tests.bench.search_indexes import index_like

    tiny.build(tmp_path / "index")
    engine = Index(tmp_path / "index").manifest.segments[0].engine
    assert index_like(tmp_path / "index", engine) == tmp_path / "index"
    other = index_like(tmp_path / "index", "sdsl" if engine == "native" else "native")
    assert other != tmp_path / "index"
    ours, theirs = Index(tmp_path / "index"), Index(other)
    assert theirs.documents(range(7)) == ours.documents(range(7))
    assert index_like(tmp_path / "index", theirs.manifest.segments[0].engine) == other


def test_an_index_is_cut_into_segments_of_the_same_documents(tmp_path: Path) -> None:
    from tests.bench.cut_indexes import cut

    tiny.build(tmp_path / "index")
    whole = Index(tmp_path / "index")
    n = len(whole.manifest.segments)
    assert cut(tmp_path / "index", n) == tmp_path / "index"
    made = cut(tmp_path / "index", n + 2)
    parts = Index(made)
    assert len(parts.manifest.segments) == n + 2
    assert parts.documents(range(7)) == whole.documents(range(7))
    assert cut(tmp_path / "index", n + 2) == made
    assert cut(made, n + 2) == made


def test_the_published_configuration_answers_as_our_sdsl_engine_does(tmp_path: Path) -> None:
    from seal_ir import _sdsl
    from tests.bench.search_indexes import build_published, index_like, use_published_engine

    if not hasattr(_sdsl, "Baseline"):
        pytest.skip("this build of the sdsl module has no baseline")
    tiny.build(tmp_path / "index")
    directory = index_like(tmp_path / "index", "sdsl")
    expected, published = Index(directory), Index(directory)
    build_published(published)
    use_published_engine(published)
    assert type(published._engines[0]) is not type(expected._engines[0])
    for key in (tiny.stream_of("the capital"), tiny.stream_of("whale"), [5000]):
        ranges = expected.find(key)
        assert published.find(key) == ranges
        for row in range(*ranges[0]):
            assert published.locate_row(0, row) == expected.locate_row(0, row)
        ours, theirs = published.locate([ranges]), expected.locate([ranges])
        assert (ours.documents.tolist(), ours.ends.tolist()) == (
            theirs.documents.tolist(),
            theirs.ends.tolist(),
        )
    for documents in ([0], [6], [3, 0, 6], range(7)):
        ours, theirs = published.streams(list(documents)), expected.streams(list(documents))
        assert [stream.tolist() for stream in ours] == [stream.tolist() for stream in theirs]
