"""Every key of a hit is where it is said to be in the document's texts: tokenizers, languages, fields."""

from __future__ import annotations

import json
import operator
import unicodedata
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from seal_ir.config import RankConfig, preset
from seal_ir.explanation.keys import contents_of, ranked_keys
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import rank
from seal_ir.rank.taken import places
from seal_ir.records import Document, HitKey
from seal_ir.text.positions import token_spans
from seal_ir.text.symbols import to_tokens
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import keys as keys_of
from tests.helpers import tiny

TEXTS = [
    Document("en", "Paris  and London", "Paris is the capital of France.\n\tIts river  is the Seine. "),
    Document("de", "Straße", "Über die große Straße fährt Ärger — früher als gedacht; ﬁn de siècle."),
    Document("zh", "北京", "北京是中华人民共和国的首都。北京很大。"),
    Document("ja", "", "東京は日本の首都です。カタカナと㈱と①。"),
    Document("ru", "Москва", "Москва — столица России, Москва-река течёт."),
    Document("ar", "القاهرة", "القاهرة هي عاصمة مصر، والنيل يجري فيها."),
    Document("hi", "दिल्ली", "दिल्ली भारत की राजधानी है। नई दिल्ली।"),
    Document("emoji", "👩‍👩‍👧‍👦", "A family 👩‍👩‍👧‍👦 and a flag 🇫🇷, e\u0301 and é; \x00 too."),
    Document("space", " lead", "  two spaces, a tab\t, a no-break\u00a0space and\u3000one of two cells  "),
    Document("marks", "<mark>&amp;", '<script>alert("x")</script> </s> is text & more'),
]


def _trained(tokenizer: Tokenizer, trainer: trainers.Trainer) -> TextTokenizer:
    tokenizer.train_from_iterator([f"{d.title} {d.text}" for d in TEXTS] * 2, trainer)
    return TextTokenizer(tokenizer.to_str())


def _byte_level() -> TextTokenizer:
    """Most characters beyond ASCII are several tokens, each a part of them."""
    return tiny.tokenizer()


def _normalising() -> TextTokenizer:
    lower = Tokenizer.from_str(tiny.definition())
    lower.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    return TextTokenizer(lower.to_str())


def _metaspace() -> TextTokenizer:
    pieces = Tokenizer(models.Unigram())
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return _trained(pieces, trainers.UnigramTrainer(vocab_size=300, unk_token="<unk>", show_progress=False))


def _word_pieces() -> TextTokenizer:
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer, pieces.decoder = (
        pre_tokenizers.BertPreTokenizer(),
        decoders.WordPiece(cleanup=False),
    )
    special = ["[UNK]"]
    return _trained(
        pieces, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )


TOKENIZERS: dict[str, Callable[[], TextTokenizer]] = {
    "byte-level": _byte_level,
    "normalising": _normalising,
    "metaspace": _metaspace,
    "word pieces": _word_pieces,
}
LOSSLESS = ["byte-level"]
UNKNOWN = ("[UNK]", "<unk>", "")


def _plain(text: str) -> str:
    """What is left of a text whatever a tokenizer does to case, accents and white space."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).lower())
    kept = (c for c in text if not unicodedata.category(c).startswith(("M", "C", "Z")) and not c.isspace())
    return "".join(kept)


def _check_normalised(piece: str, text: str) -> None:
    """A key reads as its piece but for what the tokenizer changes.

    Tokens may cut what was one character, such as a ligature, and cover it whole.
    """
    ours, theirs = _plain(text.removeprefix("##")), _plain(piece)
    assert ours in theirs
    assert len(theirs) - len(ours) <= 3


Keys = list[tuple[HitKey, str]]  # with what the tokens say by themselves


def _ranked(index: Index, config: RankConfig, seed: int) -> list[tuple[Document, float, Keys]]:
    found = []
    for item in rank(index, keys_of.random_keys(index, seed, 60), config, 100):
        (document,) = index.documents([item.document])
        keys = ranked_keys(index, config, item.document, document, item.matched, item.score)
        n_places = sum(map(len, places(item.matched, index.streams([item.document])[0])))
        assert sum(len(key.positions) + len(key.further) for key in keys) <= n_places
        symbols = [np.array(part.key.symbols) for part in item.matched]
        raws = [index.tokenizer.decode(to_tokens(ngram)).strip() for ngram in symbols]
        found.append((document, item.score, list(zip(keys, raws, strict=True))))
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("which", ["paper", "balanced", "lm-fm", "lm"])
def test_keys_are_at_their_positions(tmp_path: Path, name: str, which: str) -> None:
    index = tiny.built(tmp_path / "index", TEXTS, text_tokenizer=TOKENIZERS[name](), max_segment_tokens=150)
    n_seen = 0
    for seed in range(3):
        config = preset(which).rank if which != "lm" else RankConfig("lm", "max", unigrams=False)
        for document, score, keys in _ranked(index, config, seed):
            contents = contents_of(document)
            assert reduce(operator.add, [key.share for key, _ in keys], 0.0) == score
            for key, raw in keys:
                assert list(key.positions) == sorted(key.positions)
                for start, end in key.positions:
                    assert 0 <= start < end <= len(contents)
                    piece = contents[start:end]
                    if raw in UNKNOWN:
                        continue
                    if "\ufffd" in raw:  # its tokens cut a character, which it reads as where it is first
                        assert (start, end) != key.positions[0] or piece == key.text
                    elif name in LOSSLESS:
                        assert piece == key.text
                    else:
                        _check_normalised(piece, key.text)
                    n_seen += 1
    assert n_seen > 20


@pytest.mark.parametrize("name", TOKENIZERS)
def test_spans_cover_what_the_tokens_were_made_of(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    for document in TEXTS:
        (ids,) = tokenizer.encode_fields([document.text])
        (spans,) = token_spans(tokenizer, [document.text], [ids])
        assert len(spans) == len(ids)
        assert all(0 <= start <= end <= len(document.text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)
        covered = {at for start, end in spans for at in range(start, end)}
        left = "".join(c for at, c in enumerate(document.text) if at not in covered)
        assert not _plain(left), "no character that counts is left out"


def test_texts_that_were_cut_otherwise_are_walked_through() -> None:
    """An imported index has tokens that its own tokenizer would not make of the text."""
    tokenizer = tiny.tokenizer()
    for document in TEXTS:
        whole = tokenizer.encode_fields([document.text])[0]
        cut = [token for byte in (" " + document.text) for token in tokenizer.encode(byte)]
        if cut == whole:
            continue
        (spans,) = token_spans(tokenizer, [document.text], [cut])
        assert [document.text[start:end] for start, end in dict.fromkeys(spans) if start < end] == [
            *document.text
        ]


def test_title_keys_lie_in_the_first_line(tmp_path: Path) -> None:
    index = tiny.built(tmp_path / "index", TEXTS)
    config = preset("genre").rank
    for document, _, ((key, _),) in _ranked(index, config, 3):
        contents = contents_of(document)
        if document.title:
            ((start, end),) = key.positions
            assert contents[start:end] == document.title.strip() == key.text
        else:
            assert key.positions == ()


def test_keys_of_further_fields_have_places_there(tmp_path: Path) -> None:
    further = (("docid", "1 0"), ("tags", "capital city"), ("tags", "the Seine"), ("tags", ""))
    documents = [TEXTS[0]._replace(further=further), TEXTS[1]]
    index = tiny.built(tmp_path / "index", documents, fields=("docid", "tags"))
    config = RankConfig(kinds=("body", "query", "title"), smoothing=0.0)
    seen = set()
    for seed in range(8):
        for document, _, keys in _ranked(index, config, seed):
            for key, _ in keys:
                for name, value, start, end in key.further:
                    values = [text for field, text in document.further if field == name]
                    assert values[value][start:end] == key.text
                    seen.add((name, value))
    assert seen == {("docid", 0), ("tags", 0), ("tags", 1)}


def test_stored_records_change_no_position(tmp_path: Path) -> None:
    """`raw` is the record as it was read; positions are in title and text all the same."""
    record = json.dumps({"id": "x", "contents": "Paris\nis   the capital", "n": 1})
    documents = [Document("x", "Paris", "is   the capital", record), TEXTS[1]]
    index = tiny.built(tmp_path / "index", documents, store_raw=True, text_tokenizer=_normalising())
    assert index.raws([0]) == [record]
    for document, _, keys in _ranked(index, preset("paper").rank, 1):
        contents = contents_of(document)
        for key, raw in keys:
            for start, end in key.positions if "\ufffd" not in raw else ():
                _check_normalised(contents[start:end], key.text)
