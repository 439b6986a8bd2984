"""How networks of transformers take keys and values; what these hold is in test_models_structural.py."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from seal_ir.lm.kv_cache import cache_keyword


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda input_ids, past_key_values=None, cache=None: None, "cache"),
        (lambda input_ids, past_key_values=None: None, "past_key_values"),
        (lambda input_ids, cache_params=None: None, "cache_params"),  # Mamba, in transformers 5.17
    ],
)
def test_the_argument_of_the_cache_is_found_in_every_release(forward: Callable[..., None], name: str) -> None:
    assert cache_keyword(SimpleNamespace(forward=forward)) == name
