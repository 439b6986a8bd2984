"""Searchers in other processes and copies of searchers: they work, or say in a sentence why not."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from seal_ir import processes
from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.errors import IndexDirError, ModelError
from seal_ir.index.reader import Index
from seal_ir.lm.load import load_generator
from seal_ir.rank.ranker import Streams
from seal_ir.search.fusion import Fusion
from seal_ir.search.hybrid import Hybrid, Other
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

QUERIES = ["the highest mountain", "what is the capital of Japan", "where does a whale live"]
SECONDS = 120  # what hangs fails
METHODS = multiprocessing.get_all_start_methods()
# Processes that start anew take seconds to import torch: more of them are in tests/slow/test_processes.py.
SPAWN = pytest.param("spawn", marks=pytest.mark.slow)
POOLS: list[Any] = [(method, "echo") for method in METHODS if method != "spawn"]
POOLS += [pytest.param("spawn", given, marks=pytest.mark.slow) for given in ("echo", "loaded")]
POOLS += [("fork", "by name"), ("fork", "loaded")] if "fork" in METHODS else []
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    """OpenMP hangs only where it had threads to give work to."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def searcher_of(given: str, index: Path, llama: Path) -> SealSearcher:
    """A searcher whose model is the small one, by name or loaded, or the echo of tests/helpers/tiny.py."""
    if given == "echo":
        return SealSearcher(index, tiny.generator(), preset="lm")
    model = str(llama) if given == "by name" else load_generator(str(llama), "cpu")
    return SealSearcher(index, model, preset="lm", device="cpu")


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - made here


def found(searcher: SealSearcher, query: str) -> list[tuple[str, float]]:
    return [(hit.docid, round(hit.score, 3)) for hit in searcher.search(query)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "given"), POOLS)
def test_i10_a_pool_of_processes_searches_after_the_first_search(
    method: str, given: str, tiny_index: Path, llama: Path
) -> None:
    searcher = searcher_of(given, tiny_index, llama)
    expected = [searcher.search(query) for query in QUERIES]
    assert all(expected)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for hits, of in zip(pool.map_async(searcher.search, QUERIES).get(SECONDS), expected, strict=True):
            assert [hit.docid for hit in hits] == [hit.docid for hit in of]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in of], abs=1e-4)


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_i10_a_fork_goes_on_with_the_loaded_model_on_one_thread(tiny_index: Path, llama: Path) -> None:
    searcher = searcher_of("by name", tiny_index, llama)
    searcher.batch_search(QUERIES, QUERIES, threads=2)
    generator = searcher.generator
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        same = searcher.generator is generator
        results = searcher.batch_search(QUERIES, QUERIES, threads=2)
        os.write(writer, f"{same} {torch.get_num_threads()} {sum(map(len, results.values()))}".encode())
        os._exit(0)
    os.close(writer)
    timer = threading.Timer(SECONDS, os.kill, (child, 9))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    assert status == 0
    expected = sum(len(searcher.search(query)) for query in QUERIES)
    assert os.read(reader, 100).decode() == f"True 1 {expected}"
    os.close(reader)
    assert torch.get_num_threads() == 2  # of the parent


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_e7_i10_a_fork_tokenises_where_the_user_wants_tokenizers_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their pool's threads are the parent's; asking for them by name turned off the library's own care."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("RAYON_NUM_THREADS", "2")
    tokenizer, texts = tiny.tokenizer(), [" ".join(QUERIES)] * 200
    expected = tokenizer.encode_fields(texts)
    child = os.fork()
    if not child:
        os._exit(int(tokenizer.encode_fields(texts) != expected))
    timer = threading.Timer(SECONDS, os.kill, (child, 9))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    assert status == 0
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"  # of the parent


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_i10_a_lock_that_another_thread_holds_is_free_in_a_fork() -> None:
    lock = processes.OwnOfProcess(threading.Lock)
    mine = lock.get()
    assert lock.get() is mine
    with mine:
        child = os.fork()
        if not child:
            os._exit(0 if lock.get().acquire(timeout=5) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_i10_cuda_that_the_parent_has_used_is_refused_in_a_fork(
    tiny_index: Path, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = SimpleNamespace(cuda=SimpleNamespace(_is_in_bad_fork=lambda: True))
    for device in (None, "cuda", "cuda:1"):
        searcher = SealSearcher(tiny_index, str(llama), device=device)
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "torch", broken)
            with pytest.raises(ModelError, match="spawn or forkserver, or give device='cpu'$"):
                searcher.search(QUERIES[0])
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    assert SealSearcher(tiny_index, str(llama), device="cpu", preset="lm").search(QUERIES[0])


@pytest.mark.slow
@pytest.mark.parametrize("given", ["by name", "loaded", "echo"])
@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, pickled])
def test_i10_a_copied_searcher_searches(given: str, copied, tiny_index: Path, llama: Path) -> None:
    fresh = searcher_of(given, tiny_index, llama)
    before = copied(fresh)  # no model was needed yet
    expected = found(fresh, QUERIES[0])
    after = copied(fresh)
    assert found(before, QUERIES[0]) == found(after, QUERIES[0]) == expected
    assert after.config == fresh.config
    assert after.doc("d1") == fresh.doc("d1")
    fresh.close()
    assert found(after, QUERIES[0]) == expected


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_i10_a_copied_index_encoder_and_cache_work(
    copied, tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_index.parent)
    index = Index(tiny_index.name, check="bytes")
    streams = Streams(index)
    encoder = SealQueryEncoder(tiny_index.name, tiny.generator(), preset="paper")
    expected = encoder.encode(QUERIES[0])
    monkeypatch.chdir(tmp_path)  # a relative path still leads there
    again = copied(index)
    assert again.documents(range(index.n_documents)) == tiny.DOCUMENTS
    assert again.manifest == index.manifest
    assert len(list(copied(streams).read(index.everything[0][:1]))) == 1
    assert copied(encoder).encode(QUERIES[0]) == expected


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_i10_what_searchers_hand_out_and_a_hybrid_can_be_copied(copied, tiny_index: Path) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator(), preset="paper")
    decoded = searcher.decode_counted([QUERIES[0]])
    ranked = searcher.rank(copied(decoded).queries[0], 3)
    assert ranked
    hits = searcher.hits(ranked)
    again = copied(ranked)
    assert [list(item.matched) for item in again] == [list(item.matched) for item in ranked]
    assert searcher.hits(again) == copied(hits) == hits
    assert copied(searcher.decode_counted([""])).cut == {}
    hybrid = Hybrid([Other({"q": [("d1", 2.0)]}, False, {"run": "x"})], Fusion(), 3)
    assert copied(hybrid).rankings("q", [hits]) == hybrid.rankings("q", [hits])
    assert copied(hybrid).description() == hybrid.description()


def test_i10_an_index_that_was_rebuilt_since_it_was_pickled_is_refused(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index")
    before = pickle.dumps(Index(tmp_path / "index"))
    tiny.build(tmp_path / "index", tiny.DOCUMENTS[:3])
    with pytest.raises(IndexDirError, match="has been rebuilt since .* open it anew"):
        pickle.loads(before)  # noqa: S301 - made here


def test_i10_a_loaded_model_that_cannot_be_pickled_is_named(tiny_index: Path) -> None:
    generator = tiny.generator()
    generator.model.lock = threading.Lock()  # type: ignore[attr-defined]
    searcher = SealSearcher(tiny_index, generator, preset="lm")
    with pytest.raises(ModelError, match=r"the model cannot \(.*lock.*give the model's folder or name"):
        pickle.dumps(searcher)
    assert found(copy.deepcopy(searcher), QUERIES[0]) == found(searcher, QUERIES[0])


class Searches(Dataset):
    """Items are the best documents of queries."""

    def __init__(self, searcher: SealSearcher) -> None:
        self.searcher = searcher

    def __len__(self) -> int:
        return len(QUERIES)

    def __getitem__(self, at: int) -> str:
        return self.searcher.search(QUERIES[at])[0].docid


@pytest.mark.parametrize("method", [SPAWN, *(["fork"] if "fork" in METHODS else [])])
def test_i10_a_dataloader_worker_searches(method: str, tiny_index: Path, llama: Path) -> None:
    searcher = searcher_of("by name", tiny_index, llama)
    expected = [searcher.search(query)[0].docid for query in QUERIES]
    loader = DataLoader(
        Searches(searcher), batch_size=None, num_workers=1, timeout=SECONDS, multiprocessing_context=method
    )
    assert list(loader) == expected
