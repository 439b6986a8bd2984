"""The lifecycle of docs/updating.md runs as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import pages, tiny
from tests.helpers.stubbed import Stubbed

PAGE = Path(__file__).parents[2] / "docs" / "updating.md"


def test_the_lifecycle_runs(tmp_path: Path, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """In ten lines, on the echo model instead of the packaged one."""
    (code,) = (block.code for block in pages.blocks(PAGE) if block.language == "python")
    assert len([line for line in code.splitlines() if line]) == 10
    monkeypatch.chdir(tmp_path)
    model = tiny.save_tokenizer(tmp_path / "model")
    assert "smollm2-135m-rank" in code
    values: dict[str, object] = {}
    # The echo model is less sure than chance in two documents: what it writes counts under "lm" only.
    code = code.replace('SealSearcher("idx")', 'SealSearcher("idx", preset="lm")')
    exec(code.replace("smollm2-135m-rank", str(model)), values)
    searcher, hits = values["searcher"], values["hits"]
    assert {hit.docid for hit in hits} == {"a", "b"}  # type: ignore[attr-defined]
    assert searcher.num_docs == 1  # type: ignore[attr-defined]
    assert searcher.doc("a").contents() == "Paris\nParis lies on the Seine."  # type: ignore[attr-defined]
    assert searcher.doc("b") is None  # type: ignore[attr-defined]
    assert len(stubbed.loaded) == 1
