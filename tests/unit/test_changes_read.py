"""Other processes read while one writes: every answer is that of some commit, and none is an error.

Two seconds by default; SEAL_IR_READ_SECONDS says how many.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seal_ir.index.indexer import SealIndexer
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.commands import ROOT

SECONDS = float(os.environ.get("SEAL_IR_READ_SECONDS", "2"))
# Opens the index over and over, and searches it by a searcher that is refreshed; ends when stdin does.
READER = """
import select, sys
from seal_ir.index.reader import Index
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

directory, n = sys.argv[1], 0
seen = set()
searcher = SealSearcher(directory, tiny.generator())
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0] or not n:
    index = Index(directory)
    texts = {d.id: d.text for d in index.documents(range(index.n_documents))}
    assert texts["v1"] == texts["v2"], texts
    word = index.tokenizer.encode_fields([texts["v1"]])[0]
    assert sum(hi - lo for lo, hi in index.find([token + 16 for token in word])) >= 2
    searcher.refresh()
    hits = searcher.search("the capital of the city", k=50)
    found = {hit.docid: hit.contents for hit in hits}
    assert found.get("v1", found.get("v2")) == found.get("v2", found.get("v1")), found
    seen.add(texts["v1"])
    n += 1
print(n, len(seen), flush=True)
"""


@pytest.mark.slow
def test_readers_in_processes_beside_a_writer(tmp_path: Path) -> None:
    directory = tmp_path / "index"

    def versions(number: int) -> list[Document]:
        return [Document(name, "", f"the capital of the city {number}") for name in ("v1", "v2")]

    with SealIndexer(directory, tiny.tokenizer()) as writer:
        writer.add([*tiny.DOCUMENTS, *versions(0)])
    command = [sys.executable, "-c", READER, str(directory)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    readers = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(2)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n", reader.communicate()
    n_commits, end = 0, time.monotonic() + SECONDS
    with SealIndexer(directory) as writer:
        while time.monotonic() < end:
            n_commits += 1
            writer.update(versions(n_commits))
            writer.commit()
            if n_commits % 20 == 0:
                writer.merge()
    assert n_commits > 3
    for reader in readers:
        out, err = reader.communicate("\n")
        assert reader.returncode == 0, err
        n_read, n_seen = map(int, out.split())
        assert n_read >= n_seen > 1
