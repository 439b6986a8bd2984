"""Checkpoints, dictionaries and tokenizers that do not make a BART: one line, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.train.__main__ import main
from tests.helpers import fairseq_bart, tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.converting import Refused

ROWS = fairseq_bart.n_tokens()


@pytest.fixture
def refused(call: Runner, tmp_path: Path) -> Refused:
    return Refused(call, tmp_path)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"encoder.layers.1.fc1.bias": None}, ["lacks the tensor encoder.layers.1.fc1.bias;"]),
        ({"encoder.embed_tokens.weight": None}, ["lacks the tensor encoder.embed_tokens.weight;"]),
        (
            {"decoder.layernorm_embedding.weight": None, "decoder.layernorm_embedding.bias": None},
            ["lacks the tensor decoder.layernorm_embedding.weight and 1 more"],
        ),
        (
            {"encoder.layer_norm.weight": (16,)},
            ["has the tensor encoder.layer_norm.weight, which BART has not"],
        ),
        ({"encoder.layers.2.fc1.bias": (24,)}, ["has the tensor encoder.layers.2.fc1.bias"]),
        ({"encoder.layers.0.self_attn.in_proj_bias": (48,)}, ["has the tensor", "in_proj_bias"]),
        ({"encoder.layers.0.fc1.weight": (16, 24)}, ["fc1.weight is [16, 24]", "must be [24, 16]"]),
        ({"decoder.embed_positions.weight": (64, 16)}, ["embed_positions.weight is [64, 16]", "[66, 16]"]),
        ({"encoder.embed_tokens.weight": ()}, ["encoder.embed_tokens.weight is []"]),
        ({"encoder.embed_tokens.weight": (ROWS, 8)}, ["embed_tokens.weight is [", ", 8]", ", 16]"]),
        ({"decoder.embed_tokens.weight": (ROWS + 1, 16)}, ["decoder.embed_tokens.weight is"]),
        (
            {"decoder.output_projection.weight": (ROWS, 16)},
            ["decoder.output_projection.weight is not", "one"],
        ),
        ({"decoder.embed_tokens.weight": (ROWS, 16)}, ["decoder.embed_tokens.weight is not"]),
    ],
)
def test_tensors_that_do_not_make_a_bart(
    refused: Refused, tmp_path: Path, change: dict[str, tuple[int, ...] | None], parts: list[str]
) -> None:
    state = fairseq_bart.random_state(ROWS)
    for name, shape in change.items():
        if shape is None:
            del state[name]
        else:
            state[name] = torch.ones(shape)
    refused(fairseq_bart.save(tmp_path / "model.pt", state), "model.pt: ", *parts)


def test_values_that_are_no_finite_numbers(refused: Refused, tmp_path: Path) -> None:
    state = fairseq_bart.random_state(ROWS)
    for bad in (
        torch.full((24,), torch.nan),
        torch.full((24,), torch.inf),
        torch.ones(24, dtype=torch.int64),
    ):
        path = fairseq_bart.save(tmp_path / "model.pt", state | {"encoder.layers.0.fc1.bias": bad})
        refused(path, "encoder.layers.0.fc1.bias is torch.", "no finite numbers")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"encoder_normalize_before": True}, "encoder_normalize_before is True; in BART it is False"),
        ({"decoder_learned_pos": False}, "decoder_learned_pos is False; in BART it is True"),
        ({"adaptive_softmax_cutoff": [10, 20]}, "adaptive_softmax_cutoff is [10, 20]; in BART it is False"),
        ({"activation_fn": "swish"}, "activation_fn is 'swish'; it must be one of gelu"),
        ({"no_scale_embedding": None}, "no_scale_embedding is None; it must be True or False"),
        ({"encoder_attention_heads": 3}, "encoder_attention_heads is 3, which does not divide 16"),
        ({"encoder_attention_heads": "4"}, "encoder_attention_heads is '4'; it must be a positive number"),
        ({"encoder_layers": 0}, "encoder_layers is 0; it must be a positive number"),
        ({"decoder_layers": True}, "decoder_layers is True; it must be a positive number"),
        ({"decoder_layers": 4}, "lacks the tensor decoder.layers.3.self_attn.k_proj.weight and 25 more"),
        ({"decoder_layers": 2}, "has the tensor decoder.layers.2."),
        ({"max_target_positions": 32}, "max_source_positions is 64 and max_target_positions 32"),
        ({"decoder_embed_dim": 8}, "encoder_embed_dim is 16 and decoder_embed_dim 8"),
    ],
)
def test_settings_that_make_another_network(
    refused: Refused, tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    args = fairseq_bart.arguments(**changes)
    refused(fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(ROWS), args), told)


@pytest.mark.parametrize("name", ["encoder_attention_heads", "activation_fn", "no_scale_embedding"])
def test_settings_that_are_missing(refused: Refused, tmp_path: Path, name: str) -> None:
    args = fairseq_bart.arguments()
    delattr(args, name)
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(ROWS), args)
    refused(path, f"model.pt: its settings have no {name}")


def test_an_output_that_is_there_or_cannot_be_made(refused: Refused, call: Runner, tmp_path: Path) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(ROWS))
    tokenizer = fairseq_bart.save_tokenizer(tmp_path / "tokenizer")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    common = ("convert", "--checkpoint", path, "--tokenizer", tokenizer, "--output")
    before = sorted(tmp_path.iterdir())
    for name in ("folder", "file", "link"):
        result = call(main, *common, tmp_path / name)
        assert_fault(result, 2, f"{name}: exists already; give another --output, or remove it")
    assert_fault(call(main, *common, tmp_path / "file" / "below"), 2, "cannot be written (", "choose another")
    assert sorted(tmp_path.iterdir()) == before
    assert not list((tmp_path / "folder").iterdir())


def test_a_full_disk_leaves_nothing(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(ROWS))

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail, raising=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fairseq_bart, "save_tokenizer", lambda folder: folder)
        (tmp_path / "tokenizer").mkdir()
        (tmp_path / "tokenizer" / "tokenizer.json").write_bytes(fairseq_bart.definition().encode())
        refused(path, "made: cannot be written (No space left on device)", code=2)


def test_a_tokenizer_that_is_not_the_checkpoints(call: Runner, refused: Refused, tmp_path: Path) -> None:
    state = fairseq_bart.random_state(ROWS)
    path = fairseq_bart.save(tmp_path / "model.pt", state)
    other = tiny.save_tokenizer(tmp_path / "other")
    refused(path, "other: its tokenizer splits ' @@' into", options=("--tokenizer", other))
    refused(path, "./none", "no such model folder", options=("--tokenizer", "./none"))
    fewer = fairseq_bart.save(tmp_path / "fewer.pt", fairseq_bart.random_state(ROWS - 2))
    refused(fewer, f"has {ROWS - 2} rows, the tokenizer {ROWS} tokens; give", "--dict")
    (other / "tokenizer.json").write_text(fairseq_bart.definition().replace("<unk>", "<odd>"))
    refused(path, "fairseq's token 3 is <unk>, which is absent in", options=("--tokenizer", other))


@pytest.mark.parametrize(
    ("edit", "parts"),
    [
        (lambda lines: [*lines, "nonsense"], ["dict.txt:{next}: expected a token, a space and its count"]),
        (lambda lines: [*lines, "a b c"], ["dict.txt:{next}: expected a token"]),
        (lambda lines: [*lines, lines[3]], ["dict.txt:{next}: '", "comes twice, see line 4"]),
        (lambda lines: [*lines, "<pad> 1"], ["dict.txt:{next}: '<pad>' comes twice, see the four"]),
        (lambda lines: [*lines, "60000 1"], ["dict.txt:{next}: ", "none is number 60000"]),
        (
            lambda lines: lines[:-2],
            ["dict.txt: makes", "tokens with the 4", "the checkpoint has {rows} rows"],
        ),
        (lambda lines: [*lines[:-1], "Unheard 1"], ["the tokenizer lacks 'Unheard' of it"]),
        (lambda lines: [*lines[:-1], "madeupword0000 1"], ["dict.txt: lacks the tokenizer's '"]),
    ],
)
def test_a_dictionary_that_is_not_the_checkpoints(
    refused: Refused, tmp_path: Path, edit: Callable[[list[str]], list[str]], parts: list[str]
) -> None:
    lines = [f"{number} 1" for number in fairseq_bart.gpt2_numbers().values()]
    (tmp_path / "dict.txt").write_text("\n".join(edit(lines)) + "\n")
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(4 + len(lines)))
    known = {"next": str(len(lines) + 1), "rows": str(4 + len(lines))}
    parts = [part.format(**known) for part in parts]
    refused(path, *parts, options=("--dict", tmp_path / "dict.txt"))


def test_a_dictionary_that_is_no_file(refused: Refused, tmp_path: Path) -> None:
    path = fairseq_bart.save(tmp_path / "model.pt", fairseq_bart.random_state(ROWS))
    refused(path, "dict.txt", options=("--dict", tmp_path / "dict.txt"))
    (tmp_path / "dict.txt").write_bytes(b"13 1\n\xff 1\n")
    refused(path, "dict.txt:2: not UTF-8", options=("--dict", tmp_path / "dict.txt"))
