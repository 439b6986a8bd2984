"""`python -m seal_ir.train convert`: what fairseq computes, the converted model computes, token by token."""

from __future__ import annotations

import os
import random
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, BartConfig, BartForConditionalGeneration
from transformers.utils import logging as theirs

from seal_ir.convert.fairseq_vocabulary import read_vocabulary, rows_by_dictionary, rows_in_order
from seal_ir.lm.load import load_generator
from seal_ir.search.__main__ import main as search
from seal_ir.text.description import SEQ2SEQ, read_description
from seal_ir.text.tokenizer import TextTokenizer
from seal_ir.train.__main__ import main
from tests.helpers import fairseq_bart, tiny
from tests.helpers.commands import Runner

SOURCE, TARGET = [0, 40, 31, 299, 17, 17, 2], [2, 52, 7, 310, 40]
BART_TOKENIZER = Path(os.environ.get("SEAL_IR_DATA", ".")).parent / "models" / "bart-tokenizer"
Convert = Callable[..., Path]


@pytest.fixture
def convert(call: Runner, tmp_path: Path) -> Convert:
    """Runs the command on a checkpoint; the converted folder."""

    def run(checkpoint: Path, *options: object) -> Path:
        tokenizer = fairseq_bart.save_tokenizer(tmp_path / "tokenizer")
        output = tmp_path / f"made-{checkpoint.stem}"
        result = call(
            main,
            "convert",
            "--checkpoint",
            checkpoint,
            "--tokenizer",
            tokenizer,
            "--output",
            output,
            *options,
        )
        assert result.code == 0, result.err
        assert result.out == f"{output}\n"
        return output

    return run


@torch.no_grad()
def logits(folder: Path, source: list[int], target: list[int]) -> torch.Tensor:
    network: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float64).eval()
    output = network(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
    return torch.as_tensor(output.logits[0])


def by_hand(state: fairseq_bart.State, args: Namespace) -> torch.Tensor:
    expected = fairseq_bart.forward(state, args, SOURCE, TARGET)
    assert expected.std() > 0.5  # nothing is equal because all is small
    return expected


def assert_equal(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"no_scale_embedding": False},
        {"activation_fn": "relu"},
        {"activation_fn": "gelu_accurate"},
        {"encoder_attention_heads": 2, "decoder_attention_heads": 8},
    ],
)
def test_logits_are_those_of_a_forward_pass_by_hand(
    convert: Convert, tmp_path: Path, changes: dict[str, Any]
) -> None:
    state, args = fairseq_bart.random_state(fairseq_bart.n_tokens()), fairseq_bart.arguments(**changes)
    folder = convert(fairseq_bart.save(tmp_path / "model.pt", state, args))
    assert_equal(logits(folder, SOURCE, TARGET), by_hand(state, args))


def test_the_forward_pass_by_hand_feels_every_tensor() -> None:
    """Or the tests that compare with it would not."""
    state, args = fairseq_bart.random_state(fairseq_bart.n_tokens()), fairseq_bart.arguments()
    expected = by_hand(state, args)
    for name in state:
        if name.endswith(("version", "k_proj.bias")):  # the same for all keys: softmax takes it out
            continue
        noise = 0.3 * torch.randn(state[name].shape, generator=torch.Generator().manual_seed(1))
        changed = fairseq_bart.forward(state | {name: state[name] + noise}, args, SOURCE, TARGET)
        assert not torch.allclose(changed, expected, atol=1e-3), name


def test_logits_of_a_transformers_model_laid_out_as_fairseq_has_it(convert: Convert, tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 2)
    sizes |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), fairseq_bart.INNER)
    sizes |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), fairseq_bart.HEADS)
    config = BartConfig(
        vocab_size=fairseq_bart.n_tokens(), d_model=16, max_position_embeddings=64, init_std=0.5, **sizes
    )
    ours: Any = BartForConditionalGeneration(config).eval()
    state = {
        name: value.clone() for name, value in ours.model.state_dict().items() if name != "shared.weight"
    }
    state["decoder.output_projection.weight"] = state["decoder.embed_tokens.weight"]
    args = fairseq_bart.arguments(encoder_layers=2, decoder_layers=2)
    ours.save_pretrained(tmp_path / "original")
    folder = convert(fairseq_bart.save(tmp_path / "model.pt", state, args))
    assert_equal(logits(folder, SOURCE, TARGET), logits(tmp_path / "original", SOURCE, TARGET))


def in_cfg(args: Namespace) -> dict[str, Any]:
    return {"args": None, "cfg": {"_name": None, "common": {"seed": 1}, "model": args}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["cfg", "cfg of values", "old file", "half", "joined", "no output", "extras"]
)
def test_the_forms_a_checkpoint_comes_in(convert: Convert, tmp_path: Path, form: str) -> None:
    state, args = fairseq_bart.random_state(fairseq_bart.n_tokens()), fairseq_bart.arguments()
    path, kept = tmp_path / "model.pt", dict(state)
    if form == "half":
        kept = state = {name: value.half() for name, value in state.items()}
    if form == "no output":
        del kept["decoder.output_projection.weight"]
    if form == "extras":
        kept["encoder.embed_positions._float_tensor"] = torch.zeros(1)
        kept["classification_heads.mnli.dense.weight"] = torch.zeros(3, 3)
    if form == "joined":  # as the first BART keeps queries, keys and values
        for name in [name for name in kept if "q_proj" in name]:
            parts = [kept.pop(name.replace("q_proj", f"{letter}_proj")) for letter in "qkv"]
            kept[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
    if form.startswith("cfg"):
        settings = in_cfg(vars(args) if form == "cfg of values" else args)  # type: ignore[arg-type]
        fairseq_bart.save(path, kept, **settings)
    elif form == "old file":
        content = {"args": args, "model": kept}
        torch.save(content, path, _use_new_zipfile_serialization=False)
    else:
        fairseq_bart.save(path, kept, args)
    assert_equal(logits(convert(path), SOURCE, TARGET), by_hand(state, args))


def dictionary(path: Path, more: tuple[str, ...] = ()) -> list[str]:
    """Writes a dict.txt in an order of its own; the names of all rows, <mask> left out."""
    numbers = fairseq_bart.gpt2_numbers()
    names = random.Random(5).sample([*numbers, *more], len(numbers) + len(more))
    lines = [f"{numbers.get(name, name)} {1000 - i}\n" for i, name in enumerate(names)]
    path.write_text("".join(lines), encoding="utf-8")
    return [*fairseq_bart.SPECIAL, *names]


@pytest.mark.parametrize("padding", [(), ("madeupword0000", "madeupword0001")])
@pytest.mark.parametrize("mask", [True, False])
def test_rows_are_told_apart_by_the_dictionary(
    convert: Convert, tmp_path: Path, padding: tuple[str, ...], *, mask: bool
) -> None:
    rows = dictionary(tmp_path / "dict.txt", padding) + ["<mask>"] * mask
    state, args = fairseq_bart.random_state(len(rows)), fairseq_bart.arguments()
    path = fairseq_bart.save(tmp_path / "model.pt", state, args)
    folder = convert(path, "--dict", tmp_path / "dict.txt")
    ids = read_vocabulary(fairseq_bart.definition()).ids
    row_of = {name: row for row, name in enumerate(rows)}
    names = {number: name for name, number in ids.items()}
    source, target = ([row_of[names[token]] for token in tokens] for tokens in (SOURCE, TARGET))
    found, expected = logits(folder, SOURCE, TARGET), fairseq_bart.forward(state, args, source, target)
    for name, row in row_of.items():
        number = ids.get(name, len(ids) + (padding.index(name) if name in padding else 0))
        if name in padding:  # behind the tokenizer's ids, in the dictionary's order
            number = len(ids) + sorted(padding, key=row_of.__getitem__).index(name)
        assert_equal(found[:, number], expected[:, row])
    # All probabilities too: what the checkpoint has no row for gets none.
    probabilities = found.softmax(-1)
    assert_equal(probabilities[:, ids["."]], expected.softmax(-1)[:, row_of["."]])
    assert bool((probabilities[:, ids["<mask>"]] > 0).all()) == mask
    assert found.shape[1] == len(ids) + len(padding)


def test_a_checkpoint_without_a_mask_needs_no_dictionary(convert: Convert, tmp_path: Path) -> None:
    n = fairseq_bart.n_tokens()
    state, args = fairseq_bart.random_state(n - 1), fairseq_bart.arguments()
    folder = convert(fairseq_bart.save(tmp_path / "model.pt", state, args))
    found, expected = logits(folder, SOURCE, TARGET), by_hand(state, args)
    assert found.shape[1] == n
    assert_equal(found[:, : n - 1], expected)
    assert_equal(found.log_softmax(-1)[:, : n - 1], expected.log_softmax(-1))
    assert not found.softmax(-1)[:, n - 1].any()


def test_converting_shows_no_bars_of_transformers(call: Runner, tmp_path: Path) -> None:
    theirs.enable_progress_bar()
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(fairseq_bart.n_tokens()))
    tokenizer = fairseq_bart.save_tokenizer(tmp_path / "tokenizer")
    folders = ("--checkpoint", path, "--tokenizer", tokenizer, "--output", tmp_path / "made")
    result = call(main, "convert", *folders)
    assert (result.code, result.out) == (0, f"{tmp_path / 'made'}\n"), result.err
    assert re.fullmatch(r"[0-9,]+ parameters\n", result.err)
    assert theirs.is_progress_bar_enabled()


def test_the_folder_is_all_that_search_needs(convert: Convert, call: Runner, tmp_path: Path) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(fairseq_bart.n_tokens()))
    folder = convert(path)
    names = {entry.name for entry in folder.iterdir()}
    assert names == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "seal.json",
    }
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o755, *[0o644] * 5]
    description = read_description(folder / "seal.json")
    assert description.family == SEQ2SEQ
    assert (description.body, description.title) == ("{query} || body || +", "{query} || title || +")
    assert (description.title_end, description.start) == (" @@", ("</s>",))
    generator = load_generator(str(folder), "cpu")
    assert generator.model.start_tokens == [2]
    assert generator.tokenizer.decode([generator.title_end]) == " @@"
    assert generator.tokenizer.affixes == ([0], [2])
    tiny.build(tmp_path / "index", text_tokenizer=TextTokenizer(fairseq_bart.definition()))
    (tmp_path / "topics.tsv").write_text("q1\twhat is the capital of France\n", encoding="utf-8")
    result = call(
        search, "--topics", tmp_path / "topics.tsv", "--index", tmp_path / "index", "--model", folder,
        "--device", "cpu", "--preset", "lm", "--output", tmp_path / "run.trec",
    )  # fmt: skip
    assert result.code == 0, result.err
    lines = (tmp_path / "run.trec").read_text(encoding="utf-8").splitlines()
    assert {line.split()[2] for line in lines} <= {document.id for document in tiny.DOCUMENTS}
    assert lines


@pytest.mark.data
@pytest.mark.skipif(not BART_TOKENIZER.is_dir(), reason="needs the BART tokenizer beside SEAL_IR_DATA")
def test_the_real_tokenizer_is_numbered_as_fairseq_numbers_bart_large(tmp_path: Path) -> None:
    """Published facts: BART's dict.txt opens with 13, 262, 11, 284, 290, 286; "Hello world" is 15496 995."""
    vocabulary = read_vocabulary((BART_TOKENIZER / "tokenizer.json").read_text(encoding="utf-8"))
    names = {number: name for name, number in vocabulary.ids.items()}
    assert [vocabulary.gpt2[n] for n in (13, 262, 11, 284, 290, 286)] == [names[4 + i] for i in range(6)]
    assert [vocabulary.gpt2[n] for n in (0, 198, 220, 15496, 995)] == ["!", "Ċ", "Ġ", "Hello", "Ġworld"]
    assert (len(vocabulary.gpt2), vocabulary.gpt2[50256]) == (50257, "<|endoftext|>")
    numbers = {name: str(number) for number, name in enumerate(vocabulary.gpt2)}
    lines = [f"{numbers.get(names[i], names[i])} 1" for i in range(4, 50264)]
    (tmp_path / "dict.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines[-3:] == [f"madeupword000{i} 1" for i in range(3)]
    for n_rows, end in ((50264, [-1]), (50265, [50264])):
        expected = [*range(50264), *end]
        assert rows_by_dictionary(vocabulary, n_rows, tmp_path / "dict.txt") == expected
        assert rows_in_order(vocabulary, n_rows, tmp_path / "model.pt") == expected
    assert "Ġ@@" in vocabulary.ids
