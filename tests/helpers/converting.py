"""The converting command on checkpoints that it must refuse."""

from __future__ import annotations

from pathlib import Path

from seal_ir.train.__main__ import main
from tests.helpers import fairseq_bart
from tests.helpers.commands import Result, Runner, assert_fault


class Refused:
    """Runs the command, which must fail in one line with these parts and leave no folder, whole or half."""

    def __init__(self, call: Runner, place: Path) -> None:
        self._call, self._place = call, place

    def __call__(
        self, checkpoint: Path, *parts: str, code: int = 1, options: tuple[object, ...] = ()
    ) -> Result:
        tokenizer = fairseq_bart.save_tokenizer(self._place / "tokenizer")
        output = self._place / "out" / "made"
        common = ("--checkpoint", checkpoint, "--tokenizer", tokenizer, "--output", output)
        result = self._call(main, "convert", *common, *options)
        assert_fault(result, code, *parts)
        assert not output.parent.exists() or not list(output.parent.iterdir())
        return result
