"""Every requirement has a test that is named after it, or a sentence that says why not."""

from __future__ import annotations

import pytest

from tests.helpers.requirements import PAGE, entries, explained, labelled, written

LABELS = entries(PAGE.read_text(encoding="utf-8"))
TESTS, EXPLAINED = labelled(LABELS), explained()
SECTIONS = {"A": 22, "B": 17, "C": 14, "D": 14, "E": 9, "F": 7, "I": 20, "J": 9}


def test_the_page_lists_every_entry_once() -> None:
    assert [f"{section}{i}" for section, n in SECTIONS.items() for i in range(1, n + 1)] == LABELS


@pytest.mark.parametrize("label", LABELS)
def test_an_entry_has_a_test_or_a_sentence_in_limits(label: str) -> None:
    assert TESTS[label] or label in EXPLAINED


def test_the_sentences_in_limits_are_of_entries() -> None:
    assert set(LABELS) >= EXPLAINED


def test_machines_of_hypothesis_carry_labels_too() -> None:
    assert "property/test_changing_index.py: `TestD8D9ChangingIndex`" in TESTS["D8"]


def test_the_page_is_what_the_program_writes() -> None:
    """If not: `python -m tests.helpers.requirements`."""
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page
