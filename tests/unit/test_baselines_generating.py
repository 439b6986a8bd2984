"""Free writing in batches: against one token at a time, without a cache, a batch or padding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.baselines.generating import Writer, Writing, line_ends, load_writer, write
from seal_ir.decode.prompts import make_prompt
from seal_ir.errors import ModelError, UsageError
from tests.helpers import tiny
from tests.helpers.training import save_bart

QUERIES = ["whale", "which river flows through London", "the capital of Japan is the largest city", ""]
PENALTIES = {"repetition_penalty": 1.8, "no_repeat_ngram_size": 2, "num_beams": 3, "min_length": 9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers")
    for name, save in (("llama", tiny.save_llama), ("bart", save_bart)):
        save(folder / name)
        path = folder / name / "generation_config.json"
        settings = json.loads(path.read_text("utf-8"))
        settings |= PENALTIES | ({"forced_bos_token_id": 0} if name == "bart" else {})  # as hubs have them
        path.write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["llama", "bart"])
def writer(request: pytest.FixtureRequest, folder: Path) -> Writer:
    writer = load_writer(str(folder / request.param), device="cpu")
    torch.manual_seed(1)
    with torch.no_grad():
        for weights in writer.network.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.3)  # so that it says more than one thing
    return writer


def prompts_of(writer: Writer) -> list[tuple[int, ...]]:
    template = writer.generator.description.body
    return [make_prompt(writer.generator, template, query, 20).prompt.tokens for query in QUERIES]


@torch.inference_mode()
def logprobs(writer: Writer, prompt: tuple[int, ...], written: list[int]) -> Any:
    """What the model says of the next token, from the whole text at once."""
    network = writer.network
    if not network.config.is_encoder_decoder:
        logits = network(input_ids=torch.tensor([[*prompt, *written]])).logits
    else:  # the tiny BART begins with its start token and a forced beginning of sequence
        target = torch.tensor([[2, 0, *written]])
        logits = network(input_ids=torch.tensor([prompt]), decoder_input_ids=target).logits
    return torch.log_softmax(logits[0, -1], dim=-1)


def greedy(writer: Writer, prompt: tuple[int, ...], n_tokens: int, ends: set[int]) -> tuple[list[int], bool]:
    written: list[int] = []
    while len(written) < n_tokens:
        best = int(logprobs(writer, prompt, written).argmax())
        if best in ends:
            return written, True
        written.append(best)
    return written, False


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3, 10])
def test_the_best_token_at_each_step(writer: Writer, batch_size: int) -> None:
    prompts = prompts_of(writer)
    free = [greedy(writer, prompt, 12, set(writer.ends)) for prompt in prompts]
    ends = tuple(set(free[0][0]) - set(free[2][0]))  # so that some texts end and others go on
    expected = [greedy(writer, prompt, 12, {*writer.ends, *ends}) for prompt in prompts]
    assert {finished for _, finished in expected} == {True, False}
    found = write(writer, prompts, Writing(12, ends), batch_size)
    assert [[(list(text.tokens), text.finished) for text in texts] for texts in found] == [
        [one] for one in expected
    ]


def beam_search(writer: Writer, prompt: tuple[int, ...], n_tokens: int, beams: int) -> list[tuple[int, ...]]:
    hypotheses: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for _ in range(n_tokens):
        longer = [
            (total + float(logprob), (*tokens, token))
            for total, tokens in hypotheses
            for token, logprob in enumerate(logprobs(writer, prompt, list(tokens)))
        ]
        hypotheses = sorted(longer, reverse=True)[:beams]
    return [tokens for _, tokens in hypotheses]


def test_beams(writer: Writer) -> None:
    prompts = prompts_of(writer)
    found = write(writer, prompts, Writing(5, beams=3), 3)
    for prompt, texts in zip(prompts, found, strict=True):
        assert not any(text.finished for text in texts)  # else the search of this test is another one
        assert [text.tokens for text in texts] == beam_search(writer, prompt, 5, 3)


def test_beams_that_end(writer: Writer) -> None:
    prompts = prompts_of(writer)[:1]
    ends = tuple({text.tokens[2] for text in write(writer, prompts, Writing(5, beams=3), 3)[0]})
    (texts,) = write(writer, prompts, Writing(5, ends, beams=3), 3)
    assert any(text.finished for text in texts)
    assert not any(set(text.tokens) & {*ends, writer.padding} for text in texts)


def test_what_the_description_starts_with(folder: Path) -> None:
    described = {"family": "seq2seq", "body": "{query} || b", "title": "{query} || t", "title_end": "</s>"}
    path = folder / "bart" / "seal.json"
    plain = load_writer(str(folder / "bart"), device="cpu")
    path.write_text(json.dumps(described | {"start": ["</s>", "<s>"]}), encoding="utf-8")
    try:
        started = load_writer(str(folder / "bart"), device="cpu")
    finally:
        path.unlink()
    # The same start as the model's own, in words.
    assert started.start == plain.start == (2, 0)
    prompts = prompts_of(plain)
    assert write(started, prompts, Writing(8), 4) == write(plain, prompts, Writing(8), 4)


def test_line_ends(folder: Path) -> None:
    writer = load_writer(str(folder / "llama"), device="cpu")
    tokens = line_ends(writer)
    assert set(writer.generator.tokenizer.encode("\n")) <= set(tokens)
    assert all("\n" in writer.generator.tokenizer.decode([token]) for token in tokens)


def test_faults(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        load_writer(str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="dtype is 'int3'"):
        load_writer(str(folder / "llama"), dtype="int3")
    path = folder / "llama" / "seal.json"
    kept = path.read_text("utf-8")
    path.write_text(kept.replace('"causal"', '"seq2seq"'), encoding="utf-8")
    try:
        with pytest.raises(ModelError, match="seal.json says seq2seq, the model is causal"):
            load_writer(str(folder / "llama"))
    finally:
        path.write_text(kept, encoding="utf-8")
