"""A searcher sees a commit when it is refreshed, and searches that are under way what they began with."""

from __future__ import annotations

import gc
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path

import pytest

from seal_ir.errors import ArgumentError, IndexDirError, InputError
from seal_ir.index.indexer import SealIndexer
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.stubbed import Stubbed

QUERY = "what is the capital of Japan"


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


def ids(searcher: SealSearcher) -> list[str]:
    return [hit.docid for hit in searcher.search(QUERY, k=20)]


def test_refreshing_sees_commits_and_keeps_the_loaded_model(directory: Path, stubbed: Stubbed) -> None:
    with SealSearcher(directory, "tiny") as searcher:
        first = ids(searcher)
        assert not searcher.refresh()
        with SealIndexer(directory) as writer:
            writer.delete(["d4"])
            writer.update([{"id": "d1", "title": "Tokyo", "text": tiny.SENTENCES[3]}])
            writer.commit()
            assert ids(searcher) == first
            assert searcher.doc("d4") is not None
            assert searcher.refresh()
            assert ids(searcher)[0] == "d1"
            assert "d4" not in ids(searcher)
            assert searcher.doc("d4") is None
            assert searcher.num_docs == 6
            writer.delete(["d1"])
        assert searcher.refresh()
        assert "d1" not in ids(searcher)
        assert len(stubbed.loaded) == 1
        fresh = SealSearcher(directory, tiny.generator())
        assert searcher.search(QUERY) == fresh.search(QUERY)


def test_what_cannot_be_refreshed_leaves_the_searcher_as_it_was(directory: Path, tmp_path: Path) -> None:
    searcher = SealSearcher(directory, tiny.generator())
    first = ids(searcher)
    other = tiny.TextTokenizer(tiny.byte_level(["some other text"], tiny.SPECIAL, 300).to_str())
    tiny.build(directory, text_tokenizer=other)
    with pytest.raises(
        IndexDirError, match="rebuilt with another tokenizer, that of 'tiny'; open a new searcher"
    ):
        searcher.refresh()
    shutil.rmtree(directory)
    with pytest.raises(IndexDirError, match="no such index directory"):
        searcher.refresh()
    assert ids(searcher) == first


def test_a_search_ends_with_the_index_that_it_began_with(directory: Path, stubbed: Stubbed) -> None:
    """The index is changed and refreshed between decoding and ranking."""
    searcher = SealSearcher(directory, "tiny", batch_size=1)
    expected = searcher.batch_search([QUERY] * 3, ["a", "b", "c"])

    def change(batch: int) -> None:
        if batch == 4:
            with SealIndexer(directory) as writer:
                writer.delete(["d1", "d4"])
            assert searcher.refresh()

    stubbed.before_batch = change
    assert searcher.batch_search([QUERY] * 3, ["a", "b", "c"]) == expected
    assert "d4" not in ids(searcher)


@pytest.mark.slow
def test_readers_in_threads_beside_a_writer(directory: Path) -> None:
    """Every answer is that of some commit: both documents that are updated together, or none."""
    searcher = SealSearcher(directory, tiny.generator())
    done = threading.Event()

    def read() -> int:
        n = 0
        while not done.is_set() or not n:
            searcher.refresh()
            hits = searcher.search(QUERY, k=20)
            versions = {
                hit.contents.split()[-1] for hit in hits if hit.docid in ("v1", "v2") and hit.contents
            }
            assert len(versions) <= 1, versions
            n += 1
        return n

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        with SealIndexer(directory) as writer:
            for version in range(12):
                texts = [Document(name, "Tokyo", f"the capital of Japan {version}") for name in ("v1", "v2")]
                writer.add(texts, duplicates="last")
                writer.commit()
        done.set()
        assert all(reader.result() for reader in readers)


@pytest.mark.slow
def test_documents_to_hits_in_one_step() -> None:
    records = [{"id": d.id, "title": d.title, "text": d.text} for d in tiny.DOCUMENTS]
    searcher = SealSearcher.from_documents(records, tiny.generator(), preset="lm")
    folder = Path(searcher.index_dir).parent
    assert searcher.num_docs == len(records)
    assert "d4" in ids(searcher)
    assert searcher.config.preset == "lm"
    with SealIndexer(searcher.index_dir) as writer:
        writer.add(['{"id": "e", "contents": "Japan"}'])
    assert searcher.refresh()
    assert searcher.doc("e") is not None
    child = os.fork()
    if not child:
        del searcher
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.is_dir()
    index = copy(searcher.index)  # opened again
    assert index.number("e") == len(records)
    del searcher
    gc.collect()
    assert not folder.exists()


def _broken() -> Iterator[Document]:
    yield tiny.DOCUMENTS[0]
    raise KeyError("theirs")


@pytest.mark.parametrize(
    ("docs", "error", "told"),
    [
        ([], ArgumentError, "docs holds no document; give at least one"),
        ([tiny.DOCUMENTS[0]] * 2, InputError, "'d1' is there already"),
        (["x"], ArgumentError, r"docs\[0\]: not JSON"),
        (_broken(), KeyError, "theirs"),
    ],
)
def test_no_folder_stays_of_documents_that_make_no_index(
    docs: object, error: type[Exception], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(error, match=told):
        SealSearcher.from_documents(docs, tiny.generator())  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
