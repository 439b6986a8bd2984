"""Questions compared by their words; where they come from is tested with the commands that read them."""

from __future__ import annotations

import pytest

from seal_ir.formats.topics.questions import question_words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (" Who's\tthere_? ", "who s there"),
        ("who s THERE", "who s there"),
        ("ＷＨＯ\u2019s é", "who s é"),
        ("1,000 km²", "1 000 km2"),
        ("Straße", "straße"),
        ("...", ""),
        ("", ""),
    ],
)
def test_question_words(question: str, words: str) -> None:
    assert question_words(question) == words


def test_accents_tell_questions_apart() -> None:
    assert question_words("Über Åß") != question_words("uber As")
