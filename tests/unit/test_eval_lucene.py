"""Passages for answer matching from a Lucene index; with the real one in tests/compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.eval import __main__ as command


def test_a_lucene_index_is_known_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lucene = tmp_path / "lucene"
    lucene.mkdir()
    (lucene / "segments_1").touch()
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 2.0 t\n", encoding="utf-8")
    (tmp_path / "topics.tsv").write_text("q1\twho\n", encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text('{"qid": "q1", "answers": ["Rossini"]}\n', encoding="utf-8")
    asked: list[Path] = []

    def texts(directory: Path):
        asked.append(directory)
        return lambda docids: dict.fromkeys(docids, "composed by Rossini")

    monkeypatch.setattr("seal_ir.eval.texts.lucene_texts", texts)
    arguments = ["--run", "run.trec", "--topics", "topics.tsv", "--answers", "answers.jsonl"]
    monkeypatch.chdir(tmp_path)
    assert command.main([*arguments, "--index", "lucene", "--measures", "AnswerAccuracy@1"]) == 0
    assert asked == [Path("lucene")]
    assert "1.0000" in capsys.readouterr().out
