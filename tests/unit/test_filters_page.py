"""The page about filters does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seal_ir.index.builder import BuildOptions
from seal_ir.index.indexer import SealIndexer
from tests.helpers import pages, tiny
from tests.helpers.stubbed import Stubbed


def test_the_page_of_filters_runs(tmp_path: Path, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/filters.md, on an index of its name; its ids, fields and questions are made up."""
    page = Path(__file__).parents[2] / "docs" / "filters.md"
    (code,) = (block.code for block in pages.blocks(page) if block.language == "python")
    options = BuildOptions(store=("year:int", "lang"))
    with SealIndexer(tmp_path / "idx", tiny.save_tokenizer(tmp_path / "model"), options=options) as writer:
        writer.add({"id": f"d{n}", "contents": tiny.SENTENCES[n % 5], "year": 1997 + n} for n in range(8))
    monkeypatch.chdir(tmp_path)
    values: dict[str, Any] = {}
    exec(code.replace("who wrote it", "the capital of Japan").replace('"one"', '"the capital"'), values)
    assert values["recent"].n_documents == 4
    found = {hit.docid for hit in values["hits"]["q1"]}
    assert found
    assert found <= {"d4", "d5", "d6", "d7"}
