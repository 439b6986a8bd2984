"""Text to ids and back: nothing that a document says is special, nothing is cleaned up, nothing is lost."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from seal_ir.errors import ModelError
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END, split_stream, stream, to_symbols, to_tokens
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny

TEXTS = [
    "",
    " ",
    "  two spaces before, two after  ",
    "line one\nline two\r\n\n\tindented",
    "\n",
    "Zürich “quoted” 東京 Привет \u0301e\u0301 ﬁ \u00a0\u2028\ufeff",
    "👩‍👩‍👧‍👦 🇨🇭 \x00\x01\x7f",
    "if x != y , then it 's n't 're . Hello , world !",
    tiny.LITERAL,
    "<s></s><pad><mask><|endoftext|>[CLS] || title @@",
    "\\u0041 Ġ Ċ ▁ ## </w>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_c8_text_comes_back_verbatim(text: str) -> None:
    ids = tiny.tokenizer().encode_fields([text])[0]
    assert tiny.tokenizer().decode_field(ids) == text
    assert tiny.tokenizer().decode_fields([ids, ids]) == [text, text]
    assert tiny.tokenizer().decode(tiny.tokenizer().encode(text)) == text


@pytest.mark.parametrize("name", tiny.SPECIAL)
def test_c7_names_of_special_tokens_are_plain_text(name: str) -> None:
    tokenizer = tiny.tokenizer()
    special = tokenizer.token_id(name)
    for ids in (
        *tokenizer.encode_fields([name, f"a{name}b", tiny.LITERAL]),
        tokenizer.encode(f"what is {name}?"),
    ):
        assert special not in ids
        assert len(ids) > 1


def test_c6_the_first_word_has_its_token_from_mid_sentence() -> None:
    first, middle = tiny.tokenizer().encode_fields(["Paris is", "in Paris"])
    assert first[0] == middle[-1]
    assert tiny.tokenizer().encode("Paris")[0] != first[0]


def test_c6_a_field_that_starts_with_white_space_keeps_it() -> None:
    for text in (" Paris", "  Paris", "\nParis", "\tParis"):
        assert tiny.tokenizer().decode_field(tiny.tokenizer().encode_fields([text])[0]) == text


def test_ids_stay_below_the_vocabulary_and_symbols_above_the_controls() -> None:
    tokenizer = tiny.tokenizer()
    ids = [i for field in tokenizer.encode_fields(TEXTS) for i in field]
    assert max(ids) < tokenizer.n_vocabulary
    assert tokenizer.n_symbols == tokenizer.n_vocabulary + FIRST_TOKEN
    assert to_symbols(ids).min() >= FIRST_TOKEN


def test_a_token_by_name() -> None:
    assert tiny.tokenizer().token_id("</s>") == 2
    with pytest.raises(ModelError, match="no token named '</nothing>'"):
        tiny.tokenizer().token_id("</nothing>")


def test_added_tokens_beyond_the_vocabulary_are_known_by_name_only() -> None:
    tokenizer = Tokenizer.from_str(tiny.definition())
    tokenizer.add_special_tokens(["<extra>"])
    tokenizer.add_tokens(["Everest mountain"])
    enlarged = TextTokenizer(tokenizer.to_str())
    assert enlarged.token_id("<extra>") == enlarged.n_vocabulary == tiny.tokenizer().n_vocabulary
    assert enlarged.encode("<extra> Everest mountain") == tiny.tokenizer().encode("<extra> Everest mountain")


def test_fingerprint_depends_on_how_text_becomes_ids_and_on_nothing_else() -> None:
    pieces = json.loads(tiny.definition())
    same = [
        pieces | {"added_tokens": []},
        pieces | {"post_processor": None, "padding": None, "truncation": {"max_length": 3}},
        dict(reversed(pieces.items())),
    ]
    for other in same:
        truncation = other.get("truncation")
        if truncation:
            truncation.update(direction="Right", strategy="LongestFirst", stride=0)
        assert TextTokenizer(json.dumps(other)).fingerprint == tiny.tokenizer().fingerprint
    different = json.loads(tiny.definition())
    different["model"]["merges"].pop()
    assert TextTokenizer(json.dumps(different)).fingerprint != tiny.tokenizer().fingerprint


def test_fingerprint_is_the_same_in_the_spelling_of_older_writers() -> None:
    """A hub's tokenizer.json and what `save_pretrained` makes of it."""
    pieces = json.loads(tiny.definition())
    pieces["model"]["merges"] = [" ".join(merge) for merge in pieces["model"]["merges"]]
    for name in ("byte_fallback", "ignore_merges", "type"):
        del pieces["model"][name]
    for name in ("pre_tokenizer", "decoder"):
        del pieces[name]["use_regex"]
    old = TextTokenizer(json.dumps(pieces))
    assert old.fingerprint == tiny.tokenizer().fingerprint
    assert old.definition == tiny.tokenizer().definition
    assert TextTokenizer(old.definition).fingerprint == old.fingerprint


def test_affixes() -> None:
    assert tiny.tokenizer().affixes == ([0], [2])
    assert TextTokenizer(tiny.tokenizer().definition).affixes == ([], [])


def test_padding_and_truncation_of_the_definition_play_no_part() -> None:
    tokenizer = Tokenizer.from_str(tiny.definition())
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    loaded = TextTokenizer(tokenizer.to_str())
    assert loaded.affixes == ([0], [2])
    assert loaded.encode_fields(TEXTS) == tiny.tokenizer().encode_fields(TEXTS)


def test_tokenizers_that_are_not_byte_level_get_no_space() -> None:
    metaspace = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -3.0), ("a", -1.0), ("▁a", -1.0)], unk_id=0))
    metaspace.pre_tokenizer = pre_tokenizers.Metaspace()
    metaspace.decoder = decoders.Metaspace()
    tokenizer = TextTokenizer(metaspace.to_str())
    assert tokenizer.decode_field(tokenizer.encode_fields(["a a"])[0]) == "a a"
    assert tokenizer.encode_fields(["a"])[0] == [tokenizer.token_id("▁a")]


def test_a_byte_level_step_inside_a_sequence_counts() -> None:
    tokenizer = Tokenizer.from_str(tiny.definition())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    loaded = TextTokenizer(tokenizer.to_str())
    first, middle = loaded.encode_fields(["Paris is", "in Paris"])
    assert first[0] == middle[-1]
    assert loaded.decode_fields(loaded.encode_fields(TEXTS)) == TEXTS


def test_add_prefix_space_does_not_double_the_space() -> None:
    tokenizer = Tokenizer.from_str(tiny.definition())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    loaded = TextTokenizer(tokenizer.to_str())
    assert loaded.encode_fields(["Paris"]) == tiny.tokenizer().encode_fields(["Paris"])
    assert loaded.decode_fields(loaded.encode_fields(TEXTS)) == TEXTS


def test_a_tokenizer_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read the tokenizer: No such file"):
        TextTokenizer.from_file(tmp_path / "tokenizer.json")


def lower_casing() -> bytes:
    """A tokenizer without a vocabulary, which changes what it reads."""
    lower = Tokenizer(models.WordLevel({}, unk_token=""))
    lower.normalizer = normalizers.Lowercase()
    return bytes(lower.to_str(), "utf-8")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"{}",
        b'{"model": 3}',
        b"\xff\xfe",
        pytest.param(lower_casing(), id="lower-casing"),
    ],
)
def test_files_that_are_no_tokenizer(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a tokenizer.json") as error:
        TextTokenizer.from_file(path)
    assert str(error.value).startswith(str(path))


def test_d13_threads_share_a_tokenizer() -> None:
    texts = [f"{sentence} {i}" for i in range(50) for sentence in tiny.SENTENCES]
    expected = [tiny.tokenizer().encode(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tiny.tokenizer().encode, texts)) == expected


def test_streams() -> None:
    symbols = stream([5, 0], [7])
    assert symbols.tolist() == [BOUNDARY, 5 + FIRST_TOKEN, FIRST_TOKEN, TITLE_END, 7 + FIRST_TOKEN]
    assert symbols.dtype == "uint32"
    title, body = split_stream(symbols)
    assert (to_tokens(title), to_tokens(body)) == ([5, 0], [7])
    assert to_tokens(symbols) == [5, 0, 7]
    for title_ids, body_ids in (([], []), ([], [3]), ([3], [])):
        title, body = split_stream(stream(title_ids, body_ids))
        assert (to_tokens(title), to_tokens(body)) == (title_ids, body_ids)


@pytest.fixture(scope="module")
def bart() -> TextTokenizer:
    data = os.environ.get("SEAL_IR_DATA")
    path = Path(data or "", "..", "models", "bart-tokenizer", "tokenizer.json")
    if not data or not path.is_file():
        pytest.skip("no BART tokenizer beside SEAL_IR_DATA")
    return TextTokenizer.from_file(path)


@pytest.mark.data
def test_bart(bart: TextTokenizer) -> None:
    assert bart.affixes == ([bart.token_id("<s>")], [bart.token_id("</s>")]) == ([0], [2])
    assert bart.n_vocabulary == 50265
    assert bart.decode_fields(bart.encode_fields(TEXTS)) == TEXTS
    first, middle = bart.encode_fields(["Paris is", "in Paris"])
    assert first[0] == middle[-1]
    controls = {bart.token_id(name) for name in ("<s>", "</s>", "<pad>", "<mask>", "<unk>")}
    assert not controls & {i for field in bart.encode_fields(TEXTS) for i in field}
    assert len(bart.encode(" @@")) == 1  # what SEAL's models write where a title ends


@pytest.mark.data
def test_bart_as_transformers_writes_it(bart: TextTokenizer) -> None:
    again = Tokenizer.from_file(
        str(Path(os.environ["SEAL_IR_DATA"], "..", "models/bart-tokenizer/tokenizer.json"))
    )
    assert TextTokenizer(again.to_str()).fingerprint == bart.fingerprint
