"""An index in shards answers as one on one machine, asks once for a step, and survives a shard's loss."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow.compute as pc
import pytest

from seal_ir.config import PRESETS, SearchConfig, preset
from seal_ir.distributed.cluster import cut
from seal_ir.distributed.index import ShardedIndex
from seal_ir.errors import IndexDirError, InputError, SealError, UsageError
from seal_ir.explain.__main__ import main as explain_main
from seal_ir.index import tiers
from seal_ir.index.__main__ import main as index_main
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.rank import ranker
from seal_ir.records import Document, QueryKeys, Ranked
from seal_ir.search.__main__ import main as search_main
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.__main__ import main as server_main
from tests.cli.test_segmented_runs import QUERIES, further
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.sharded import InProcess, sharded
from tests.helpers.stub import FURTHER
from tests.helpers.stubbed import Stubbed
from tests.property.test_changing_index import same_rows

ONE_MACHINE = "published"
NAMES = sorted(set(PRESETS) - {ONE_MACHINE})
IDS = [f"d{number:02d}" for number in range(0, 26, 3)]


def documents() -> list[Document]:
    pairs = [(a, b) for a in tiny.DOCUMENTS for b in tiny.DOCUMENTS[:4]]
    return [
        Document(
            f"d{i:02d}",
            a.title,
            f"{a.text} {b.text}",
            f'{{"id": "d{i:02d}"}}',
            further=further(i, a),
            stored=(("year", i),),
        )
        for i, (a, b) in enumerate(pairs)
    ]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven segments, some of their documents deleted."""
    found = tmp_path_factory.mktemp("sharded") / "index"
    tiny.build(found, documents(), 280, fields=FURTHER, store=("year:int",), store_raw=True)
    with (
        patch.object(tiers, "FANOUT", 1000),
        patch.object(tiers, "MOST_DEAD", 0),  # no segment is rewritten
        SealIndexer(found) as writer,
    ):
        writer.delete(["d05", "d13", "d20"])
    segments = read_manifest(found).segments
    assert len(segments) == 7
    assert sum(segment.deleted is not None for segment in segments) == 3
    return found


@pytest.fixture(scope="module")
def one(directory: Path) -> Index:
    return Index(directory)


@pytest.fixture(params=[1, 2, 5])
def shards(request: pytest.FixtureRequest, directory: Path) -> ShardedIndex:
    found = sharded(directory, request.param)
    assert found.n_shards == request.param
    return found


def asked(index: ShardedIndex) -> list[str]:
    assert isinstance(index.shards, InProcess)
    return index.shards.asked


def seen(keys: list[QueryKeys]) -> list[object]:
    """What is the same whatever the rows are."""
    return [
        (
            [(key.symbols, key.logprob, key.count, key.kind) for key in query.keys],
            [c.tolist() for c in query.unigrams],
        )
        for query in keys
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_keys_and_hits_are_those_of_one_machine(directory: Path, one: Index, name: str) -> None:
    searchers = [SealSearcher(index, tiny.generator(), preset=name) for index in (one, sharded(directory, 3))]
    assert seen(searchers[0].decode(QUERIES)) == seen(searchers[1].decode(QUERIES))
    hits = [searcher.batch_search(QUERIES, QUERIES, k=20, threads=2) for searcher in searchers]
    assert sum(map(len, hits[0].values())) > 20
    assert hits[0] == hits[1]


def test_ngrams_and_documents(shards: ShardedIndex, one: Index) -> None:
    same_rows(shards, one)
    n = one.n_documents
    assert (shards.n_documents, shards.n_tokens) == (n, one.n_tokens)
    assert shards.documents([n - 1, 0, 7, 7]) == one.documents([n - 1, 0, 7, 7])
    assert shards.raws(range(n)) == one.raws(range(n))
    assert [a.tolist() for a in shards.streams([3, n - 1])] == [a.tolist() for a in one.streams([3, n - 1])]
    assert [shards.docid(number) for number in range(n)] == [one.docid(number) for number in range(n)]
    assert [shards.number(docid) for docid in ("d00", "d05", "d27", "x")] == [0, None, n - 1, None]
    assert shards.numbers_of(IDS).tolist() == one.numbers_of(IDS).tolist()
    assert shards.matching(pc.field("year") > 20).tolist() == one.matching(pc.field("year") > 20).tolist()
    assert [table.to_pylist() for table in shards.stored_tables()] == [
        table.to_pylist() for table in one.stored_tables()
    ]
    for name in ("title", *FURTHER):
        assert shards.value_lengths(name).tolist() == one.value_lengths(name).tolist()
    assert shards.engine_sizes() == one.engine_sizes()
    assert shards.tokenizer.fingerprint == one.tokenizer.fingerprint
    for call in (lambda: shards.docid(n), lambda: shards.documents([-1])):
        with pytest.raises(IndexError):
            call()


def test_candidates_are_verified_as_one_by_one(shards: ShardedIndex, one: Index) -> None:
    symbols = one.first_symbols.symbols[:40].reshape(2, 20)
    counts = [
        (verified[..., 1] - verified[..., 0]).sum(axis=-1).tolist()
        for index in (shards, one)
        for verified in [index.verify(index.successors(index.everything[None]).ranges[20:22], symbols)]
    ]
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_a_step_is_one_round_trip(shards: ShardedIndex) -> None:
    from seal_ir.decode.beam import decode
    from seal_ir.decode.constraint import CostRule

    generator, config = tiny.generator(), preset("thorough").decode
    before = len(asked(shards))
    expected = seen(decode(generator, shards, QUERIES, config).queries)
    steps = generator.model.n_steps + 1  # type: ignore[attr-defined]
    assert steps > 5
    # Beside the steps: all symbols, rows of everything, the queries' own n-grams.
    assert len(asked(shards)) - before <= steps + 3
    # Few ranges are wide in so small an index: here are more, and a model that likes what does not occur.
    before = len(asked(shards))
    assert seen(decode(generator, shards, QUERIES, config, CostRule(narrow=20)).queries) == expected
    assert asked(shards)[before:].count("continued") <= 3 * steps


@pytest.mark.slow
@pytest.mark.parametrize("counts", ["collection", "filter"])
def test_filters(shards: ShardedIndex, one: Index, counts: str) -> None:
    searchers = [SealSearcher(index, tiny.generator(), preset="thorough") for index in (one, shards)]
    for allowed in ([docid for docid in IDS if docid != "d05"], pc.field("year") > 20, []):
        made = [searcher.make_filter(allowed, counts=counts) for searcher in searchers]  # type: ignore[arg-type]
        assert made[0].view.n_tokens == made[1].view.n_tokens
        found = [
            searcher.batch_search(QUERIES, QUERIES, k=20, filter=within)
            for searcher, within in zip(searchers, made, strict=True)
        ]
        assert found[0] == found[1]
        assert bool(allowed is not None and sum(map(len, found[0].values()))) == (
            not isinstance(allowed, list) or bool(allowed)
        )
    with pytest.raises(InputError, match="no document with the id 'd05'"):
        searchers[1].make_filter(["d05"])


def _ranked(ranking: list[Ranked]) -> list[object]:
    return [
        (item.document, item.score, [(s.key.symbols, s.key.count, s.weight) for s in item.matched])
        for item in ranking
    ]


@pytest.mark.slow
@pytest.mark.parametrize("most_further", [1, 3, 100_000])
@pytest.mark.parametrize("score", ["max", "sum"])
@pytest.mark.parametrize("max_count", [1, 4])
def test_documents_of_frequent_keys(
    directory: Path,
    one: Index,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    most_further: int,
    score: str,
    max_count: int,
) -> None:
    """Which documents are scored is decided over all shards, and is said once."""
    from dataclasses import replace

    monkeypatch.setattr(ranker, "MOST_FURTHER", most_further)
    under: SearchConfig = preset("lm" if score == "max" else "paper")
    config = replace(under.rank, max_count=max_count)
    keys = SealSearcher(one, tiny.generator(), config=under).decode(QUERIES)
    for n in (2, 5):
        index = sharded(directory, n)
        told: list[list[str]] = []
        for query in keys:
            for n_hits in (1, 5, 20):
                with caplog.at_level(logging.WARNING):
                    caplog.clear()
                    expected = ranker.rank(one, query, config, n_hits)
                    told.append([r.getMessage() for r in caplog.records])
                    caplog.clear()
                    assert _ranked(index.rank(query, config, n_hits)) == _ranked(expected)
                    assert [record.getMessage() for record in caplog.records] == told[-1]
        assert not any(told) or most_further < 100_000


@pytest.mark.slow
def test_any_shard_may_be_lost_at_any_time(shards: ShardedIndex, one: Index) -> None:
    searchers = [SealSearcher(index, tiny.generator(), preset="thorough") for index in (one, shards)]
    filters = [searcher.make_filter([docid for docid in IDS if docid != "d05"]) for searcher in searchers]
    transport = shards.shards
    assert isinstance(transport, InProcess)
    transport.before = lambda n: transport.lose(n % shards.n_shards)
    for within in (None, filters):
        found = [
            searcher.batch_search(QUERIES, QUERIES, k=20, filter=within[at] if within else None)
            for at, searcher in enumerate(searchers)
        ]
        assert found[0] == found[1]


def test_a_forgotten_ngram_is_found_again(
    directory: Path, one: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seal_ir.distributed.rows._MOST", 3)
    searchers = [SealSearcher(index, tiny.generator()) for index in (one, sharded(directory, 2))]
    assert searchers[0].search(QUERIES[0]) == searchers[1].search(QUERIES[0])


def test_shards_of_a_rebuilt_index(directory: Path, tmp_path: Path) -> None:
    """What is open stays open; a shard that has to open its files again says that they are gone."""
    copied = Path(shutil.copytree(directory, tmp_path / "index"))
    searcher = SealSearcher(sharded(copied, 2), tiny.generator())
    transport = searcher.index.shards  # type: ignore[attr-defined]
    first = searcher.search(QUERIES[0])
    with SealIndexer(copied) as writer:
        writer.delete(["d00"])
        writer.merge()
    assert searcher.search(QUERIES[0]) == first
    transport.lose(1)
    with pytest.raises(IndexDirError, match="has been rebuilt since it was opened.*open it anew"):
        searcher.search(QUERIES[0])
    assert searcher.refresh()
    assert searcher.search(QUERIES[0]) == SealSearcher(copied, tiny.generator()).search(QUERIES[0])
    assert not searcher.refresh()


def test_damage_in_a_shard_is_told_in_a_line(directory: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(directory, tmp_path / "index"))
    last = read_manifest(copied).segments[-1].name
    (copied / last / "fm.bin").write_bytes(b"spoiled")
    searcher = SealSearcher(sharded(copied, 2), tiny.generator())
    with pytest.raises(IndexDirError, match=f"{last}/fm.bin: damaged") as error:
        searcher.search(QUERIES[0])
    assert "\n" not in str(error.value)
    with pytest.raises(SealError, match="no such index directory"):
        sharded(tmp_path / "nothing", 2)


def test_segments_are_shared_out_by_tokens(directory: Path) -> None:
    manifest = read_manifest(directory)
    n = len(manifest.segments)
    for wanted in (1, 2, 5, n, 100):
        bounds = cut(manifest, wanted)
        assert len(bounds) == min(wanted, n)
        assert [first for first, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
        assert bounds[-1][1] == n
        assert all(first < end for first, end in bounds)


def _texts(searcher: SealSearcher) -> Iterator[str]:
    for hit in searcher.search(QUERIES[0]):
        found = searcher.doc(hit.docid)
        assert found is not None
        yield found.raw()


def test_hits_bring_their_texts(directory: Path, one: Index) -> None:
    searchers = [SealSearcher(index, tiny.generator()) for index in (one, sharded(directory, 3))]
    assert list(_texts(searchers[0])) == list(_texts(searchers[1]))
    years = [searcher.doc("d06").get("year") for searcher in searchers]
    assert years == ["6", "6"]


def test_keys_of_hits_are_those_of_one_machine(directory: Path, one: Index) -> None:
    found = [
        SealSearcher(index, tiny.generator(), preset="thorough").search(QUERIES[0])
        for index in (one, sharded(directory, 3))
    ]
    assert found[0]
    assert any(hit.keys for hit in found[0])
    assert [hit.keys for hit in found[0]] == [hit.keys for hit in found[1]]


@pytest.mark.parametrize("within", [False, True])
def test_explanations_are_refused(directory: Path, within: bool) -> None:
    searcher = SealSearcher(sharded(directory, 2), tiny.generator())
    more = {"filter": IDS} if within else {}
    for asked in (
        lambda: searcher.explain(QUERIES[0], "d00", **more),
        lambda: searcher.trace(QUERIES[0], **more),
    ):
        with pytest.raises(UsageError, match="lie in shards here; open the index directory") as error:
            asked()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("main", [explain_main, server_main])
def test_commands_of_one_machine_have_no_ray(
    main: Callable[[list[str]], int], call: Runner, directory: Path
) -> None:
    result = call(main, "--index", directory, "--query", "x", "--ray", "local")
    assert result.code == 2
    assert "--ray" in result.err.splitlines()[-1] or "required" in result.err.splitlines()[-1]


def test_deleted_documents_are_known(directory: Path, one: Index) -> None:
    index = sharded(directory, 3)
    for docid, deleted in (("d05", True), ("d20", True), ("d00", False), ("none", False)):
        assert index.was_deleted(docid) == one.was_deleted(docid) == deleted


def test_options_that_do_not_go_together(
    call: Runner, stubbed: Stubbed, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text(f"q\t{QUERIES[0]}\n", encoding="utf-8")
    usual = ("--topics", topics, "--index", directory, "--output", tmp_path / "run.trec")
    assert_fault(call(search_main, *usual, "--shards", 2), 2, "--shards needs --ray")
    assert_fault(call(search_main, *usual, "--ray", "local", "--shards", 0), 2, "--shards is 0")
    published = call(search_main, *usual, "--ray", "local", "--preset", ONE_MACHINE)
    assert_fault(published, 2, "baseline of one machine; leave out --ray")
    assert_fault(
        call(index_main, "--index", directory, "--stats", "--ray", "local"), 2, "--ray builds an index"
    )
    assert_fault(call(index_main, "--index", directory, "--input", topics, "--shards", 2), 2, "needs --ray")
    monkeypatch.setitem(sys.modules, "ray", None)  # not installed
    told = "Ray is not installed; install it with: pip install 'seal-ir[ray]'"
    assert_fault(call(search_main, *usual, "--ray", "local"), 1, told)
    assert not (tmp_path / "run.trec").exists()
    with pytest.raises(UsageError, match="baseline of one machine"):
        sharded(directory, 2).locate_row(0, 1)


def test_nothing_imports_ray_unasked() -> None:
    names = ("cluster", "building", "index", "shard", "handed", "placement", "workers")
    imports = "".join(f"import seal_ir.distributed.{name}\n" for name in names)
    code = f"import sys\n{imports}assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
