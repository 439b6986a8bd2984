"""What docs/limits.md says of when two searches give the same bytes, on a network; real ones: tests/slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from seal_ir.lm.load import load_generator
from seal_ir.lm.protocols import Generator
from seal_ir.records import Hit, QueryKeys
from seal_ir.search.searcher import SealSearcher

QUERIES = [
    "what is the capital of Japan",
    "which river flows through London and where does it end",
    "the highest mountain",
    "where does a whale live",
    "who",
    "Paris, the Seine and the sea",
]
NEAR = 1e-4  # docs/limits.md


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


@pytest.fixture(scope="module")
def generator(llama: Path) -> Generator:
    return load_generator(str(llama), "cpu")


def searched(searcher: SealSearcher, queries: Sequence[str], threads: int = 1) -> dict[str, list[Hit]]:
    return searcher.batch_search(queries, queries, k=7, threads=threads)


@pytest.mark.slow
def test_i12_one_query_at_a_time_is_the_same_in_any_company_and_order(
    tiny_index: Path, generator: Generator
) -> None:
    searcher = SealSearcher(tiny_index, generator, preset="lm", batch_size=1)
    expected = {query: searcher.search(query, k=7) for query in QUERIES}
    for queries in (QUERIES, QUERIES[::-1], QUERIES[3:], [*QUERIES[2:], *QUERIES[:2]]):
        found = searched(searcher, queries, threads=2)
        assert found == {query: expected[query] for query in queries}  # scores to the last bit
    assert all(expected.values())


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_i12_the_same_batches_give_the_same_bytes_in_every_run(
    tiny_index: Path, llama: Path, generator: Generator, batch_size: int
) -> None:
    first = SealSearcher(tiny_index, generator, preset="lm", batch_size=batch_size)
    again = SealSearcher(tiny_index, str(llama), preset="lm", device="cpu", batch_size=batch_size)
    assert searched(first, QUERIES) == searched(again, QUERIES) == searched(again, QUERIES, threads=3)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [3, 8])
def test_i12_other_batches_differ_by_rounding_only(
    tiny_index: Path, generator: Generator, batch_size: int
) -> None:
    searcher = SealSearcher(tiny_index, generator, preset="paper")

    def decoded(size: int, queries: Sequence[str]) -> list[QueryKeys]:
        batches = [queries[at : at + size] for at in range(0, len(queries), size)]
        return [keys for batch in batches for keys in searcher.decode(batch)]

    alone = decoded(1, QUERIES)
    for other in (decoded(batch_size, QUERIES), decoded(batch_size, QUERIES[::-1])[::-1]):
        for ours, theirs in zip(alone, other, strict=True):
            ours_keys, theirs_keys = (
                {(key.kind, key.symbols): key.logprob for key in found.keys} for found in (ours, theirs)
            )
            assert theirs_keys == pytest.approx(ours_keys, rel=0, abs=NEAR)
