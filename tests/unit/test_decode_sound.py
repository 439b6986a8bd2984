"""A model whose probabilities are no numbers is told of, with query and step, and never searched with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seal_ir.arrays import Floats
from seal_ir.config import PRESETS, DecodeConfig, SearchConfig, preset
from seal_ir.errors import ModelError
from seal_ir.lm.load import load_generator
from seal_ir.lm.next_tokens import DeviceTokens, HostTokens, Sound, next_tokens
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.tiny import EchoModel

GOOD, BAD = "the capital of Japan", "where does a whale live"


class Broken(EchoModel):
    """Gives no numbers after so many tokens of one query's body or title prompt."""

    def __init__(self, kind: str, n_written: int, value: float = np.nan) -> None:
        super().__init__(tiny.tokenizer().n_vocabulary, max_tokens=512)
        self.broken = tuple(tiny.tokenizer().encode(f"{BAD} {kind}"))
        self.n_written, self.value = n_written, value

    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> Floats:
        logprobs = super().following(prompt, written)
        ours = prompt[-len(self.broken) :] == self.broken
        return np.full_like(logprobs, self.value) if ours and len(written) == self.n_written else logprobs


def searcher(directory: Path, model: EchoModel, config: SearchConfig) -> SealSearcher:
    return SealSearcher(directory, replace(tiny.generator(), model=model), config=config)


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("unigrams", [0, 10])
@pytest.mark.parametrize(
    ("kind", "n_written"), [("body", 0), ("body", 1), ("body", 4), ("title", 0), ("title", 1)]
)
def test_j8_not_a_number_while_searching_names_query_and_step(
    tiny_index: Path, kind: str, n_written: int, unigrams: int, constrained: bool
) -> None:
    config = SearchConfig(decode=DecodeConfig(beam=4, unigrams=unigrams, constrained=constrained))
    broken = searcher(tiny_index, Broken(kind, n_written), config)
    told = f"^query '{BAD}': token {n_written + 1} of its {kind} keys: .* not numbers .*float32"
    for ask in (
        lambda: broken.batch_search([GOOD, BAD, GOOD], ["1", "2", "3"]),
        lambda: broken.search(BAD),
        lambda: broken.decode([BAD, GOOD]),
    ):
        with pytest.raises(ModelError, match=told):
            ask()
    whole = searcher(tiny_index, EchoModel(tiny.tokenizer().n_vocabulary, max_tokens=512), config)
    assert broken.decode([GOOD])[0].keys == whole.decode([GOOD])[0].keys  # other queries are as they were


@pytest.mark.parametrize("n_written", [0, 2])
def test_j8_not_a_number_in_the_query_s_own_ngrams(tiny_index: Path, n_written: int) -> None:
    """Beams of one step have ended; the n-grams of the query go on and are no numbers."""
    config = SearchConfig(decode=DecodeConfig(beam=2, body_steps=1, title_steps=0, unigrams=0))
    with pytest.raises(ModelError, match=f"token {n_written + 1} of its body keys"):
        searcher(tiny_index, Broken("body", n_written), config).search(BAD)


@pytest.mark.parametrize("n_written", [0, 1])
def test_j8_not_a_number_while_rescoring(tiny_index: Path, n_written: int) -> None:
    keys = SealSearcher(tiny_index, tiny.generator()).decode([GOOD, BAD])
    broken = searcher(tiny_index, Broken("body", n_written), preset("intersective"))
    with pytest.raises(ModelError, match=f"^query '{BAD}': token {n_written + 1} of its given keys"):
        broken.rescore([GOOD, BAD], keys)


@pytest.mark.parametrize(("kind", "n_written"), [("body", 0), ("body", 2), ("title", 1)])
def test_j8_not_a_number_on_the_slow_path(tiny_index: Path, kind: str, n_written: int) -> None:
    broken = searcher(tiny_index, Broken(kind, n_written), PRESETS["published"])
    with pytest.raises(ModelError, match=f"^query '{BAD}': token {n_written + 1} of its {kind} keys"):
        broken.decode([GOOD, BAD])


def test_j8_what_is_impossible_is_a_number(tiny_index: Path) -> None:
    """A model that forbids every token from some step on has shorter keys, and no fault."""
    config = SearchConfig(decode=DecodeConfig(beam=4))
    (found,) = searcher(tiny_index, Broken("body", 2, -np.inf), config).decode([BAD])
    assert max(len(key.symbols) for key in found.keys if key.kind == "body") == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [DeviceTokens, next_tokens])
def test_j8_one_bad_logit_shows_wherever_its_row_is_read(
    kind: Callable[[torch.Tensor], Any], value: float
) -> None:
    logits = torch.randn(3, 40).half()
    logits[1, 7] = value
    following = Sound(kind(logits), lambda row: f"row {row}")
    nothing, one = np.empty(0, np.int64), np.array([1])
    for read in (
        lambda: following.read(one, np.array([3]), nothing, 1),
        lambda: following.read(nothing, nothing, np.array([0, 1, 2]), 2),
        lambda: following.whole(np.arange(3)),
    ):
        with pytest.raises(ModelError, match="^row 1: "):
            read()
    assert np.isfinite(following.read(np.array([0, 2]), np.array([7, 7]), np.array([2]), 40).logprobs).all()


def test_j8_a_network_that_breaks_after_it_was_loaded(tiny_index: Path, llama: Path) -> None:
    generator = load_generator(str(llama), "cpu")
    network: Any = generator.model._network  # type: ignore[attr-defined]
    with torch.no_grad():
        network.model.norm.weight[0] = torch.nan
    with pytest.raises(ModelError, match=f"^query '{GOOD}': token 1 of its body keys"):
        SealSearcher(tiny_index, generator).search(GOOD)


def test_j8_half_precision_that_overflows_is_named_when_the_model_is_loaded(
    tmp_path: Path, tiny_index: Path
) -> None:
    from transformers import LlamaForCausalLM

    folder = tiny.save_llama(tmp_path / "llama")
    network = LlamaForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        network.lm_head.weight *= 6e4 / network.lm_head.weight.abs().max()
    network.save_pretrained(folder)
    assert SealSearcher(tiny_index, str(folder), device="cpu").search(GOOD) is not None
    with pytest.raises(ModelError, match="that are no numbers in float16: .*load it in float32"):
        SealSearcher(tiny_index, str(folder), device="cpu", dtype="float16").search(GOOD)


def test_sound_numbers_are_passed_on() -> None:
    logprobs = np.log(np.full((2, 4), 0.25, np.float32))
    plain = HostTokens(lambda rows: logprobs[rows], 4)
    following = Sound(plain, str)
    rows, tokens = np.array([0, 1]), np.array([2, 3])
    ours, theirs = (reader.read(rows, tokens, rows, 2) for reader in (following, plain))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert following.n_vocabulary == 4
