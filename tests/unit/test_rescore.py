"""Rescoring: a second pass of the model over keys changes what it should and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seal_ir import SealSearcher
from seal_ir.config import DecodeConfig, preset
from seal_ir.decode import rescore as rescoring
from seal_ir.decode.beam import decode
from seal_ir.decode.rescore import rescore
from seal_ir.errors import UsageError
from seal_ir.lm.protocols import Generator
from seal_ir.records import BODY, TITLE, Key, QueryKeys, Range, Unigrams
from seal_ir.search.__main__ import main
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END
from tests.helpers import stub, tiny
from tests.helpers.commands import Runner

CONFIG = DecodeConfig(beam=4, body_steps=6, title_steps=8)
NO_UNIGRAMS = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))
QUERIES = ["the capital of Japan", "which river flows through London", " ", tiny.LITERAL, "whale"]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> SealSearcher:
    directory = tmp_path_factory.mktemp("rescore") / "index"
    tiny.build(directory)
    return SealSearcher(directory, tiny.generator(), config=replace(preset("paper"), decode=CONFIG))


def random_generator(seed: int = 0) -> Generator:
    """A stub whose log-probabilities say nothing about the corpus: rounding would show."""
    tokenizer = tiny.tokenizer()
    (title_end,) = tokenizer.encode("\n")
    return stub.generator(tokenizer, stub.StubModel(tokenizer.n_vocabulary, seed), title_end)


def blanked(found: Sequence[QueryKeys]) -> list[QueryKeys]:
    """The same keys as if they came from elsewhere: without a probability worth the name."""
    return [
        QueryKeys(tuple(replace(key, logprob=-1.0) for key in item.keys), item.unigrams) for item in found
    ]


@pytest.mark.parametrize("at_once", [1, 7, 1024])
@pytest.mark.parametrize("made", [random_generator(), tiny.generator()], ids=["random", "echo"])
def test_the_beams_own_probabilities_come_back(
    monkeypatch: pytest.MonkeyPatch, searcher: SealSearcher, made: Generator, at_once: int
) -> None:
    monkeypatch.setattr(rescoring, "_KEYS_AT_ONCE", at_once)
    found = decode(made, searcher.index, QUERIES, CONFIG).queries
    again = rescore(made, QUERIES, blanked(found), CONFIG).queries
    assert {key.kind for item in found for key in item.keys} == {"body", "title", "query"}
    for before, after in zip(found, again, strict=True):
        assert [key.symbols for key in after.keys] == [key.symbols for key in before.keys]
        np.testing.assert_allclose(
            [key.logprob for key in after.keys], [key.logprob for key in before.keys], rtol=0, atol=1e-4
        )
        assert after.unigrams is before.unigrams
        assert searcher.rank(after, 10) == searcher.rank(before, 10)


@pytest.mark.parametrize("name", ["Llama", "Bloom", "Bart", "T5"])
def test_with_transformers_too(searcher: SealSearcher, name: str) -> None:
    """A tree, rows, and encoders: the same probabilities within 1e-4, and the same ranking."""
    from seal_ir.lm.load import wire
    from seal_ir.text.description import CAUSAL, SEQ2SEQ, ModelDescription
    from tests.unit import test_models_structural as structural

    n = tiny.tokenizer().n_vocabulary
    settings = structural.TREES | structural.ROWS | {"Bart": structural._BART, "T5": structural._T5}
    extra = {"decoder_start_token_id": 0} if name == "T5" else {}
    longer = {"max_position_embeddings": 512} if name in ("Llama", "Bart") else {}
    network = structural._network(name, settings[name] | {"vocab_size": n} | extra | longer)
    family = SEQ2SEQ if network.config.is_encoder_decoder else CAUSAL
    made = wire(network, tiny.tokenizer(), ModelDescription(family, "{query} words", "{query} title", "\n"))
    found = decode(made, searcher.index, QUERIES, CONFIG).queries
    again = rescore(made, QUERIES, blanked(found), CONFIG).queries
    for before, after in zip(found, again, strict=True):
        np.testing.assert_allclose(
            [key.logprob for key in after.keys], [key.logprob for key in before.keys], rtol=0, atol=1e-4
        )
        ours, theirs = (
            [item.document for item in searcher.rank(keys, 10, preset("lm-fm"))] for keys in (before, after)
        )
        assert ours == theirs


def test_keys_from_elsewhere_get_this_models_probabilities(searcher: SealSearcher) -> None:
    """Another model wrote them; each key's score is the forced one of its own prompt."""
    ours, theirs = random_generator(1), random_generator(2)
    found = decode(theirs, searcher.index, QUERIES, CONFIG).queries
    model = ours.model
    assert isinstance(model, stub.StubModel)
    for query, before, after in zip(
        QUERIES, found, rescore(ours, QUERIES, found, CONFIG).queries, strict=True
    ):
        assert len(after.keys) == len(before.keys)
        for key in after.keys:
            title = key.kind == TITLE
            prompt = stub.prompt_tokens(ours, stub.TITLE_PROMPT if title else stub.BODY_PROMPT, query)
            tokens = [
                ours.title_end if symbol == TITLE_END else symbol - FIRST_TOKEN
                for symbol in key.symbols
                if symbol != BOUNDARY
            ]
            assert key.logprob == pytest.approx(model.forced(prompt, tokens), abs=1e-4)
        if before.keys:
            assert [key.logprob for key in before.keys] != [key.logprob for key in after.keys]


def made_key(*symbols: int, kind: str = BODY) -> Key:
    return Key(symbols, -1.0, 1, (Range(1, 2),), kind)


def test_what_the_model_cannot_write_is_left_out() -> None:
    made = random_generator()
    n = tiny.tokenizer().n_vocabulary
    model = stub.StubModel(n, banned=[5])
    keys = (made_key(20, 21 + n), made_key(20), made_key(21, 22), made_key(22, 21), made_key(20 + n, 20))
    unigrams = NO_UNIGRAMS
    (after,) = rescore(replace(made, model=model), ["sea"], [QueryKeys(keys, unigrams)], CONFIG).queries
    assert [key.symbols for key in after.keys] == [(20,)]
    assert rescore(made, [], [], CONFIG) == ([], {})
    assert rescore(made, ["sea"], [QueryKeys((), unigrams)], CONFIG) == ([QueryKeys((), unigrams)], {})


def test_keys_that_are_none_are_refused() -> None:
    made = random_generator()
    unigrams = NO_UNIGRAMS
    with pytest.raises(UsageError, match="2 queries need as many lists of keys, not 1"):
        rescore(made, ["a", "b"], [QueryKeys((), unigrams)], CONFIG)
    for odd in (made_key(BOUNDARY, kind=TITLE), made_key(BOUNDARY, 20), made_key(20, BOUNDARY, 21)):
        with pytest.raises(UsageError, match="cannot be rescored"):
            rescore(made, ["a"], [QueryKeys((odd,), unigrams)], CONFIG)


def test_a_key_longer_than_any_of_decoding_still_fits_behind_its_prompt(searcher: SealSearcher) -> None:
    made = random_generator()
    model = stub.StubModel(tiny.tokenizer().n_vocabulary, max_tokens=64)
    key = made_key(*range(20, 60))
    query = "the sea " * 100
    (after,), cut = rescore(replace(made, model=model), [query], [QueryKeys((key,), NO_UNIGRAMS)], CONFIG)
    assert len(after.keys) == 1
    assert list(cut) == [0]
    assert [len(prompt) for prompt in model.prompts] == [24]


def test_the_searcher_rescores_where_its_settings_say_so(searcher: SealSearcher) -> None:
    again = SealSearcher(
        searcher.index_dir,
        tiny.generator(),
        config=replace(searcher.config, decode=replace(CONFIG, rescore=True)),
    )
    for before, after in zip(searcher.decode(QUERIES), again.decode(QUERIES), strict=True):
        assert after.keys == before.keys
    assert [again.search(query) for query in QUERIES] == [searcher.search(query) for query in QUERIES]


@pytest.mark.usefixtures("stubbed")
def test_the_command_rescores(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\tthe capital of Japan\n2\twhich river flows through London\n")
    runs = []
    for name, more in (("once", []), ("twice", ["--rescore"])):
        output = tmp_path / name
        arguments = ["--topics", topics, "--index", tiny_index, "--output", output, "--preset", "paper"]
        assert call(main, *arguments, *more).code == 0
        runs.append(output.read_bytes())
        saved = json.loads((tmp_path / f"{name}.config.json").read_text())
        assert saved["decode"]["rescore"] is bool(more)
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) > 5
