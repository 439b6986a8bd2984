"""How many examples a property is tried on: all of them, or with `--hypothesis-profile=fast` a fifth."""

from __future__ import annotations

from hypothesis import settings


def examples(n: int) -> settings:
    """`n` examples under hypothesis's default profile of a hundred, as many fewer under a smaller profile."""
    return settings(max_examples=max(2, n * settings.default.max_examples // 100), deadline=None)
