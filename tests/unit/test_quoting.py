"""Generation that may only quote, by transformers' own `generate()` on a small network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LogitsProcessorList, PreTrainedTokenizerFast, set_seed

from seal_ir.errors import ArgumentError, ModelError
from seal_ir.index.reader import Index
from seal_ir.quoting.processor import FMIndexLogitsProcessor
from seal_ir.quoting.provenance import quotes
from tests.helpers import tiny
from tests.helpers.stub import byte_tokenizer

pytestmark = pytest.mark.slow
EOS, PAD = 2, 1
ODD = "\U0001f600\U0001f601 na\u00efve \u4e2d\u6587."
FURTHER = [
    tiny.DOCUMENTS[0]._replace(further=(("tags", "the light of Paris"), ("tags", "the Seine"))),
    *tiny.DOCUMENTS[1:],
    tiny.DOCUMENTS[2]._replace(id="odd", title="Caf\u00e9 \U0001f600", text=ODD),
]
TEXTS = [text for one in FURTHER for text in (one.title, one.text, *(value for _, value in one.further))]
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 2.0, "num_return_sequences": 6},
    "beams": {"num_beams": 4, "num_return_sequences": 2},
    "sampled beams": {"do_sample": True, "num_beams": 3},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("quoting") / "index"
    return tiny.built(folder, FURTHER, max_segment_tokens=120, fields=("tags",))


@pytest.fixture(scope="module")
def network(llama: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(llama)


def generated(network: Any, prompts: list[str], processor: FMIndexLogitsProcessor, **way: Any) -> Any:
    """Rows of tokens after the prompts, which are padded on the left."""
    rows = [tiny.tokenizer().encode(prompt) for prompt in prompts]
    longest = max(map(len, rows))
    ids = torch.tensor([[PAD] * (longest - len(row)) + row for row in rows])
    made = network.generate(
        input_ids=ids,
        attention_mask=(ids != PAD).long(),
        logits_processor=LogitsProcessorList([processor]),
        max_new_tokens=way.pop("max_new_tokens", 12),
        pad_token_id=PAD,
        eos_token_id=EOS,
        **way,
    )
    assert torch.equal(made[:: len(made) // len(ids), :longest], ids), "prompts were changed"
    return made[:, longest:].tolist()


def written(row: list[int]) -> list[int]:
    return row[: row.index(EOS)] if EOS in row else [token for token in row if token != PAD]


def sources(index: Index, row: list[int]) -> Iterator[Any]:
    """Quotes of a row, each compared with the documents, letter by letter."""
    documents = {one.id: one for one in FURTHER}
    for quote in quotes(index, row, ends=[EOS, PAD], n_sources=99):
        assert any(quote.text in text for text in TEXTS)
        assert quote.count == len(quote.sources) >= 1
        for source in quote.sources:
            one = documents[source.docid]
            further = [value for name, value in one.further if name == source.field]
            values = {"title": [one.title], "body": [one.text]}.get(source.field, further)
            assert quote.text in [value[source.start : source.end] for value in values]
        yield quote


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_text_stands_in_the_collection(index: Index, network: Any, way: str, seed: int) -> None:
    """Prompts of several lengths at once, one processor for one generation after the other."""
    processor = FMIndexLogitsProcessor(index, EOS, min_tokens=4)
    for prompts in (["what is the capital?", "whale"], ["who"], ["who climbed it first?", "x", "y z"]):
        set_seed(seed)
        rows = generated(network, prompts, processor, **WAYS[way])
        assert len(rows) == len(prompts) * WAYS[way].get("num_return_sequences", 1)
        for row in rows:
            (quote,) = sources(index, row)
            length = len(written(row))
            if length < 4:  # it is the end of all its places
                successors = index.successors(np.array([index.find([t + 16 for t in quote.tokens])]))
                assert (successors.symbols < 16).all()


def test_without_it_the_network_does_not_quote(index: Index, network: Any) -> None:
    free = network.generate(
        input_ids=torch.tensor([tiny.tokenizer().encode("what is the capital?")]),
        attention_mask=torch.ones(1, len(tiny.tokenizer().encode("what is the capital?"))),
        max_new_tokens=12,
        do_sample=False,
        pad_token_id=PAD,
        eos_token_id=EOS,
    )[0, -12:].tolist()
    with pytest.raises(ArgumentError, match="stands nowhere in"):
        quotes(index, free)


def test_the_mask_is_that_of_a_scan(index: Index) -> None:
    """All tokens after every n-gram of a text up to four long, against the token sequences of all fields."""
    fields = [tiny.tokenizer().encode_fields([text])[0] for text in TEXTS if text]
    processor = FMIndexLogitsProcessor(index, EOS, min_tokens=2)
    n_vocabulary = tiny.tokenizer().n_vocabulary
    for field in fields[:4]:
        processor.reset()
        row = [7, 9]
        for token in [None, *field[:4]]:
            row = row if token is None else [*row, token]
            scores = torch.randn(1, n_vocabulary)
            masked = processor(torch.tensor([row]), scores)
            ngram = row[2:]
            expected = {
                other[at + len(ngram)]
                for other in fields
                for at in range(len(other) - len(ngram))
                if other[at : at + len(ngram)] == ngram
            }
            if not ngram:
                expected = {t for t in expected if not tiny.tokenizer().decode([t]).startswith("\ufffd")}
            if len(ngram) >= 2 and not tiny.tokenizer().decode(ngram).endswith("\ufffd"):
                expected |= {EOS}
            allowed = torch.isfinite(masked[0])
            assert set(torch.nonzero(allowed).flatten().tolist()) == expected
            assert torch.equal(masked[0][allowed], scores[0][allowed])


def test_beams_may_be_reordered(index: Index) -> None:
    """Two beams change places: what may follow goes with what a row holds."""
    first, second = (tiny.tokenizer().encode_fields([text])[0] for text in tiny.SENTENCES[:2])
    scores = torch.zeros(2, tiny.tokenizer().n_vocabulary)

    def call(processor: FMIndexLogitsProcessor, *rows: list[int]) -> Any:
        return processor(torch.tensor(rows), scores)

    plain, turned = (FMIndexLogitsProcessor(index, EOS) for _ in range(2))
    for processor in (plain, turned):
        call(processor, [5], [5])
        call(processor, [5, first[0]], [5, second[0]])
    straight = call(plain, [5, *first[:2]], [5, *second[:2]])
    assert torch.equal(call(turned, [5, *second[:2]], [5, *first[:2]]), straight.flip(0))
    both = call(turned, [5, *first[:3]], [5, *first[:3]])
    assert torch.equal(both[0], both[1])


def test_assisted_generation_goes_back(index: Index, network: Any) -> None:
    """Candidates out of the prompt are tried and dropped; the text is that of plain greedy search."""
    prompt = "words: the capital of France is Paris, the capital of Japan is Tokyo :"
    plain = generated(network, [prompt], FMIndexLogitsProcessor(index, EOS, min_tokens=4))
    assisted = FMIndexLogitsProcessor(index, EOS, min_tokens=4)
    (row,) = generated(network, [prompt], assisted, prompt_lookup_num_tokens=4)
    assert written(row) == written(plain[0])
    assert len(list(sources(index, row))) == 1


def test_a_text_is_continued_or_begun_anew(index: Index) -> None:
    first = tiny.tokenizer().encode_fields([tiny.SENTENCES[0]])[0]
    scores = torch.zeros(1, tiny.tokenizer().n_vocabulary)
    processor = FMIndexLogitsProcessor(index, EOS, min_tokens=50)
    fresh = processor(torch.tensor([[5]]), scores)
    for n in (1, 2):
        processor(torch.tensor([[5, *first[:n]]]), scores)
    continued = processor(torch.tensor([[5, *first[:3]]]), scores)
    assert not torch.equal(continued, fresh)
    processor.reset()
    assert torch.equal(processor(torch.tensor([[5, *first[:3]]]), scores), fresh)


def test_ends_and_separators(index: Index, network: Any) -> None:
    (separator,) = tiny.tokenizer().encode("\n")
    processor = FMIndexLogitsProcessor(index, EOS, min_tokens=3, separators=[separator])
    set_seed(3)
    way = {"do_sample": True, "temperature": 5.0, "num_return_sequences": 8, "max_new_tokens": 60}
    rows = generated(network, ["tell me more"], processor, **way)
    several = [quotes(index, row, [EOS, PAD], [separator]) for row in rows]
    assert max(map(len, several)) > 1
    assert all(any(quote.text in text for text in TEXTS) for found in several for quote in found)
    empty = FMIndexLogitsProcessor(index, EOS, end_anywhere=True)
    scores = empty(torch.tensor([[5]]), torch.zeros(1, tiny.tokenizer().n_vocabulary))
    assert torch.isfinite(scores[0, EOS])
    assert quotes(index, [EOS, 5], [EOS]) == []


def test_refusals(index: Index) -> None:
    with pytest.raises(ArgumentError, match="eos_token_id holds no token"):
        FMIndexLogitsProcessor(index, [])
    with pytest.raises(ArgumentError, match="min_tokens is 0"):
        FMIndexLogitsProcessor(index, EOS, min_tokens=0)
    other = PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer()._tokenizer)
    with pytest.raises(ModelError, match="which is not this model's; index the collection again"):
        FMIndexLogitsProcessor(index, EOS, tokenizer=other)
    with pytest.raises(ModelError, match="only models with a fast tokenizer"):
        FMIndexLogitsProcessor(index, EOS, tokenizer=object())
    with pytest.raises(ArgumentError, match="n_sources is 0"):
        quotes(index, [20], n_sources=0)


@pytest.mark.parametrize("odd", [None, 0.5, "a", True, -1])
def test_what_is_no_token_is_refused_wherever_it_is_given(index: Index, odd: Any) -> None:
    """None is what a model without an end of text has as its eos_token_id."""
    for call in (
        lambda: quotes(index, [20, odd]),
        lambda: quotes(index, odd),
        lambda: quotes(index, [20], [odd]),
        lambda: FMIndexLogitsProcessor(index, odd),
        lambda: FMIndexLogitsProcessor(index, EOS, separators=[odd]),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_tokens_that_the_index_does_not_have(index: Index) -> None:
    for odd in (tiny.tokenizer().n_vocabulary, 2**32, 2**70):
        with pytest.raises(ArgumentError, match="those of .* are 0 to"):
            quotes(index, [20, odd])
    assert quotes(index, [EOS, -100], {EOS}, frozenset([5])) == []  # after the end anything may stand
