"""Documents go into an index and come back as they were: texts, ids, numbers."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from seal_ir.errors import InputError
from seal_ir.index.document_writing import DocumentWriter
from seal_ir.index.documents import DocumentTable
from seal_ir.index.reader import Index
from seal_ir.records import Document
from seal_ir.text.symbols import BOUNDARY, TITLE_END, stream
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny
from tests.helpers.indexes import part

LONG = " ".join(f"word{i}" for i in range(2000))
DOCUMENTS = [
    Document("plain", "A title", "Some text."),
    Document("no-title", "", "Only a text"),
    Document("no-text", "Only a title", ""),
    Document("lines", "two\nlines", "one\n\ntwo\r\n\tthree\n"),
    Document("spaces", "  title  ", "   text   "),
    Document("emoji", "👩‍👩‍👧‍👦", "🇨🇭 Zürich “quoted” 東京 e\u0301 \u2028"),
    Document("control", "</s>", tiny.LITERAL),
    Document("controls", "|| title", "\x00\x01\x02 <s> \x10"),
    Document("clean-up", "n't", "if x != y , then it 's ."),
    Document("Report,_1992", "odd id", "text"),
    Document("12-3#4", "odd id", "text"),
    Document("東京/é\u0301?&%20", "odd id", "text"),
    Document("0", "odd id", "text"),
    Document("00", "odd id", "text"),
    Document("-1", "odd id", "text"),
    Document("long", "A long one", LONG),
]


@pytest.fixture(scope="module", params=["one-segment", "two", "many"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    longest = len(tiny.stream_of(LONG)) + len(tiny.stream_of("A long one")) + 2
    limit = {"one-segment": 1 << 30, "two": longest, "many": 100}[request.param]
    documents = DOCUMENTS[:-1] if request.param == "many" else DOCUMENTS
    opened = tiny.built(tmp_path_factory.mktemp("index") / "i", documents, limit)
    assert len(opened.everything) == {"one-segment": 1, "two": 2}.get(request.param, 5)
    return opened


def test_documents_come_back(index: Index) -> None:
    expected = DOCUMENTS[: index.n_documents]
    assert index.documents(range(index.n_documents)) == expected
    assert [index.documents([number])[0] for number in range(index.n_documents)] == expected
    order = random.Random(0).choices(range(index.n_documents), k=40)
    assert index.documents(order) == [expected[number] for number in order]
    assert index.documents(np.array(order)) == [expected[number] for number in order]
    assert index.documents([]) == []


def test_a20_long_documents_are_not_truncated(tmp_path: Path) -> None:
    document = Document("d", "long", LONG)
    index = tiny.built(tmp_path / "index", [document])
    assert index.n_tokens >= 5000
    assert index.documents([0]) == [document]


def test_ids_and_numbers(index: Index) -> None:
    for number, document in enumerate(DOCUMENTS[: index.n_documents]):
        assert index.docid(number) == document.id
        assert index.number(document.id) == number
    for absent in ("", "1", "000", "plain ", "Plain", "zzz", "東京"):
        assert index.number(absent) is None


def test_numbers_that_no_document_has(index: Index) -> None:
    for number in (-1, index.n_documents):
        for call in (index.docid, lambda n: index.documents([n]), lambda n: index.streams([0, n])):
            with pytest.raises(IndexError, match=rf"outside \[0, {index.n_documents}\)"):
                call(number)


def test_streams_and_their_total(index: Index) -> None:
    streams = index.streams(range(index.n_documents))
    assert index.n_tokens == index.manifest.n_tokens == sum(map(len, streams))
    for document, symbols in zip(DOCUMENTS, streams, strict=False):
        title, text = tiny.tokenizer().encode_fields([document.title, document.text])
        assert symbols.tolist() == stream(title, text).tolist()


def test_a9_nothing_is_shifted(tmp_path: Path) -> None:
    """Empty documents are dropped by the reader of collections; what is left is numbered from 0."""
    index = tiny.built(tmp_path / "index", [Document("d1", "", "alpha"), Document("d3", "", "gamma")])
    found = index.locate([index.find(tiny.stream_of("gamma"))])
    assert [index.docid(number) for number in found.documents] == ["d3"]
    assert index.documents([index.number("d3")])[0].text == "gamma"


def test_d3_the_lowest_and_the_highest_token(tmp_path: Path) -> None:
    names = sorted(tiny.tokenizer().encode("a"), key=int)
    vocabulary = {token: i for i, token in enumerate(["zero", "one", "last"])} | {"<unk>": 3}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = TextTokenizer(words.to_str())
    documents = [Document("d", "", "zero last zero"), Document("e", "zero", "else one")]
    index = tiny.built(tmp_path / "index", documents, text_tokenizer=tokenizer)
    assert names
    for word, count in (("zero", 3), ("last", 1), ("one", 1), ("else", 1)):
        (symbol,) = stream([], tokenizer.encode(word))[2:]
        assert sum(hi - lo for lo, hi in index.find([symbol])) == count
    assert index.documents([0, 1]) == documents


def _lossy() -> dict[str, Tokenizer]:
    lower = Tokenizer.from_str(tiny.definition())
    lower.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    words = Tokenizer(
        models.WordLevel({"[UNK]": 0, "text": 1, "a": 2, "title": 3, ",": 4}, unk_token="[UNK]")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces = Tokenizer(models.WordPiece({"[UNK]": 0, "te": 1, "##xt": 2}, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    return {"lower": lower, "words": words, "pieces": pieces}


@pytest.mark.parametrize("name", ["lower", "words", "pieces"])
@pytest.mark.parametrize("limit", [1 << 30, 300])
def test_a_tokenizer_that_loses_something_loses_no_text(tmp_path: Path, name: str, limit: int) -> None:
    documents = [*DOCUMENTS[:-1], Document("same", "", "text"), Document("unk", "[UNK]", "[UNK] text")]
    tokenizer = TextTokenizer(_lossy()[name].to_str())
    index = tiny.built(tmp_path / "index", documents, limit, tokenizer)
    assert index.documents(range(len(documents))) == documents
    assert [index.number(document.id) for document in documents] == list(range(len(documents)))


def test_exact_texts_are_not_stored_twice(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index", DOCUMENTS)
    table = DocumentTable(part(tmp_path / "index", "segment-000000/fm.bin").parent, len(DOCUMENTS))
    assert [table.stored_text(number) for number in range(len(DOCUMENTS))] == [None] * len(DOCUMENTS)


def test_tables(tmp_path: Path) -> None:
    ids = ["b", "a", "c", "Z", "é"]
    writer = DocumentWriter(tmp_path)
    for number, docid in enumerate(ids):
        text = ("t3", "x3") if number == 3 else ("", "")
        writer.add(Document(docid, *text), exact=number not in (0, 3))
    writer.close()
    table = DocumentTable(tmp_path, len(ids))
    assert [table.number(docid) for docid in ids] == [0, 1, 2, 3, 4]
    assert [table.number(docid) for docid in ("", "B", "zz", "e")] == [None] * 4
    assert [table.stored_text(n) for n in range(5)] == [("", ""), None, None, ("t3", "x3"), None]


def test_document_start(index: Index) -> None:
    """BOUNDARY starts every document and nothing else: titles are anchored by it."""
    starts = index.start_of(BOUNDARY)
    sizes = starts[:, 1] - starts[:, 0]
    assert sizes.sum() == index.n_documents
    assert index.find([BOUNDARY]) == tuple(map(tuple, starts.tolist()))
    title = [BOUNDARY, *tiny.stream_of("Only a title"), TITLE_END]
    found = index.locate([index.find(title)])
    assert [index.docid(number) for number in found.documents] == ["no-text"]
    assert found.ends.tolist() == [len(title)]
    untitled = index.find([BOUNDARY, TITLE_END])
    assert [index.docid(n) for n in index.locate([untitled]).documents] == ["no-title"]


def test_no_key_crosses_a_document(index: Index) -> None:
    assert sum(hi - lo for lo, hi in index.find([*tiny.stream_of("text"), BOUNDARY])) == 0
    last, first = index.streams([0, 1])
    assert sum(hi - lo for lo, hi in index.find([*last[-2:], *first[:1]])) == 0
    assert BOUNDARY not in index.successors(index.extend(index.everything[None], last[-1:])).symbols


def test_no_documents(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no documents to index"):
        tiny.build(tmp_path / "index", [])
    assert list(tmp_path.iterdir()) == []


def test_a_document_longer_than_a_segment_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"document 'long' has \d+ tokens; a segment holds at most 100; split"
    ):
        tiny.build(tmp_path / "index", [DOCUMENTS[-1]], 100)


def test_d13_threads_share_an_index(index: Index) -> None:
    expected = [index.documents([number]) for number in range(index.n_documents)]
    index.__dict__.pop("everything", None)
    barrier = threading.Barrier(8)

    def work(number: int) -> object:
        if number < 8:
            barrier.wait()
        n = number % index.n_documents
        assert index.number(index.docid(n)) == n
        assert index.successors(index.everything[None]).symbols[0] == BOUNDARY
        return index.documents([n])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(200)))
    assert found == [expected[number % index.n_documents] for number in range(200)]
