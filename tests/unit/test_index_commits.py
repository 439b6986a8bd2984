"""What a commit and a merge put into the manifest: names, counts, lists of deletions, and what was told."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.errors import InputError, SealError
from seal_ir.index import tiers
from seal_ir.index.builder import BuildOptions
from seal_ir.index.directory import LOCK, WORKING
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST, Manifest, read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.indexes import content, edit, ids

OLD = [document.id for document in tiny.DOCUMENTS]
SMALL = BuildOptions(max_segment_tokens=60)  # two of the documents below, or one of the tiny index
SEAS = [Document(f"n{number}", "", "sea " * 25) for number in range(7)]


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of an index, that is to be changed, and whose segments stay unless they are to be merged."""
    monkeypatch.setattr(tiers, "FANOUT", 1000)
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


def check_files(directory: Path) -> Manifest:
    """Every file that the manifest names belongs to something that it names, and the other way round."""
    manifest = read_manifest(directory)
    assert all(re.fullmatch(r"segment-\d{6}-[0-9a-f]{12}", segment.name) for segment in manifest.segments)
    for segment in manifest.segments:  # docs/format.md
        own = {name: entry["sha256"] for name, entry in manifest.files.items() if segment.name in name}
        lines = "".join(f"{name.partition('/')[2]} {own[name]}\n" for name in sorted(own))
        assert segment.name.endswith(f"-{hashlib.sha256(lines.encode()).hexdigest()[:12]}")
    lists = {segment.deleted.file for segment in manifest.segments if segment.deleted}
    named = {name.partition("/")[0] for name in manifest.files}
    assert named == {*(segment.name for segment in manifest.segments), *lists, manifest.tokenizer_file}
    there = {name for name in content(directory) if not name.startswith((LOCK, WORKING))}
    assert there == {*manifest.files, MANIFEST}
    assert all(segment.n_live for segment in manifest.segments)
    verify_index(directory, lambda told: None, None)
    return manifest


def numbers(manifest: Manifest) -> list[int]:
    return [int(segment.name.split("-")[1]) for segment in manifest.segments]


def test_segments_are_numbered_on_through_commits_and_merges(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        for document in SEAS[:3]:
            writer.add([document])
            writer.commit()
        assert numbers(check_files(directory)) == [0, 1, 2, 3]
        writer.merge(2)
        assert numbers(check_files(directory)) == [0, 4]
        writer.add([SEAS[3]])
        writer.commit()
        assert numbers(check_files(directory)) == [0, 4, 5]
    assert ids(directory) == [*OLD, "n0", "n1", "n2", "n3"]


def test_several_groups_are_merged_in_one_step(directory: Path) -> None:
    sizes = [30, 1, 30, 1, 30]
    with SealIndexer(directory) as writer:
        for number, size in enumerate(sizes):
            writer.add([Document(f"n{number}", "", "sea " * size)])
            writer.commit()
        writer.delete(["n0", "d1"])
        writer.merge(4)  # what was not merged, but lost documents, is rewritten
    manifest = check_files(directory)
    assert ids(directory) == [*OLD[1:], "n1", "n2", "n3", "n4"]
    assert not any(segment.deleted for segment in manifest.segments)
    assert len(set(numbers(manifest))) == len(manifest.segments) <= 4


def test_deletions_in_new_segments_of_one_commit(directory: Path) -> None:
    with SealIndexer(directory, options=SMALL) as writer:
        writer.add(SEAS)
        writer.delete(["n2", "n4", "n5"])
    manifest = check_files(directory)
    assert numbers(manifest) == [0, 1, 2, 4]  # the third new one has nothing left
    assert [(part.n_documents, part.n_live) for part in manifest.segments] == [(7, 7), (2, 2), (2, 1), (1, 1)]
    lengths = dict(zip(ids(directory), map(len, Index(directory).streams(range(11))), strict=True))
    assert manifest.segments[2].n_live_tokens == lengths["n3"]
    assert ids(directory) == [*OLD, "n0", "n1", "n3", "n6"]
    assert (manifest.collection["added"], manifest.collection["deleted"]) == (7, 3)


def test_what_is_deleted_before_it_was_committed_leaves_nothing(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.add(SEAS[:2])
        writer.delete(["n0"])
        with pytest.raises(InputError, match="there is no document with the id 'n0'"):
            writer.delete(["n0"])
        writer.add(SEAS[:1])
        writer.delete(["n0", "n1"])
        assert writer.n_documents == len(OLD)
    assert [part.n_documents for part in check_files(directory).segments] == [len(OLD)]
    assert ids(directory) == OLD


def test_what_a_commit_deleted_is_there_no_more_and_all_else_is(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.delete(["d2", "d4"])
        writer.commit()
        for docid in ("d2", "d4"):
            with pytest.raises(InputError, match=f"there is no document with the id '{docid}'"):
                writer.delete([docid])
        writer.delete(["d1", "d5"])
        for docid in ("d1", "d5"):
            with pytest.raises(InputError, match=f"there is no document with the id '{docid}'"):
                writer.update([Document(docid, "", "x")])
        writer.add([Document("d4", "", "again")])
    assert ids(directory) == ["d3#0", "d3#1", "d6", "d4"]
    (first, second) = check_files(directory).segments
    assert (first.n_live, second.n_live) == (3, 1)
    was_deleted = Index(directory).was_deleted
    assert [docid for docid in [*OLD, "none"] if was_deleted(docid)] == ["d1", "d2", "d4", "d5"]
    with SealIndexer(directory) as writer:
        writer.merge()
    assert not any(map(Index(directory).was_deleted, OLD))


def test_lists_of_deletions_of_segments_that_do_not_change_stay(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.add(SEAS[:3])
        writer.commit()
        writer.delete(["d1", "n0"])
        writer.commit()
        before = [part.deleted for part in check_files(directory).segments]
        writer.delete(["n2"])
        writer.commit()
        after = [part.deleted for part in check_files(directory).segments]
        assert after[0] == before[0]
        assert after[1] is not None
        assert after[1].n_documents == 2
        writer.delete(["n1"])  # the last one of its segment, which goes
    assert [part.deleted for part in check_files(directory).segments] == before[:1]
    assert ids(directory) == OLD[1:]


def test_counts_of_a_call_that_is_taken_back(directory: Path) -> None:
    with SealIndexer(directory, options=SMALL) as writer:
        writer.delete(["d1", "d2"])
        writer.add(SEAS[:3])
        for _ in range(2):
            with pytest.raises(InputError, match="a segment holds at most 60"):
                writer.add(
                    [
                        *(Document(docid, "", "x") for docid in ("d4", "d5", "n1")),
                        Document("long", "", "x " * 90),
                    ],
                    "last",
                )
            assert writer.n_documents == len(OLD) + 1
        with pytest.raises(InputError, match="the id 'n1' is there already"):
            writer.add([SEAS[1]])
        writer.delete(["n1"])
    assert ids(directory) == [*OLD[2:], "n0", "n2"]
    collection = check_files(directory).collection
    assert (collection["added"], collection["deleted"]) == (3, 3)
    with SealIndexer(directory) as writer:
        writer.add([SEAS[1]])
    assert check_files(directory).collection == {**collection, "added": 4, "deleted": 3}


def test_arguments_that_mean_nothing_are_named(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        told: list[tuple[Callable[[], None], str]] = [
            (lambda: writer.delete(["d1", 5]), "ids[1] is 5 (int); it must be text"),  # type: ignore[list-item]
            (lambda: writer.delete("d1"), "ids is 'd1' (str), a single one; give a list of them"),
            (lambda: writer.merge(0), "max_segments is 0; it must be at least 1"),
            (lambda: writer.merge(1.5), "max_segments is 1.5 (float); it must be an integer"),  # type: ignore[arg-type]
            (
                lambda: writer.add([SEAS[0], Document("d1", "", "x")]),
                f"{directory}: the id 'd1' is there already; update it, or choose to keep the first or the"
                " last",
            ),
            (
                lambda: writer.update([SEAS[0]]),
                f"{directory}: there is no document with the id 'n0'; check it, or add it",
            ),
        ]
        for call, message in told:
            with pytest.raises(SealError) as error:
                call()
            assert str(error.value) == message
    assert ids(directory) == OLD


def test_the_last_document_is_not_deleted(directory: Path) -> None:
    with pytest.raises(InputError) as error, SealIndexer(directory) as writer:
        writer.delete(OLD)
    assert str(error.value) == (
        f"{directory}: every document would be deleted, and an index holds at least one;"
        " add others in the same commit, or remove the directory"
    )


def test_progress_tells_of_every_phase_of_a_commit(directory: Path) -> None:
    told: list[tuple[str, int]] = []
    with SealIndexer(directory, progress=lambda *what: told.append(what)) as writer:
        writer.add(SEAS[:2])
        writer.commit()
        assert told[0] == ("tokenising", 2)
        assert {n for _, n in told[1:-1]} == {2}
        n_tokens = writer.manifest.segments[-1].n_tokens
        named = {phase.partition(": ")[0] for phase, _ in told[1:-1]}
        assert named == {f"building segment-000001 of {n_tokens:,} tokens"}
        assert told[-1] == ("computing checksums", len(OLD) + 2)
        told.clear()
        writer.merge()
        assert told[-1] == ("computing checksums", len(OLD) + 2)
        assert {n for _, n in told} == {len(OLD) + 2}


def test_what_a_newer_version_wrote_is_gone_after_a_commit(directory: Path) -> None:
    edit(directory, longest={"title": 9}, format=4)
    with SealIndexer(directory) as writer:
        assert (writer.manifest.unknown, writer.manifest.version) == (("longest",), 4)
        writer.add(SEAS[:1])
        writer.commit()
        assert writer.manifest.unknown == ()
        assert writer.manifest.version == read_manifest(directory).version == 5


def test_a_merge_keeps_what_stands_beside_the_streams(tmp_path: Path) -> None:
    """Texts that the tokenizer loses, stored fields and records; by a writer that was opened for it."""
    lower = json.loads(tiny.definition()) | {"normalizer": {"type": "Lowercase"}}
    documents = [
        Document("a", "The Sea", "is DEEP", '{"id": "a"}', stored=(("year", 5),)),
        Document("b", "", "the  sea"),
        Document("c", "", "Sea", '{"id": "c"}', stored=(("year", 7),)),
    ]
    options = BuildOptions(store_raw=True, store=("year:int",))
    with SealIndexer(tmp_path / "index", tiny.TextTokenizer(json.dumps(lower)), options=options) as writer:
        writer.add(documents)
    with SealIndexer(tmp_path / "index") as writer:
        writer.delete(["b"])
        writer.merge()
    index = Index(tmp_path / "index")
    found = index.documents([0, 1])
    assert [(d.id, d.title, d.text) for d in found] == [("a", "The Sea", "is DEEP"), ("c", "", "Sea")]
    assert index.raws([0, 1]) == ['{"id": "a"}', '{"id": "c"}']
    (table,) = index.stored_tables()
    assert table.to_pydict() == {"id": ["a", "c"], "year": [5, 7]}
    assert [part.n_documents for part in read_manifest(tmp_path / "index").segments] == [2]
