"""Words that are tokenised once: the answers are the tokenizer's, whatever the text and the tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from seal_ir.text.symbols import further_marks, packed_stream, stream, to_symbols
from seal_ir.text.tokenizer import TextTokenizer
from seal_ir.text.words import _PATTERNS, FieldEncoder, parts_at_spaces
from tests.helpers import tiny
from tests.unit.test_text_tokenizer import TEXTS

# What may go wrong where words meet: white space of all kinds, contractions, digits, marks, odd bytes.
PIECES = (
    *(" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\u200b", "\ufeff"),
    *(
        "'s",
        "'",
        "don't",
        "'ll",
        "1",
        "1953",
        "２",
        "²",
        ",",
        ").",
        "--",
        "_",
        "Paris",
        "PARIS",
        "the",
        "capital",
    ),
    *(
        "é",
        "e\u0301",
        "\u0301",
        "東京",
        "Ġ",
        "Ċ",
        "▁",
        "\x00",
        "\x14",
        "\U00040000",
        "👩‍👩‍👧",
        "\ufffd",
        "</s>",
    ),
)
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join)


def _known(change: Callable[[dict[str, Any]], None]) -> TextTokenizer:
    pieces = json.loads(tiny.definition())
    change(pieces)
    return TextTokenizer(json.dumps(pieces))


def _step(*steps: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda pieces: pieces.update(pre_tokenizer={"type": "Sequence", "pretokenizers": list(steps)})


def _byte_level(**options: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True} | options


_LLAMA = {"type": "Split", "pattern": {"Regex": _PATTERNS[0]}, "behavior": "Isolated", "invert": False}


def _without_letters(pieces: dict[str, Any]) -> None:
    """A vocabulary that lacks bytes, as SmolLM2's does."""
    lost = {"\u0114", "\u0100", "ñ", "½"}
    vocabulary = pieces["model"]["vocab"]
    pieces["model"]["vocab"] = {name: n for name, n in vocabulary.items() if not lost & set(name)}


BY_WORDS = {
    "GPT-2": lambda: tiny.tokenizer(),
    "with a space before": lambda: _known(
        lambda p: p.update(pre_tokenizer=_byte_level(add_prefix_space=True))
    ),
    "digits": lambda: _known(_step({"type": "Digits", "individual_digits": True}, _byte_level())),
    "digits together": lambda: _known(_step({"type": "Digits", "individual_digits": False}, _byte_level())),
    "Llama 3": lambda: _known(_step(_LLAMA, _byte_level(use_regex=False))),
    "lost bytes": lambda: _known(_without_letters),
}
AS_WHOLES = {
    "digits, space": lambda: _known(
        _step({"type": "Digits", "individual_digits": True}, _byte_level(add_prefix_space=True))
    ),
    "normalized": lambda: _known(lambda p: p.update(normalizer={"type": "NFC"})),
    "Llama 3, space": lambda: _known(_step(_LLAMA, _byte_level(use_regex=False, add_prefix_space=True))),
    "other pattern": lambda: _known(
        _step(_LLAMA | {"pattern": {"Regex": r"\w+ \w+|."}}, _byte_level(use_regex=False))
    ),
    "no pattern": lambda: _known(lambda p: p.update(pre_tokenizer=_byte_level(use_regex=False))),
    "other behaviour": lambda: _known(_step(_LLAMA | {"behavior": "Removed"}, _byte_level(use_regex=False))),
    "inverted": lambda: _known(_step(_LLAMA | {"invert": True}, _byte_level(use_regex=False))),
    "white space": lambda: _known(_step({"type": "WhitespaceSplit"}, _byte_level())),
    "no pre-tokenizer": lambda: _known(lambda p: p.update(pre_tokenizer=None)),
    "other decoder": lambda: _known(lambda p: p.update(decoder={"type": "Fuse"})),
    "no space": lambda: _known(lambda p: p["model"].update(vocab={"<s>": 0, "a": 1}, merges=[])),
    "Metaspace": lambda: _unigram(),
}


@cache
def _unigram() -> TextTokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    tokenizer.train_from_iterator(tiny.SENTENCES, trainer)
    return TextTokenizer(tokenizer.to_str())


@cache
def _made(name: str) -> TextTokenizer:
    return (BY_WORDS | AS_WHOLES)[name]()


def _check(encoder: FieldEncoder, tokenizer: TextTokenizer, texts: list[str]) -> None:
    ids = tokenizer.encode_fields(texts)
    back = tokenizer.decode_fields(ids)
    fields = encoder.encode(texts)
    assert [field.symbols for field in fields] == [to_symbols(own).tobytes() for own in ids]
    assert [field.exact for field in fields] == [
        decoded == text for decoded, text in zip(back, texts, strict=True)
    ]


@given(name=st.sampled_from([*BY_WORDS]), batches=st.lists(st.lists(TEXT, max_size=5), max_size=4))
def test_words_have_the_tokens_that_they_have_in_their_text(name: str, batches: list[list[str]]) -> None:
    encoder = FieldEncoder(_made(name), most_words=3)
    for batch in batches:
        _check(encoder, _made(name), batch)


@pytest.mark.parametrize("name", [*BY_WORDS, *AS_WHOLES])
def test_difficult_texts_have_the_tokens_of_the_tokenizer(name: str) -> None:
    for most_words in (0, 3, 1000):
        encoder = FieldEncoder(_made(name), most_words)
        _check(encoder, _made(name), TEXTS)
        _check(
            encoder,
            _made(name),
            [*reversed(TEXTS), *TEXTS, *(f"{a} {b}" for a in PIECES for b in ("", "1", "a"))],
        )


@pytest.mark.parametrize("name", [*BY_WORDS, *AS_WHOLES])
def test_only_tokenizers_that_are_known_to_part_at_spaces_go_by_words(name: str) -> None:
    assert parts_at_spaces(_made(name)) == (name in BY_WORDS)


def test_dropout_is_drawn_for_each_text() -> None:
    assert not parts_at_spaces(_known(lambda pieces: pieces["model"].update(dropout=0.1)))


def test_texts_that_lose_bytes_are_told() -> None:
    texts = ["a \U00040000 b", "a ñ b", "a \x14", "½"]
    assert [field.exact for field in FieldEncoder(_made("lost bytes")).encode(texts)] == [
        False,
        True,
        False,
        False,
    ]


def test_words_are_remembered_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encode = TextTokenizer.encode_fields

    def counted(self: TextTokenizer, texts: list[str]) -> list[list[int]]:
        seen.extend(" ".join(texts).split())
        return encode(self, texts)

    monkeypatch.setattr(TextTokenizer, "encode_fields", counted)
    encoder = FieldEncoder(tiny.tokenizer(), most_words=2)
    long = "a" * 100
    encoder.encode(["one two", "two one", long])
    assert sorted(seen) == [long, "one", "two"]
    encoder.encode(["one two six", long])
    encoder.encode(["two six"])
    assert sorted(seen) == [long, long, "one", "six", "six", "two"]


def test_a_stream_from_bytes_is_the_stream_of_the_ids() -> None:
    title, body, value = [5, 0], [7], [1, 2]
    packed = packed_stream(*(to_symbols(ids).tobytes() for ids in (title, body)))
    assert packed.tolist() == stream(title, body).tolist()
    further = [(further_marks(1), value)]
    packed = packed_stream(b"", b"", [(marks, to_symbols(ids).tobytes()) for marks, ids in further])
    assert packed.tolist() == stream([], [], further).tolist()
