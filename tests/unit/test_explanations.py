"""Hits say which keys made them; `explain` says why any document ranks where it does, or not at all."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from dataclasses import replace
from functools import reduce
from html.parser import HTMLParser
from math import fsum
from pathlib import Path

import numpy as np
import pytest

from seal_ir.config import PRESETS, preset
from seal_ir.errors import ArgumentError, InputError, UsageError
from seal_ir.explanation import evidence, keys
from seal_ir.explanation.marks import highlights, marked, snippet
from seal_ir.explanation.values import STATUSES
from seal_ir.index.indexer import SealIndexer
from seal_ir.rank.weights import Matched, weigh
from seal_ir.records import UNIGRAM, Document, Hit, HitKey
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

QUERY = "what is the capital of Japan"
NASTY = '<script>alert("x")</script> & </mark> Japan is the capital \x00\x1b[31m'


@pytest.fixture
def searcher(tiny_index: Path) -> SealSearcher:
    return SealSearcher(tiny_index, tiny.generator(), preset="paper")


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in ("dsi", "minder")])
def test_keys_of_hits_make_their_scores(tiny_index: Path, name: str) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator(), preset=name)
    for hit in searcher.search("Paris capital of France, and the Seine", k=5):
        assert reduce(operator.add, [key.share for key in hit.keys], 0.0) == hit.score
        assert fsum(key.fraction for key in hit.keys) == pytest.approx(1.0)
        for key in hit.keys:
            assert key.positions
            assert key.count >= 1
            for start, end in key.positions:
                assert hit.contents is not None
                assert hit.contents[start:end] == key.text


def test_nothing_is_worked_out_until_it_is_asked_for(
    searcher: SealSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(Matched, "__getitem__", lambda *args: calls.append("matched"))
    for module, name in ((keys, "Layout"), (keys, "places"), (evidence, "ranked_keys")):
        monkeypatch.setattr(module, name, lambda *args, name=name: calls.append(name))
    found = searcher.batch_search([QUERY, "whale"], ["1", "2"])
    assert all(found.values())
    assert calls == []
    _ = found["1"][0].keys
    assert calls == ["ranked_keys"]


def test_hits_keep_no_more_of_the_query_than_they_need(searcher: SealSearcher) -> None:
    (hit,) = searcher.search(QUERY, k=1)
    kept = hit.evidence._ranked.matched.query  # type: ignore[union-attr]
    assert len(kept.keys) + len(kept.unigram_weights) == len(hit.keys)


def test_hits_travel_with_their_keys(searcher: SealSearcher) -> None:
    (hit,) = searcher.search(QUERY, k=1)
    travelled = pickle.loads(pickle.dumps(hit))  # noqa: S301 - our own
    for other in (travelled, copy.deepcopy(hit), copy.copy(hit)):
        assert other == hit
        assert other.keys == hit.keys
        assert other.snippet(40) == hit.snippet(40)


def test_hits_keep_the_index_that_they_are_of(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index")
    searcher = SealSearcher(tmp_path / "index", tiny.generator(), preset="paper")
    before, after = searcher.search(QUERY, k=3), searcher.search(QUERY, k=3)
    expected = [hit.keys for hit in before]
    with SealIndexer(tmp_path / "index") as writer:
        writer.delete([before[0].docid])
    assert searcher.refresh()
    assert [hit.keys for hit in after] == expected


def test_a_hit_without_keys_says_so(searcher: SealSearcher) -> None:
    ranked = searcher.rank(searcher.decode([QUERY])[0], 1)
    for hit in (Hit("other#1", 1.0), *searcher.hits(ranked, texts=False)):
        for ask in (lambda hit=hit: hit.keys, hit.highlights, hit.snippet):
            with pytest.raises(UsageError, match=f"hit '{hit.docid}' has no keys"):
                ask()
        assert hit._repr_html_() is None


def test_highlights_and_snippets(searcher: SealSearcher) -> None:
    hit = searcher.search(QUERY, k=1)[0]
    contents = hit.contents or ""
    pieces = hit.highlights()
    assert [piece.text for piece in pieces] == [contents[piece.start : piece.end] for piece in pieces]
    assert pieces == sorted(pieces)
    assert all(a.end <= b.start for a, b in zip(pieces[:-1], pieces[1:], strict=True))
    assert fsum(piece.share for piece in hit.highlights(unigrams=True)) == pytest.approx(hit.score)
    assert hit.snippet(10_000, "", "") == contents
    for length in (1, 7, 20, 33, 60):
        plain = hit.snippet(length, "", "")
        assert plain.strip("…") in contents
        assert len(plain.strip("…")) <= length
        assert hit.snippet(length, "<", ">").replace("<", "").replace(">", "") == plain
    with pytest.raises(ArgumentError, match="length is 0; it must be at least 1"):
        hit.snippet(0)


def _key(share: float, *positions: tuple[int, int], kind: str = "body") -> HitKey:
    return HitKey("k", kind, 1.0, share, 0.1, 1, -1.0, positions)


def test_pieces_that_overlap_are_joined() -> None:
    text = "abcdefghij"
    made = [_key(2.0, (0, 3), (5, 6)), _key(4.0, (2, 4)), _key(1.0, (8, 9), kind=UNIGRAM), _key(8.0, (6, 7))]
    assert [tuple(piece) for piece in highlights(text, made)] == [
        (0, 4, "abcd", 5.0),
        (5, 6, "f", 1.0),
        (6, 7, "g", 8.0),
    ]
    assert marked(text, highlights(text, made), "[", "]") == "[abcd]e[f][g]hij"
    assert snippet(text, [_key(1.0, (8, 9), kind=UNIGRAM)], 3, "[", "]") == "…h[i]j"
    assert snippet(text, [], 4, "[", "]") == "abcd…"
    assert snippet(text, [_key(1.0, (1, 8))], 3, "[", "]") in ("…[bcd]…", "a[bc]…", "[bc]…")


def test_the_statuses_of_documents(searcher: SealSearcher) -> None:
    ranking = searcher.search(QUERY, k=100)
    seen = set()
    for k in (1, 2, 100):
        for number, hit in enumerate(ranking, 1):
            found = searcher.explain(QUERY, hit.docid, k)
            assert (found.score, found.keys, found.rank) == (hit.score, hit.keys, number)
            assert found.status == ("ranked" if number <= k else "beyond_k")
            assert found.n_candidates == len(ranking)
            assert found.last_score == (ranking[k - 1].score if k <= len(ranking) else None)
            seen.add(found.status)
    others = {document.id for document in tiny.DOCUMENTS} - {hit.docid for hit in ranking}
    for docid in others:
        assert searcher.explain(QUERY, docid).status == "no_keys"
        seen.add("no_keys")
    found = searcher.explain(QUERY, "nope")
    assert (found.status, found.score, found.keys, found.contents) == ("unknown", None, (), None)
    assert "no document with the id 'nope'" in found.reason
    assert {"ranked", "beyond_k"} <= seen <= set(STATUSES)
    assert searcher.explain(" ", "d1").status == "no_keys"


def test_what_a_document_lacks(searcher: SealSearcher) -> None:
    found = searcher.explain(QUERY, "d2")
    assert found.n_lacking == len(found.lacking) or len(found.lacking) == 20
    weights = [key.weight for key in found.lacking]
    assert weights == sorted(weights, reverse=True)
    index, config = searcher.index, searcher.config.rank
    (stream,) = index.streams([1])
    text = f" {' '.join(map(str, stream.tolist()))} "
    scored = weigh(searcher.decode([QUERY])[0], config, index.n_tokens)
    held = [f" {' '.join(map(str, item.key.symbols))} " in text for item in scored]
    assert found.n_lacking == held.count(False)
    absent = [item.weight for item, there in zip(scored, held, strict=True) if not there]
    assert weights == absent[: len(weights)]
    assert all(key.text in (found.contents or "") for key in found.unused)
    assert searcher.explain(QUERY, "d2", n_lacking=1).lacking == found.lacking[:1]
    taken = {key.text for key in found.keys if key.kind != UNIGRAM}
    assert not taken & {key.text for key in (*found.unused, *found.lacking)}


def test_a_frequent_keys_document_is_no_candidate(tmp_path: Path) -> None:
    documents = [Document(f"s{i}", "", "Japan grew") for i in range(3)]
    documents += [Document("rare", "", "the capital of Japan was Kyoto"), *tiny.DOCUMENTS]
    documents += [Document(f"f{i}", "", "A whale and the sea, " * 3) for i in range(20)]
    tiny.build(tmp_path / "index", documents)
    plain = preset("paper")
    config = replace(plain, rank=replace(plain.rank, max_count=1))
    searcher = SealSearcher(tmp_path / "index", tiny.generator(), config=config)
    found = searcher.explain(QUERY, "s2", k=1)
    assert (found.status, found.rank) == ("not_candidate", None)
    assert found.would_rank is not None
    assert "more than [rank] max_count = 1" in found.reason
    assert found.score is not None
    assert found.score > 0
    assert searcher.explain(QUERY, "rare", k=1).status == "ranked"
    more = int(found.reason.rsplit("max_count = ", 1)[1].split()[0])
    larger = replace(plain, rank=replace(plain.rank, max_count=more))
    again = SealSearcher(tmp_path / "index", tiny.generator(), config=larger).explain(QUERY, "s2", k=1)
    assert (again.status, again.score) == ("beyond_k", found.score), "what it says to change helps"


@pytest.mark.parametrize("counts", ["collection", "filter"])
def test_a_filters_documents(searcher: SealSearcher, counts: str) -> None:
    within = searcher.make_filter(["d1", "d2", "d5"], counts=counts)  # type: ignore[arg-type]
    (first, *_) = searcher.search(QUERY, filter=within)
    inside = searcher.explain(QUERY, first.docid, filter=within)
    assert (inside.status, inside.score, inside.keys) == ("ranked", first.score, first.keys)
    outside = searcher.explain(QUERY, "d4", filter=within)
    assert (outside.status, outside.rank) == ("outside_filter", None)
    assert "allows 3 documents" in outside.reason
    assert searcher.explain(QUERY, "d1", filter=["d1"]).status == "ranked"
    with pytest.raises(InputError, match="no document with the id"):
        searcher.explain(QUERY, "d1", filter=["nope"])


def test_a_deleted_document(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index")
    with SealIndexer(tmp_path / "index") as writer:
        writer.delete(["d4"])
    searcher = SealSearcher(tmp_path / "index", tiny.generator(), preset="paper")
    found = searcher.explain(QUERY, "d4")
    assert (found.status, found.score) == ("deleted", None)
    assert "is deleted" in found.reason
    assert searcher.explain(QUERY, "d4x").status == "unknown"


def test_bad_arguments_are_refused(searcher: SealSearcher, tiny_index: Path) -> None:
    for arguments in ((3, "d1"), (QUERY, 3), (QUERY, "d1", 0)):
        with pytest.raises(ArgumentError):
            searcher.explain(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="n_lacking"):
        searcher.explain(QUERY, "d1", n_lacking=-1)
    slow = SealSearcher(tiny_index, tiny.generator(), preset="published")
    for ask in (lambda: slow.explain(QUERY, "d1"), lambda: slow.trace(QUERY)):
        with pytest.raises(UsageError, match="'published' is a baseline"):
            ask()


SHAPE = {
    "version", "query", "docid", "status", "reason", "k", "preset", "rank", "would_rank", "score",
    "last_score", "n_candidates", "rounding", "keys", "unused", "lacking", "n_lacking", "contents",
    "decoding",
}  # fmt: skip
KEY_SHAPE = {"text", "kind", "weight", "share", "fraction", "count", "logprob", "positions", "further"}


def test_json_has_the_documented_names(searcher: SealSearcher) -> None:
    page = (Path(__file__).parents[2] / "docs/explain.md").read_text(encoding="utf-8")
    for docid in ("d4", "d2", "nope"):
        values = json.loads(json.dumps(searcher.explain(QUERY, docid).to_dict(), allow_nan=False))
        assert set(values) == SHAPE
        assert values["version"] == 1
        assert all(set(key) == KEY_SHAPE for key in values["keys"] + values["unused"] + values["lacking"])
        shares = [key["share"] for key in values["keys"]]
        assert fsum([*shares, values["rounding"]]) == (values["score"] or 0.0)
    assert all(f"`{name}`" in page for name in SHAPE | KEY_SHAPE | set(STATUSES))


class _Tags(HTMLParser):
    """Which tags there are, and the text between them; every tag must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_escaped(tmp_path: Path) -> None:
    documents = [Document('<b>"id', "<i>t</i>", NASTY), *tiny.DOCUMENTS]
    tiny.build(tmp_path / "index", documents)
    searcher = SealSearcher(tmp_path / "index", tiny.generator(), preset="paper")
    query = NASTY.replace("\x00\x1b[31m", "")
    hit = next(hit for hit in searcher.search(query) if hit.docid == '<b>"id')
    for shown in (hit._repr_html_(), searcher.explain(query, hit.docid)._repr_html_()):
        assert shown is not None
        parsed = _Tags()
        parsed.feed(shown)
        assert parsed.open == []
        assert "script" not in parsed.seen
        assert '<script>alert("x")</script> & </mark> Japan is the capital' in parsed.text
        assert "\x00" not in shown
        assert "\x1b" not in shown


def test_the_decoding_is_recorded_and_changes_nothing(searcher: SealSearcher) -> None:
    plain = searcher.explain(QUERY, "d4")
    found = searcher.explain(QUERY, "d4", decoding=True)
    assert replace(found, decoding=None) == plain
    assert plain.decoding is None
    assert found.decoding == searcher.trace(QUERY)
    assert found.decoding is not None
    json.dumps(found.to_dict(), allow_nan=False)
    unknown = searcher.explain(QUERY, "nope", decoding=True)
    assert (unknown.status, unknown.decoding) == ("unknown", found.decoding)


def test_a_recorded_decoding_is_what_was_written(searcher: SealSearcher) -> None:
    found = searcher.trace(QUERY)
    written = {(key.kind, key.logprob) for key in searcher.decode([QUERY])[0].keys}
    assert [kind for kind, _ in found.kinds] == ["body", "title"]
    for kind, steps in found.kinds:
        known: dict[int, float] = {}
        expected: set[int] | None = None
        for number, step in enumerate(steps, 1):
            assert step.number == number
            ids = {item.id for item in step.hypotheses}
            assert expected is None or ids <= expected, "what goes on is there at the next step"
            for item in step.hypotheses:
                assert item.n_allowed > 0
                assert 0 <= item.allowed_mass <= 1
                assert all(not token.allowed for token in item.refused)
                assert [t.logprob for t in item.wanted] == sorted(
                    (t.logprob for t in item.wanted), reverse=True
                )
                assert (item.parent is None) == (number == 1)
            for item in step.continuations:
                assert item.parent in ids
                assert item.count >= 1
                assert item.logprob <= known.get(item.parent, 0.0) + 1e-9
                if kind == "body" or item.ends:
                    assert (kind, item.logprob) in written
            scores = [item.logprob for item in step.continuations]
            assert scores == sorted(scores, reverse=True)
            assert len(scores) <= 2 * searcher.config.decode.beam
            known = {i.hypothesis: i.logprob for i in step.continuations if i.hypothesis is not None}
            expected = set(known)


def test_allowed_tokens_are_those_of_the_index(searcher: SealSearcher) -> None:
    first = searcher.trace(QUERY).kinds[0].steps[0].hypotheses[0]
    index = searcher.index
    symbols = index.first_symbols.symbols
    assert first.n_allowed == int((symbols >= 16).sum())
    assert first.count == int(np.diff(index.everything).sum())
    (prompt_row,) = (first.wanted,)
    for token in prompt_row:
        (symbol,) = np.array(index.tokenizer.encode(token.text)) + 16
        assert token.allowed == (symbol in symbols)


def test_a_record_is_bounded(searcher: SealSearcher, monkeypatch: pytest.MonkeyPatch) -> None:
    from seal_ir.decode import recorder

    whole = searcher.trace(QUERY)
    monkeypatch.setattr(recorder, "MOST_HYPOTHESES", 20)
    cut = searcher.trace(QUERY)
    assert cut.truncated
    assert not whole.truncated
    n = sum(len(step.hypotheses) for _, steps in cut.kinds for step in steps)
    assert n <= 20
    for (_, some), (_, steps) in zip(cut.kinds, whole.kinds, strict=True):
        assert some == steps[: len(some)]
