"""Fusion-in-Decoder: the forward pass is each passage encoded alone, attended over one after the other."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from seal_ir.errors import InputError, ModelError
from seal_ir.lm.protocols import Tokens
from seal_ir.read.fid.attention import use_state_attention
from seal_ir.read.fid.collate import collate
from seal_ir.read.fid.description import FidDescription
from seal_ir.read.fid.fusion import FusionInDecoder, fuse
from seal_ir.read.fid.loading import Parts
from seal_ir.read.fid.reader import FidReader, load_fid_reader
from seal_ir.read.records import Context
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny_readers
from tests.helpers.tiny_readers import CONTEXTS, KINDS

QUESTIONS = ["what is the capital of france", "which river flows through London", "who", "a whale"]
WANTED = [CONTEXTS, CONTEXTS[:3], CONTEXTS[2:3], []]
NAMES = ("input_ids", "attention_mask", "keep", "lengths", "decoder_input_ids")
TARGET = (7, 3, 11, 5)
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("readers")
    return {kind: tiny_readers.save(place / kind, kind) for kind in KINDS}


def questions(seed: int = 0) -> list[list[Tokens]]:
    """Inputs of questions with several passages, some with one, of all lengths."""
    draw = random.Random(seed)
    return [
        [tuple(draw.randrange(3, 90) for _ in range(draw.randint(1, 23))) for _ in range(n)]
        for n in (5, 1, 3, 1, 8)
    ]


@torch.no_grad()
def encoded_apart(network: Any, rows: Sequence[Tokens]) -> torch.Tensor:
    """States [1, places, size] of inputs that are encoded one by one."""
    encoded = [network.get_encoder()(input_ids=torch.tensor([row])).last_hidden_state for row in rows]
    return torch.cat(encoded, dim=1)


@torch.no_grad()
def one_by_one(network: Any, rows: Sequence[Tokens], target: Tokens) -> torch.Tensor:
    """Logits [target, vocabulary] of the definition: nothing is padded, nothing is batched."""
    states = BaseModelOutput(last_hidden_state=encoded_apart(network, rows))
    output = network(encoder_outputs=states, decoder_input_ids=torch.tensor([target]), use_cache=False)
    return torch.as_tensor(output.logits[0])


def assert_equal(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


@every_kind
def test_the_forward_pass_is_that_of_passages_encoded_one_by_one(kind: str) -> None:
    network = tiny_readers.network(kind).double()
    inputs = questions()
    batch = collate(inputs, [TARGET] * len(inputs), start=(2,))
    with torch.no_grad():
        logits = FusionInDecoder(network)(**{name: batch[name] for name in NAMES}).logits
    expected = [one_by_one(network, rows, (2, *TARGET[:-1])) for rows in inputs]
    assert torch.stack(expected).std() > 0.5  # nothing is equal because all is small
    assert (expected[0] - expected[4]).abs().max() > 0.01  # passages matter
    assert_equal(logits, torch.stack(expected))
    assert_equal(logits.flatten(0, 1)[batch["predict"]], torch.cat(expected))
    assert batch["target"].tolist() == list(TARGET) * len(inputs)


@every_kind
@pytest.mark.parametrize("chunk_tokens", [1, 40, 10_000])
def test_states_are_those_of_passages_encoded_one_by_one(kind: str, chunk_tokens: int) -> None:
    network = tiny_readers.network(kind).double()
    inputs = questions(1)
    fused = fuse(network, inputs, chunk_tokens)
    longest = max(sum(map(len, rows)) for rows in inputs)
    assert tuple(fused.mask.shape) == (len(inputs), longest)
    for rows, states, mask in zip(inputs, fused.states, fused.mask, strict=True):
        n = sum(map(len, rows))
        assert mask.tolist() == [1] * n + [0] * (longest - n)
        assert_equal(states[:n], encoded_apart(network, rows)[0])


@every_kind
def test_attention_without_keys_and_values_decodes_the_same(kind: str) -> None:
    network = tiny_readers.network(kind).double()
    inputs = questions(2)
    expected = [one_by_one(network, rows, TARGET) for rows in inputs]
    assert use_state_attention(network)
    with torch.no_grad():
        output = network(**fuse(network, inputs).outputs(), decoder_input_ids=torch.tensor([TARGET] * 5))
    assert_equal(output.logits, torch.stack(expected))
    assert not use_state_attention(network)  # it is there already; nothing is put over it


def test_attention_that_computes_otherwise_stays_as_it_is() -> None:
    network = tiny_readers.network("bart")
    attention = network.model.decoder.layers[1].encoder_attn
    attention.forward_ = attention.forward
    attention.forward = lambda *args, **options: tuple(
        None if part is None else 2 * part for part in attention.forward_(*args, **options)
    )
    assert not use_state_attention(network)
    assert network.model.decoder.layers[1].encoder_attn is attention


def reader(kind: str, **options: Any) -> FidReader:
    """In double precision, where no two tokens are equally likely for want of digits."""
    network = tiny_readers.network(kind).double()
    tokenizer = TextTokenizer(tiny_readers.definition(kind))
    description = FidDescription(passage_tokens=60, answer_tokens=12)
    start, end = ((2, 0), 2) if kind == "bart" else ((0,), 1)
    return FidReader(network, Parts(tokenizer, description, start, end), **options)


@pytest.mark.slow
@every_kind
def test_answers_do_not_depend_on_chunks_batches_or_how_attention_is_computed(kind: str) -> None:
    first = reader(kind)
    inputs = [first.inputs(*pair) for pair in zip(QUESTIONS, WANTED, strict=True)]
    expected = first.write(inputs)
    assert len(set(expected)) == len(QUESTIONS)
    assert max(len(set(tokens)) for tokens in expected) > 5
    assert [first.write([rows])[0] for rows in inputs] == expected
    texts = [answer.text for answer in first.read(QUESTIONS, WANTED)]
    for options in ({"chunk_tokens": 1}, {"fused_tokens": 1}, {"keep_keys": True}, {"chunk_tokens": 100}):
        made = reader(kind, **options)
        assert made.keeps_keys == ("keep_keys" in options)
        assert made.write(inputs) == expected
        assert [answer.text for answer in made.read(QUESTIONS, WANTED)] == texts


def greedy(logits_of: Callable[[Tokens], torch.Tensor], start: Tokens, end: int) -> Tokens:
    """Token by token, everything computed anew for each."""
    written: list[int] = []
    while len(written) < 12 and (not written or written[-1] != end):
        written.append(int(logits_of((*start, *written))[-1].argmax()))
    return tuple(written[:-1] if written[-1] == end else written)


@every_kind
def test_answers_are_greedy(kind: str) -> None:
    made = reader(kind, keep_keys=True)
    rows = made.inputs(QUESTIONS[0], WANTED[0])
    expected = greedy(lambda begun: one_by_one(made.network, rows, begun), made.parts.start, made.parts.end)
    assert made.write([rows]) == [expected]


def test_inputs_are_question_title_context() -> None:
    made = reader("t5")
    decode: Callable[[Tokens], str] = made.parts.tokenizer.decode
    (row,) = made.inputs("who is here", [Context("d", "Paris", "is the capital")])
    assert row[-1] == 1  # </s>, as the tokenizer ends a text
    assert decode(row[:-1]) == "question: who is here title: Paris context: is the capital"
    (alone,) = made.inputs("who", [])
    assert decode(alone[:-1]) == "question: who"
    (cut,) = made.inputs("who", [Context("d", "Paris", "the city " * 100)])
    assert len(cut) == 60
    assert cut[-1] == 1


def test_a_question_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"question 'the the .* has 102 tokens; the reader takes 60 of a quest"
    ):
        reader("t5").read(["the " * 100], [[]])


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_folder_is_loaded_and_answers(folders: dict[str, Path], kind: str, dtype: str) -> None:
    made = load_fid_reader(str(folders[kind]), device="cpu", dtype=dtype)
    assert not made.keeps_keys
    found = made.read(QUESTIONS, WANTED)
    assert len(found) == 4
    assert all("\n" not in answer.text for answer in found)
    assert made.parts.description.passage_tokens == (128 if kind == "bart" else 250)
    assert made.parts.start == ((2, 0) if kind == "bart" else (0,))


def test_a_model_that_is_no_encoder_decoder_is_refused(llama: Path) -> None:
    with pytest.raises(ModelError, match=r"llama: LlamaForCausalLM is no encoder-decoder model, and Fusion"):
        load_fid_reader(str(llama), device="cpu")


@pytest.mark.parametrize(
    ("kind", "other", "message"),
    [
        ("t5", "bart", "the tokenizer knows ids up to 3[0-9][0-9], the model only 1[0-9][0-9] tokens"),
        (
            "bart",
            "t5",
            "its tokenizer ends a text with the token 1, the model with 2; it is the tokenizer of",
        ),
    ],
)
def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path, kind: str, other: str, message: str) -> None:
    folder = tiny_readers.save(tmp_path / "model", kind)
    (folder / "tokenizer.json").write_text(tiny_readers.definition(other), encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        load_fid_reader(str(folder), device="cpu")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("{", "not a reader's description, it cannot be read"),
        ("[]", "it is \\[\\]; it must be an object"),
        ({"passage_tokens": 0}, "passage_tokens is 0; it must be at least 1"),
        ({"answer_tokens": "5"}, "answer_tokens is '5' \\(str\\); it must be an integer"),
        ({"affixes": 1}, "affixes is 1; it must be true or false"),
        ({"cross_attention_bias": True}, "says cross_attention_bias, but model.safetensors gives no decoder"),
    ],
)
def test_a_description_that_means_nothing_is_refused(
    folders: dict[str, Path], tmp_path: Path, values: Any, message: str
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for path in folders["t5"].iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "fid.json").write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
    with pytest.raises(ModelError, match=message):
        load_fid_reader(str(folder), device="cpu")


def with_bias(seed: int = 0) -> Any:
    """A T5 as transformers before 4.0 had it: its decoder knows where in the concatenation a state lies."""
    network = tiny_readers.network("t5", seed)
    attention = network.decoder.block[0].layer[1].EncDecAttention
    attention.has_relative_attention_bias = True
    attention.relative_attention_bias = nn.Embedding(32, tiny_readers.HEADS)
    nn.init.normal_(attention.relative_attention_bias.weight, std=20)
    return network.double()


def test_the_bias_of_old_decoders_counts_padded_places() -> None:
    network, inputs = with_bias(), questions(3)[:3]
    inputs[0][0] = inputs[0][0][:2]  # packed, the next passage would be near the answer's first places

    def forward(begun: Tokens, width: int | None) -> torch.Tensor:
        batch = collate(inputs, [(*begun, 0)] * len(inputs), start=(), width=width)
        with torch.no_grad():
            return torch.as_tensor(FusionInDecoder(network)(**{name: batch[name] for name in NAMES}).logits)

    expected = [greedy(lambda begun, i=i: forward(begun, 30)[i], (0,), 1) for i in range(3)]  # type: ignore[misc]
    assert (forward(TARGET, 30) - forward(TARGET, None))[0].abs().max() > 1e-3
    description = FidDescription(passage_tokens=30, answer_tokens=12, cross_attention_bias=True)
    parts = Parts(TextTokenizer(tiny_readers.definition("t5")), description, (0,), 1)
    made = FidReader(network, parts, keep_keys=True)
    assert not made.keeps_keys
    assert made.write(inputs) == expected


def test_the_bias_comes_with_the_folder(tmp_path: Path) -> None:
    network = with_bias().float()
    network.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_readers.definition("t5"), encoding="utf-8")
    (tmp_path / "fid.json").write_text(FidDescription(cross_attention_bias=True).to_json(), encoding="utf-8")
    found = load_fid_reader(str(tmp_path), device="cpu").network.decoder.block[0].layer[1].EncDecAttention
    own = network.decoder.block[0].layer[1].EncDecAttention.relative_attention_bias.weight
    assert torch.equal(found._attention.relative_attention_bias.weight, own)
