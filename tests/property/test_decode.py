"""Decoding equals a naive beam search over a scan of the text, and keeps its laws, on a table of logits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import PRESETS, DecodeConfig, RankConfig
from seal_ir.decode.beam import decode
from seal_ir.decode.constraint import CostRule
from seal_ir.extensions import SDSL
from seal_ir.lm.protocols import Generator
from seal_ir.rank.ranker import rank
from seal_ir.records import BODY, QUERY, TITLE, Key, QueryKeys
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END
from tests.helpers import oracle, reference
from tests.helpers.examples import examples
from tests.helpers.streams import SCAN, StreamIndex
from tests.helpers.stub import FURTHER, StubModel, generator, prompt_tokens, word_tokenizer

FEW = examples(40)
WORDS = ("a", "b", "c", "A", "B", "C", "ab", "Ab", "AB", "never")
TOKENIZER = word_tokenizer(WORDS)
TITLE_WORDS = WORDS[:4]
MARKS = {BODY: (), TITLE: (1, 2), FURTHER[0]: (3, 4), FURTHER[1]: (5, 6)}


class Case(NamedTuple):
    """A corpus, a model, queries and settings."""

    streams: list[list[int]]
    generator: Generator
    queries: list[str]
    config: DecodeConfig

    @property
    def model(self) -> StubModel:
        assert isinstance(self.generator.model, StubModel)
        return self.generator.model

    def index(self, n_segments: int = 1, engine: str = SCAN) -> StreamIndex:
        return StreamIndex(
            self.streams, n_segments, tokenizer=TOKENIZER, engine=engine, further_fields=FURTHER
        )

    def prompt(self, kind: str, query: str) -> tuple[int, ...]:
        return prompt_tokens(
            self.generator, self.generator.description.prompt(BODY if kind == QUERY else kind), query
        )


def _stream(title: list[str], body: list[str], further: list[tuple[str, list[str]]]) -> list[int]:
    symbols = [[WORDS.index(word) + FIRST_TOKEN for word in field] for field in (title, body)]
    stream = [BOUNDARY, *symbols[0], TITLE_END, *symbols[1]]
    for name, value in further:
        start, end = MARKS[name]
        stream += [start, *(WORDS.index(word) + FIRST_TOKEN for word in value), end]
    return stream


@st.composite
def cases(draw: st.DrawFn, constrained: bool = True) -> Case:
    words = st.sampled_from(WORDS[:9])
    titles = st.lists(st.sampled_from(TITLE_WORDS), max_size=3)
    values = st.tuples(st.sampled_from(FURTHER), st.lists(words, min_size=1, max_size=3))
    documents = st.builds(_stream, titles, st.lists(words, max_size=8), st.lists(values, max_size=2))
    query_words = st.lists(st.sampled_from([*WORDS, "(a,", "zz", "bC", "'b'"]), min_size=1, max_size=4)
    n = TOKENIZER.n_vocabulary
    model = StubModel(
        draw(st.sampled_from([n, n, n, 5])),  # a model may know fewer tokens than the index
        seed=draw(st.integers(0, 999)),
        levels=draw(st.sampled_from([0, 0, 1, 4])),
        banned=draw(st.sets(st.integers(0, 4), max_size=2)),
        nested=draw(st.booleans()),
    )
    config = DecodeConfig(
        beam=draw(st.integers(1, 4)),
        body_steps=draw(st.integers(1, 5)),
        title_steps=draw(st.integers(0, 4)),
        query_words=draw(st.integers(0, 3)),
        unigrams=draw(st.sampled_from([0, 3, 5000])),
        fields=draw(st.sampled_from([(), FURTHER[:1], FURTHER[1:], FURTHER])),
        field_steps=draw(st.integers(1, 4)),
        constrained=constrained,
    )
    return Case(
        draw(st.lists(documents, min_size=1, max_size=6)),
        generator(TOKENIZER, model, title_end=draw(st.sampled_from([0, 4]))),
        draw(st.lists(query_words.map(" ".join), min_size=1, max_size=4)),
        config,
    )


def _keys(decoded: QueryKeys, kind: str) -> list[tuple[tuple[int, ...], float]]:
    return [(key.symbols, key.logprob) for key in decoded.keys if key.kind == kind]


def _all_keys(case: Case, index: StreamIndex) -> Iterator[tuple[str, Key]]:
    for query, found in zip(
        case.queries, decode(case.generator, index, case.queries, case.config).queries, strict=True
    ):
        yield from ((query, key) for key in found.keys)


@pytest.mark.parametrize("engine", [SCAN, SDSL])
def test_keys_are_those_of_a_naive_beam_search(engine: str) -> None:
    @examples(100 if engine == SCAN else 15)
    @given(case=cases(), n_segments=st.sampled_from([1, 2]))
    def check(case: Case, n_segments: int) -> None:
        _check_against_reference(case, n_segments, engine)

    check()


@examples(60)
@given(case=cases(constrained=False), n_segments=st.sampled_from([1, 2]))
def test_without_the_constraint_keys_are_what_happens_to_occur(case: Case, n_segments: int) -> None:
    _check_against_reference(case, n_segments, SCAN)
    index = case.index(n_segments)
    for _, key in _all_keys(case, index):
        assert key.ranges == index.find(key.symbols)
        assert key.count == oracle.count(case.streams, key.symbols) >= 1


def _check_against_reference(case: Case, n_segments: int, engine: str) -> None:
    decoded = decode(case.generator, case.index(n_segments, engine), case.queries, case.config)
    for query, found in zip(case.queries, decoded.queries, strict=True):
        assert {key.kind for key in found.keys} <= {*case.config.written, QUERY}
        for kind in case.config.written:
            prompt = case.prompt(kind, query)
            expected = reference.beam_search(
                case.streams,
                lambda tokens, prompt=prompt: case.model.following(prompt, tokens),
                marks=MARKS[kind],
                title_end=case.generator.title_end,
                beam=case.config.beam,
                steps=case.config.steps(kind),
                constrained=case.config.constrained,
            )
            assert _keys(found, kind) == expected


@examples(150)
@given(
    case=cases(),
    n_segments=st.sampled_from([1, 2]),
    rule=st.builds(
        CostRule,
        narrow=st.integers(-1, 6),
        tops=st.sampled_from([(1,), (2,), (1, 2), (2, 4), (3, 5, 7), (99,)]),
        verified=st.sampled_from([1, 2, 5, 64]),
    ),
)
def test_verifying_gives_bit_for_bit_what_a_full_mask_gives(
    case: Case, n_segments: int, rule: CostRule
) -> None:
    """`narrow` of a million rows enumerates everything, as a mask does; the rules drawn take every branch."""
    index = case.index(n_segments)
    masked = decode(case.generator, index, case.queries, case.config, CostRule(narrow=1_000_000))
    verified = decode(case.generator, index, case.queries, case.config, rule)
    assert [_plain(found) for found in verified.queries] == [_plain(found) for found in masked.queries]


@FEW
@given(case=cases(), n_segments=st.sampled_from([1, 2, 7]))
def test_every_key_occurs_and_its_ranges_say_where(case: Case, n_segments: int) -> None:
    index = case.index(n_segments)
    for _, key in _all_keys(case, index):
        assert key.count == oracle.count(case.streams, key.symbols) >= 1
        assert key.ranges == index.find(key.symbols)
        assert key.logprob <= 0 and np.isfinite(key.logprob)


@FEW
@given(case=cases())
def test_keys_lie_within_one_field(case: Case) -> None:
    for _, key in _all_keys(case, case.index()):
        if key.kind in (BODY, QUERY):
            assert min(key.symbols) >= FIRST_TOKEN
        else:
            assert (key.symbols[0], key.symbols[-1]) == MARKS[key.kind], "only complete values are keys"
            assert len(key.symbols) > 2, "an empty value is control symbols only"
            assert min(key.symbols[1:-1]) >= FIRST_TOKEN


@FEW
@given(case=cases())
def test_logprob_of_a_key_is_the_teacher_forced_sum(case: Case) -> None:
    for query, key in _all_keys(case, case.index()):
        tokens = [s - FIRST_TOKEN if s >= FIRST_TOKEN else case.generator.title_end for s in key.symbols]
        if key.kind not in (BODY, QUERY):
            tokens = tokens[1:]  # the start is given, not written
        assert key.logprob == pytest.approx(
            case.model.forced(case.prompt(key.kind, query), tokens), abs=1e-12
        )


@FEW
@given(case=cases())
def test_query_ngrams_are_all_that_occur_and_no_others(case: Case) -> None:
    decoded = decode(case.generator, case.index(), case.queries, case.config)
    for query, found in zip(case.queries, decoded.queries, strict=True):
        words = [word for word in (raw.strip("(),'") for raw in query.split()) if word]
        texts = {
            variant
            for n in range(1, case.config.query_words + 1)
            for ngram in (words[i : i + n] for i in range(len(words) - n + 1))
            for variant in (
                " ".join(ngram),
                " ".join(ngram).lower(),
                " ".join(word[0].upper() + word[1:] for word in ngram),
                " ".join(ngram).upper(),
            )
        }
        prompt = case.prompt(BODY, query)
        expected = {}
        for text in texts:
            tokens = TOKENIZER.encode(text)
            symbols = tuple(token + FIRST_TOKEN for token in tokens)
            known = max(tokens) < case.model.n_vocabulary
            if known and oracle.count(case.streams, symbols):
                logprob = case.model.forced(prompt, tokens)
                if np.isfinite(logprob):
                    expected[symbols] = logprob
        keys = _keys(found, QUERY)
        assert len(dict(keys)) == len(keys)
        assert dict(keys) == pytest.approx(expected, abs=1e-12)


@FEW
@given(case=cases())
def test_unigrams_are_the_best_of_the_first_step(case: Case) -> None:
    decoded = decode(case.generator, case.index(), case.queries, case.config)
    for query, found in zip(case.queries, decoded.queries, strict=True):
        first = case.model.following(case.prompt(BODY, query), ())
        rows = [
            (-float(first[symbol - FIRST_TOKEN]), symbol, oracle.count(case.streams, (symbol,)))
            for symbol in {symbol for stream in case.streams for symbol in stream}
            if FIRST_TOKEN <= symbol < FIRST_TOKEN + len(first) and np.isfinite(first[symbol - FIRST_TOKEN])
        ]
        expected = sorted(rows)[: case.config.unigrams]
        columns = (found.unigrams.symbols, found.unigrams.logprobs, found.unigrams.counts)
        assert [tuple(row) for row in zip(*(column.tolist() for column in columns), strict=True)] == [
            (symbol, -negative, count) for negative, symbol, count in expected
        ]


@FEW
@given(case=cases(), seed=st.integers(0, 99))
def test_c5_results_depend_on_neither_batch_nor_order(case: Case, seed: int) -> None:
    index = case.index()
    together = decode(case.generator, index, case.queries, case.config).queries
    for size in (1, 3):
        parts = [
            found
            for at in range(0, len(case.queries), size)
            for found in decode(case.generator, index, case.queries[at : at + size], case.config).queries
        ]
        assert list(map(_plain, parts)) == list(map(_plain, together))
    order = random.Random(seed).sample(range(len(case.queries)), len(case.queries))
    shuffled = decode(case.generator, index, [case.queries[i] for i in order], case.config).queries
    assert [_plain(found) for found in shuffled] == [_plain(together[i]) for i in order]


@FEW
@given(case=cases(), preset=st.sampled_from(sorted(PRESETS)))
def test_results_do_not_depend_on_the_number_of_segments(case: Case, preset: str) -> None:
    whole, *cut = [case.index(n) for n in (1, 2, 7)]
    first = decode(case.generator, whole, case.queries, case.config).queries
    for index in cut:
        other = decode(case.generator, index, case.queries, case.config).queries
        for ours, theirs in zip(first, other, strict=True):
            assert _plain(ours, ranges=False) == _plain(theirs, ranges=False)
            config = PRESETS[preset].rank
            expected = [(item.document, item.score) for item in rank(whole, ours, config, 99)]
            assert [(item.document, item.score) for item in rank(index, theirs, config, 99)] == expected


def _plain(found: QueryKeys, ranges: bool = True) -> object:
    """Comparable without numpy's element-wise equality."""
    keys = [
        (key.symbols, key.logprob, key.count, key.ranges if ranges else (), key.kind) for key in found.keys
    ]
    return keys, [column.tolist() for column in found.unigrams]


@examples(15)
@given(case=cases())
def test_the_scan_engine_of_these_tests_answers_as_sdsl(case: Case) -> None:
    scan, sdsl = case.index(), case.index(engine=SDSL)
    present = sorted(oracle.ngrams(case.streams, 3))
    ranges = np.array([scan.find(ngram) for ngram in [(), *present, (BOUNDARY, BOUNDARY)]], dtype=np.int64)
    assert [scan.find(ngram) for ngram in present] == [sdsl.find(ngram) for ngram in present]
    for ours, theirs in zip(scan.successors(ranges), sdsl.successors(ranges), strict=True):
        assert np.array_equal(ours, theirs)
    located = [
        sorted(zip(np.repeat(np.arange(len(present)), np.diff(o.offsets)), o.documents, o.ends, strict=True))
        for o in (index.locate([index.find(ngram) for ngram in present]) for index in (scan, sdsl))
    ]
    assert located[0] == located[1]


@examples(60)
@given(case=cases(), n_segments=st.sampled_from([1, 2]))
def test_reading_the_query_s_ngrams_in_one_go_changes_no_key(case: Case, n_segments: int) -> None:
    """Key for key; one that a beam has written too shares its row."""
    index = case.index(n_segments)
    found = []
    for nested in (False, True):
        case.model.nested = nested
        decoded = decode(case.generator, index, case.queries, case.config)
        found.append([sorted(map(_whole, item.keys)) for item in decoded.queries])
        found[-1] += [item.unigrams.logprobs.tolist() for item in decoded.queries]
    assert found[0] == found[1]


def _whole(key: Key) -> tuple[object, ...]:
    return key.kind, key.symbols, key.logprob, key.count, key.ranges


STOPPING = sorted(name for name, it in PRESETS.items() if not (it.slow_path or it.rank.needs_all_keys))


@st.composite
def rank_configs(draw: st.DrawFn) -> RankConfig:
    """Those of presets, and others under which every key of a stopped decoding that matters is there."""
    if draw(st.booleans()):
        return PRESETS[draw(st.sampled_from(STOPPING))].rank
    kinds = draw(st.sets(st.sampled_from([BODY, QUERY, TITLE, *FURTHER]), min_size=1))
    return RankConfig(
        score=draw(st.sampled_from(["max", "intersective"])),
        kinds=tuple(kinds),
        alpha=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
        beta=draw(st.sampled_from([0.0, 0.3, 0.8, 0.99])),
        smoothing=draw(st.sampled_from([0.0, 0.5, 5.0])),
        unigrams=draw(st.booleans()),
        unigram_alpha=draw(st.booleans()),
        max_count=draw(st.sampled_from([1, 2, 1500])),
    )


@pytest.mark.slow
@examples(300)
@given(
    case=st.booleans().flatmap(cases),
    n_segments=st.sampled_from([1, 2]),
    config=rank_configs(),
    n_hits=st.sampled_from([1, 2, 100]),
)
def test_what_stopping_leaves_out_changes_no_ranking(
    case: Case, n_segments: int, config: RankConfig, n_hits: int
) -> None:
    """Documents, scores, and the keys that made them, bit for bit; and what is left are keys of before."""
    index = case.index(n_segments)
    everything = decode(case.generator, index, case.queries, case.config).queries
    stopped = decode(case.generator, index, case.queries, replace(case.config, stop=True)).queries
    for plain, fewer in zip(everything, stopped, strict=True):
        assert set(map(_whole, fewer.keys)) <= set(map(_whole, plain.keys))
        ranked = [rank(index, keys, config, n_hits) for keys in (plain, fewer)]
        assert ranked[0] == ranked[1]


def test_stopping_saves_keys_and_steps() -> None:
    """Else the test above would hold of a setting that does nothing."""
    words = ("a", "b", "c", "A", "B", "C")
    streams = [_stream([], [*words[i:], *words[:i]], []) for i in range(6)] * 40
    index = StreamIndex(streams, tokenizer=TOKENIZER, engine=SCAN)
    keys, rows = [], []
    for settings in ({}, {"stop": True}, {"stop": True, "retired": 200}, {"stop": True, "least_weight": 1.5}):
        made = generator(TOKENIZER, StubModel(TOKENIZER.n_vocabulary, seed=1))
        config = DecodeConfig(beam=3, body_steps=6, title_steps=0, query_words=0, **settings)
        (found,) = decode(made, index, ["a"], config).queries
        assert isinstance(made.model, StubModel)
        keys.append(len(found.keys))
        rows.append(made.model.n_rows)
    assert keys[0] > keys[1] >= max(keys[2:])
    assert rows[0] > rows[1] > max(rows[2:])


@FEW
@given(case=cases(), retired=st.integers(1, 3))
def test_a_retired_ngram_keeps_its_place_and_is_not_continued(case: Case, retired: int) -> None:
    """So fewer and fewer are, and each key but the first symbol continues one that is more frequent."""
    config = replace(case.config, stop=True, retired=retired, title_steps=0, fields=(), query_words=0)
    index = case.index()
    for found in decode(case.generator, index, case.queries, config).queries:
        for key in found.keys:
            assert len(key.symbols) == 1 or oracle.count(case.streams, key.symbols[:-1]) > retired
