"""Numbers that mean nothing are refused, as settings and as options; options become settings."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import dataclass

import pytest

from seal_ir.arguments import check_least
from seal_ir.command import check_options, settings_of
from seal_ir.errors import UsageError


@dataclass(frozen=True, slots=True)
class Counted:
    hits: int = 3
    share: float = 0.5


def test_the_first_setting_below_its_least_is_named() -> None:
    check_least(Counted(hits=1, share=0.0), hits=1, share=0.0)
    with pytest.raises(UsageError, match=r"^share is -1; it must be at least 0\.0$"):
        check_least(Counted(hits=0, share=-1), share=0.0, hits=1)
    with pytest.raises(UsageError, match=r"^share is nan; it must be at least 0\.0$"):
        check_least(Counted(share=math.nan), share=0.0)
    for value, seen in ((2.5, r"2\.5 \(float\)"), (True, r"True \(bool\)"), ("3", r"'3' \(str\)")):
        with pytest.raises(UsageError, match=f"^hits is {seen}; it must be an integer$"):
            check_least(Counted(hits=value), hits=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^share is '3' \(str\); it must be a number$"):
        check_least(Counted(share="3"), share=0.0)  # type: ignore[arg-type]


def test_options_are_named_as_they_are_spelled() -> None:
    check_options(Namespace(batch_size=1, dev_steps=None), batch_size=1, dev_steps=1)
    with pytest.raises(UsageError, match=r"^--batch-size is 0; it must be at least 1$"):
        check_options(Namespace(batch_size=0), batch_size=1)


def test_settings_of_options() -> None:
    assert settings_of(Namespace(hits=7, output="x"), Counted) == Counted(hits=7)
