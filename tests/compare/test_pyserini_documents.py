"""Pyserini's own classes read our documents, and fail at an empty side of a fusion as our page says."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.formats.io.jsonlines import parse_object
from seal_ir.records import Document
from tests.helpers import tiny

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]
ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from seal_ir import SealSearcher
from seal_ir.pyserini_plugin import start_java
from tests.helpers import tiny

start_java()
from pyserini.fusion import FusionMethod
from pyserini.index.lucene import Document
from pyserini.search.lucene import LuceneFusionSearcher

searcher = SealSearcher(sys.argv[1], tiny.generator(), preset="paper")
(hit,) = searcher.search("Paris in France", k=1)
theirs = Document(hit.lucene_document)
found = [theirs.docid(), theirs.id(), theirs.raw(), theirs.contents(), theirs.get("url")]
found.append(theirs.lucene_document().get("url"))
found.append(json.loads(hit.lucene_document.get("raw"))["contents"])  # as its server and its PRF do

class Empty:
    def search(self, q, k, query_generator, strip_segment_id, remove_dups):
        return []

fusion = LuceneFusionSearcher([], FusionMethod.RRF)
try:
    fusion.searchers = [searcher, Empty()]
    fusion.search("Paris in France", k=1)
except ValueError as error:
    found.append(str(error)[:15])
fusion.searchers = [searcher, searcher]
found.append([hit.docid for hit in fusion.search("Paris in France", k=1)])
print(json.dumps(found))
"""


def test_i18_pyserini_s_own_document_reads_a_hit_s(tmp_path: Path) -> None:
    record = {"id": "d1", "contents": "Paris\nin France", "url": "http://paris.example/"}
    line = json.dumps(record)
    assert parse_object(line) == record
    documents = [Document("d1", "Paris", "in France", line), Document("d2", "", "in England", "{}")]
    tiny.build(tmp_path / "index", documents, store_raw=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "index"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [
        "d1",
        "d1",
        line,
        record["contents"],
        record["url"],
        record["url"],
        record["contents"],
        "Length mismatch",
        ["d1"],
    ]
