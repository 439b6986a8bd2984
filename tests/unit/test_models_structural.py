"""Sessions on tiny random transformers give the log-probabilities of plain forward passes, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from seal_ir.config import DecodeConfig
from seal_ir.decode.beam import decode
from seal_ir.errors import ModelError
from seal_ir.lm import kv_cache as tree
from seal_ir.lm.causal import CausalModel
from seal_ir.lm.choose import causal_model, seq2seq_model
from seal_ir.lm.load import wire
from seal_ir.lm.protocols import LanguageModel, Prompt
from seal_ir.lm.rows import RowsModel
from seal_ir.lm.seq2seq import Seq2SeqModel, TreeSeq2SeqModel
from seal_ir.text.description import CAUSAL, SEQ2SEQ, ModelDescription
from tests.helpers import oracle
from tests.helpers.streams import SCAN, StreamIndex
from tests.helpers.stub import word_tokenizer

VOCABULARY = 50
_LLAMA = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
}
_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 64}
_BART = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY}
_MAMBA = {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": VOCABULARY, "state_size": 8}
_RWKV = {"hidden_size": 32, "attention_hidden_size": 32, "num_hidden_layers": 2, "vocab_size": VOCABULARY}
TREES = {
    "Llama": _LLAMA,
    "Qwen2": _LLAMA,
    "GPT2": _GPT2,
    "Gemma2": _LLAMA | {"head_dim": 8, "sliding_window": 512},
}
ROWS = {
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY},
    "Mistral": _LLAMA | {"sliding_window": 4},
    "Mamba": _MAMBA,
}


def _network(name: str, settings: dict[str, Any], seed: int = 0) -> Any:
    """A random model whose attention matters: its weights are large."""
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(**settings)
    auto = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    network = auto.from_config(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.3)
    return network


@pytest.fixture(scope="module")
def networks() -> Callable[[str], Any]:
    settings = TREES | ROWS | {"Bart": _BART, "T5": _T5}
    known: dict[str, Any] = {}

    def network(name: str) -> Any:
        if name not in known:
            known[name] = _network(name, settings[name])
        return known[name]

    return network


Plain = Callable[[Sequence[int], Sequence[int]], np.ndarray]


@torch.inference_mode()
def _causal(network: Any, prompt: Sequence[int], written: Sequence[int]) -> np.ndarray:
    logits = network(input_ids=torch.tensor([[*prompt, *written]])).logits[0, -1]
    return torch.log_softmax(logits.float(), -1).numpy()


@torch.inference_mode()
def _seq2seq(network: Any, start: Sequence[int], prompt: Sequence[int], written: Sequence[int]) -> np.ndarray:
    output = network(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[*start, *written]]))
    return torch.log_softmax(output.logits[0, -1].float(), -1).numpy()


PROMPTS = [(3, 4, 5, 6, 7, 8, 9, 10), (3, 4, 11), (3, 4, 5, 20, 21), (12,)]
# Rows to continue in each step: branching, reordering, dropping rows and whole prompts (early retirement).
STEPS = [
    [0, 0, 1, 2, 2, 2, 3],
    [6, 1, 0, 3, 3, 5],
    [0, 1, 2, 2, 4],
    [0, 0, 1],
    [2, 1],
    [1, 1, 1, 1],
    [2],
]
LAST_ENDS_FIRST = [[0, 1, 2, 3], [0, 0, 1, 2], [3, 1, 0], [1, 1]]
# Of n rows, n + i is new row i of the same step: chains, branches, and rows behind both that go on.
NESTED = [[0, 1, 4, 6, 2, 8, 3, 4], [0, 3, 2, 9, 5, 12], [5, 3, 1, 0, 9], [4, 2, 5], [2, 0], [1, 2, 3, 4]]


def _check(
    model: LanguageModel,
    plain: Plain,
    shared: Sequence[int] = (0, 0, 0, 0),
    tolerance: float = 1e-5,
    steps: list[list[int]] = STEPS,
) -> None:
    session = model.start([Prompt(tokens, n) for tokens, n in zip(PROMPTS, shared, strict=True)])
    rows: list[tuple[Sequence[int], tuple[int, ...]]] = [(prompt, ()) for prompt in PROMPTS]
    rng = np.random.default_rng(0)
    for step in [*steps, None]:
        assert session.following.n_vocabulary == VOCABULARY
        logprobs = session.following.whole(np.arange(len(rows)))
        assert logprobs.dtype == np.float32
        expected = np.stack([plain(prompt, written) for prompt, written in rows])
        np.testing.assert_allclose(logprobs, expected, rtol=0, atol=tolerance)
        if step is not None:
            tokens = rng.integers(0, VOCABULARY, len(step))
            session.advance(np.array(step), tokens)
            known = list(rows)
            for row, token in zip(step, tokens.tolist(), strict=True):
                known.append((known[row][0], (*known[row][1], token)))
            rows = known[len(rows) :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "shared", [(0, 0, 0, 0), (2, 2, 2, 0), (5, 2, 3, 0)], ids=["none", "shared", "mixed"]
)
@pytest.mark.parametrize("name", sorted(TREES))
def test_a_tree_gives_the_logprobs_of_plain_forward_passes(
    networks, name: str, shared: tuple[int, ...]
) -> None:
    network = networks(name)
    _check(CausalModel(network), lambda prompt, written: _causal(network, prompt, written), shared)


@pytest.mark.parametrize("name", ["Bart", *sorted(TREES)])
def test_places_that_no_row_sees_any_more_are_used_again(
    networks, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "_MANY", 1)
    network = networks(name)
    if name == "Bart":
        _check(TreeSeq2SeqModel(network, [2]), lambda *row: _seq2seq(network, [2], *row))
    else:
        _check(CausalModel(network), lambda *row: _causal(network, *row), (5, 2, 3, 0))


def test_the_last_prompt_of_a_tree_may_end_first(networks) -> None:
    network = networks("Llama")
    _check(CausalModel(network), lambda *row: _causal(network, *row), steps=LAST_ENDS_FIRST)


@pytest.mark.parametrize("name", sorted(TREES))
@pytest.mark.parametrize("many", [1, 32])
def test_rows_of_a_tree_may_continue_others_of_the_same_step(
    networks, name: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "_MANY", many)
    network = networks(name)
    model = CausalModel(network)
    assert model.start([Prompt((1,))]).nested
    _check(model, lambda *row: _causal(network, *row), (2, 2, 3, 0), steps=NESTED)


@pytest.mark.parametrize("name", sorted(ROWS | TREES))
def test_rows_give_the_logprobs_of_plain_forward_passes(networks, name: str) -> None:
    network = networks(name)
    _check(RowsModel(network), lambda prompt, written: _causal(network, prompt, written))


@pytest.mark.parametrize("start", [[2], [2, 0]], ids=["start", "start and forced token"])
@pytest.mark.parametrize("steps", [STEPS, LAST_ENDS_FIRST], ids=["many", "last ends first"])
def test_f4_trees_of_seq2seq_give_the_logprobs_of_plain_forward_passes(
    networks, start: list[int], steps: list[list[int]]
) -> None:
    network = networks("Bart")
    _check(
        TreeSeq2SeqModel(network, start),
        lambda prompt, written: _seq2seq(network, start, prompt, written),
        steps=steps,
    )


def test_f4_beams_share_what_was_computed_of_the_source(networks) -> None:
    """The encoder, and the keys and values that the decoder sees of it, run over each prompt once."""
    network, rows = networks("Bart"), {"encoder": 0, "source": 0}

    def counted(name: str) -> Callable[..., None]:
        def count(module: object, given: tuple[torch.Tensor, ...], made: object) -> None:
            rows[name] += given[0].shape[:-1].numel() if given else 1

        return count

    attention = network.model.decoder.layers[0].encoder_attn
    hooks = [
        network.model.encoder.layers[0].fc1.register_forward_hook(counted("encoder")),
        attention.k_proj.register_forward_hook(counted("source")),
    ]
    try:
        session = TreeSeq2SeqModel(network, [2]).start([Prompt(tokens) for tokens in PROMPTS])
        once = dict(rows)
        for n_before, n_each in ((4, 15), (60, 2), (120, 1)):  # rows, and how many each is continued by
            session.advance(np.arange(n_before).repeat(n_each), np.full(n_before * n_each, 5))
        assert session.following.whole(np.arange(3)).shape == (3, VOCABULARY)
    finally:
        for hook in hooks:
            hook.remove()
    assert once["encoder"] > 0
    assert once["source"] > 0
    assert rows == once


@pytest.mark.parametrize("start", [[2], [2, 0]], ids=["start", "start and forced token"])
@pytest.mark.parametrize("name", ["Bart", "T5"])
def test_seq2seq_gives_the_logprobs_of_plain_forward_passes(networks, name: str, start: list[int]) -> None:
    network = networks(name)
    _check(Seq2SeqModel(network, start), lambda prompt, written: _seq2seq(network, start, prompt, written))


@pytest.mark.parametrize("name", sorted(TREES))
def test_a_tree_is_chosen_where_attention_is_full(networks, name: str) -> None:
    assert isinstance(causal_model(networks(name)), CausalModel)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_rows_are_chosen_where_a_tree_would_be_wrong(networks, name: str) -> None:
    assert isinstance(causal_model(networks(name)), RowsModel)


@pytest.mark.parametrize(("name", "kind"), [("Bart", TreeSeq2SeqModel), ("T5", Seq2SeqModel)])
def test_trees_of_seq2seq_are_chosen_where_they_are_right(networks, name: str, kind: type) -> None:
    """T5's attention adds a bias by place, which a tree does not know of; its own attention is left to it."""
    network = networks(name)
    before = network.config._attn_implementation
    assert type(seq2seq_model(network, [2])) is kind
    if name == "T5":
        assert network.config._attn_implementation == before


def test_a_prompt_never_outgrows_the_window_of_a_tree(networks) -> None:
    assert causal_model(networks("Gemma2")).max_tokens == 512
    assert causal_model(networks("GPT2")).max_tokens == 64
    assert causal_model(networks("Bloom")).max_tokens == 1 << 20


@pytest.mark.parametrize(("name", "settings"), [("Rwkv", _RWKV), ("Bart", _BART)])
def test_a_network_that_cannot_be_used_is_told(name: str, settings: dict[str, Any]) -> None:
    """RWKV has no cache to reorder; Bart's decoder alone takes positions from the place in the cache."""
    config = getattr(transformers, f"{name}Config")(**settings)
    network = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.5)
    with pytest.raises(ModelError, match="cannot be used for constrained decoding"):
        causal_model(network)


@pytest.mark.parametrize("name", ["Llama", "Bloom", "Bart", "T5"])
def test_c5_logprobs_do_not_depend_on_the_rest_of_the_batch(networks, name: str) -> None:
    network = networks(name)
    model = seq2seq_model(network, [2]) if name in ("Bart", "T5") else causal_model(network)
    together = model.start([Prompt(tokens) for tokens in PROMPTS])
    alone = [model.start([Prompt(tokens)]) for tokens in PROMPTS]
    for _ in range(3):
        expected = np.concatenate([session.following.whole(np.arange(1)) for session in alone])
        np.testing.assert_allclose(together.following.whole(np.arange(4)), expected, rtol=0, atol=1e-5)
        together.advance(np.arange(4), np.array([5, 6, 7, 8]))
        for session, token in zip(alone, (5, 6, 7, 8), strict=True):
            session.advance(np.array([0]), np.array([token]))


@pytest.mark.parametrize("name", ["Llama", "GPT2", "Bloom", "Bart", "T5"])
def test_c4_half_precision_is_finite_and_close(name: str) -> None:
    settings = (TREES | ROWS | {"Bart": _BART, "T5": _T5})[name]
    network = _network(name, settings).to(torch.bfloat16)
    if name in ("Bart", "T5"):
        _check(seq2seq_model(network, [2]), lambda *row: _seq2seq(network, [2], *row), tolerance=0.7)
    else:
        _check(causal_model(network), lambda *row: _causal(network, *row), tolerance=0.7)


TOKENIZER = word_tokenizer([f"w{i}" for i in range(VOCABULARY - 1)])
STREAMS = [
    [1, 20, 2, 21, 22, 21, 22, 21, 22, 23],  # O-C2: a b a b a b c
    [1, 24, 25, 2, 26, 27, 28, 29, 30, 31, 32, 33, 34],
    [1, 24, 2],
]
CONFIG = DecodeConfig(beam=3, body_steps=8, title_steps=4)


def _decoded(network: Any, queries: Sequence[str], start: tuple[str, ...] = ()) -> list[Any]:
    family = SEQ2SEQ if network.config.is_encoder_decoder else CAUSAL
    made = wire(network, TOKENIZER, ModelDescription(family, "{query} w1", "{query} w2", "w3", start))
    return decode(made, StreamIndex(STREAMS, tokenizer=TOKENIZER, engine=SCAN), queries, CONFIG).queries


def test_c1_c2_the_configs_ideas_about_generation_change_nothing() -> None:
    """The same weights and start tokens, with and without generation settings that fight the constraint."""
    settings = {
        "forced_bos_token_id": 7,
        "forced_eos_token_id": 2,
        "no_repeat_ngram_size": 3,
        "min_length": 30,
        "num_beams": 4,
        "length_penalty": -1.0,
        "early_stopping": True,
        "bad_words_ids": [[5]],
        "suppress_tokens": [6],
    }
    plain, fighting = (_network("Bart", _BART) for _ in range(2))
    for name, value in settings.items():
        setattr(fighting.generation_config, name, value)
        if name.startswith("forced"):
            setattr(fighting.config, name, value)
    ours, theirs = (_decoded(network, ["w4 w5", "w6"], start=("w2", "w0")) for network in (plain, fighting))
    assert [found.keys for found in ours] == [found.keys for found in theirs]
    longest = max((key.symbols for found in ours for key in found.keys), key=len)
    assert len(longest) == 7
    for found in ours:
        assert all(oracle.count(STREAMS, key.symbols) == key.count >= 1 for key in found.keys)
        assert all(np.isfinite(key.logprob) for key in found.keys)
        assert (21, 22, 21, 22, 21, 22, 23) in {key.symbols for key in found.keys}


def test_c11_start_and_forced_tokens_are_the_models_own_unless_described() -> None:
    network = _network("Bart", _BART | {"decoder_start_token_id": 2})
    description = ModelDescription(SEQ2SEQ, "{query}", "{query}", "w3")
    made = wire(network, TOKENIZER, description).model
    assert isinstance(made, Seq2SeqModel)
    forced = network.generation_config.forced_bos_token_id
    assert made.start_tokens == [2] + ([forced] if forced is not None else [])
    network.generation_config.forced_bos_token_id = 9
    assert wire(network, TOKENIZER, description).model.start_tokens == [2, 9]
    described = ModelDescription(SEQ2SEQ, "{query}", "{query}", "w3", ("w5",))
    assert wire(network, TOKENIZER, described).model.start_tokens == [5]


@pytest.mark.parametrize("name", ["Llama", "Bloom", "T5"])
def test_c5_keys_do_not_depend_on_batch_and_order(networks, name: str) -> None:
    network = networks(name)
    if name == "T5":
        network.config.decoder_start_token_id = 0
    queries = ["w4 w5 w6 w7 w8 w9", "w10", "w21 w22", "w40 w41 w42"]
    together = _decoded(network, queries)
    backwards = _decoded(network, queries[::-1])[::-1]
    alone = [_decoded(network, [query])[0] for query in queries]
    for found in (backwards, alone):
        for ours, theirs in zip(together, found, strict=True):
            ours_keys, theirs_keys = (
                {(key.kind, key.symbols): key.logprob for key in part.keys} for part in (ours, theirs)
            )
            assert theirs_keys == pytest.approx(ours_keys, abs=1e-4)
    assert {key.kind for found in together for key in found.keys} == {"body", "title", "query"}


def test_a20_the_last_position_of_a_position_table_is_used_and_none_beyond(networks) -> None:
    network = networks("GPT2")
    description = ModelDescription(CAUSAL, "{query} w1", "{query} w2", "w3")
    made = wire(network, TOKENIZER, description)
    index = StreamIndex([[1, 20, 2, *range(21, 60)]], tokenizer=TOKENIZER, engine=SCAN)
    config = DecodeConfig(beam=2, body_steps=20, title_steps=2)
    for n in (30, 43, 44, 45, 3000):
        query = " ".join(f"w{5 + i % 40}" for i in range(n))
        decoded = decode(made, index, [query], config)
        assert decoded.cut == ({0: 64 - 20 - 1} if n + 1 > 64 - 20 else {})
        assert decoded.queries[0].keys
