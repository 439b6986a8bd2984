"""Lucene indexes that Pyserini made become ours; topics and judgements by Pyserini's names."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.io.resolve import Places, known_topics, resolve_qrels, resolve_topics
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.__main__ import main as index_main
from seal_ir.index.reader import Index
from seal_ir.pyserini_plugin import build_lucene_index
from tests.helpers import tiny
from tests.helpers.commands import Runner

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "collections" / "demo" / "corpus.jsonl"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]
BEIR = '{"_id": "b1", "title": "Thames", "text": "It flows through London.", "metadata": {"n": 1}}\n'
TREC = """<DOC>
<DOCNO> FT-1 </DOCNO>
<TEXT>
<P>Tea &amp; cake are
 served.</P>
</TEXT>
</DOC>
"""
# Two indexes more, by Lucene's own classes: one with a deleted document, one that is not Anserini's.
MADE = """
from seal_ir.pyserini_plugin import java_class as java
path = java("java.nio.file.Path")
store = java("org.apache.lucene.store.FSDirectory")
index, lucene = "org.apache.lucene.index.", "org.apache.lucene.document."
writer_class, config = java(index + "IndexWriter"), java(index + "IndexWriterConfig")
document, field = java(lucene + "Document"), java(lucene + "StringField")
yes = java(lucene + "Field$Store").YES
for name, id_field in (("deleted", "id"), ("foreign", "key")):
    writer = writer_class(store.open(path.of(name)), config())
    for number in range(3):
        one = document()
        one.add(field(id_field, f"n{number}", yes))
        one.add(field("contents", f"Text {number}.", yes))
        one.add(field("title", "A title", yes))
        writer.addDocument(one)
    writer.commit()
    if name == "deleted":
        writer.deleteDocuments(java("org.apache.lucene.search.TermQuery")(java(index + "Term")("id", "n1")))
    writer.close()
"""


def anserini(folder: Path, kind: str, source: str, *options: str) -> None:
    words = ["pyserini.index.lucene", "--collection", kind, "--input", source, "--index", f"lucene-{source}"]
    words += ["--generator", "DefaultLuceneDocumentGenerator", "--threads", "1", *options]
    subprocess.run(
        [sys.executable, "-m", "seal_ir.pyserini_plugin", *words], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lucene")
    for name, text in (("beir/corpus.jsonl", BEIR), ("trec/one.sgml", TREC), ("bare/c.jsonl", "")):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text or '{"id": "1", "contents": "tea"}\n', encoding="utf-8")
    build_lucene_index(CORPUS, folder / "lucene-demo")
    anserini(folder, "BeirFlatCollection", "beir", "--storeRaw")
    anserini(folder, "TrecCollection", "trec", "--storeRaw")
    anserini(folder, "JsonCollection", "bare")
    subprocess.run([sys.executable, "-c", MADE], cwd=folder, check=True, capture_output=True)
    return folder


def test_a_lucene_index_becomes_ours(folder: Path, tmp_path: Path, call: Runner) -> None:
    """The same documents as from the collection: the same FM-index, byte for byte."""
    model = tiny.save_tokenizer(tmp_path / "model")
    made = []
    for name, kind, source in (("a", "LuceneIndex", folder / "lucene-demo"), ("b", "JsonCollection", CORPUS)):
        words = ["--collection", kind, "--input", str(source), "--model", str(model)]
        assert index_main([*words, "--index", str(tmp_path / name)]) == 0
        made.append(Index(tmp_path / name))
    lucene, ours = made
    assert lucene.manifest.collection["kind"] == "LuceneIndex"
    assert lucene.n_documents == ours.n_documents == 157
    numbers = range(157)
    assert lucene.documents(numbers) == ours.documents(numbers)
    engines = [next(path.glob("segment-*/fm.bin")).read_bytes() for path in (tmp_path / "a", tmp_path / "b")]
    assert engines[0] == engines[1]


def test_raw_records_and_included_ids(folder: Path) -> None:
    options = ReadOptions(keep_raw=True, include_ids=frozenset(["mount-etna#0"]))
    collection = Collection("LuceneIndex", folder / "lucene-demo", options)
    for _ in range(2):  # each pass is a process of its own
        (document,) = collection
        assert document.raw is not None
        assert json.loads(document.raw)["id"] == document.id == "mount-etna#0"
    assert collection.counts.excluded == 156


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lucene-beir", [("b1", "Thames", "It flows through London.")]),
        ("lucene-trec", [("FT-1", "", "Tea & cake are served.")]),
        ("deleted", [("n0", "A title", "Text 0."), ("n2", "A title", "Text 2.")]),
    ],
)
def test_other_records(folder: Path, name: str, expected: list[tuple[str, str, str]]) -> None:
    found = [(one.id, one.title, one.text) for one in Collection("LuceneIndex", folder / name)]
    assert found == expected


def test_a_prebuilt_index_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyserini's cache is where its own searchers look; the name's file and checksum are Pyserini's."""
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path))
    names = "pyserini_module('pyserini.prebuilt_index_info').TF_INDEX_INFO['cacm']"
    code = f"from seal_ir.pyserini_plugin import pyserini_module; import json; print(json.dumps({names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    info = json.loads(done.stdout)
    (tmp_path / "indexes").mkdir()
    stem = info["filename"].removesuffix(".tar.gz")
    (tmp_path / "indexes" / f"{stem}.{info['md5']}").symlink_to(folder / "lucene-demo")
    assert sum(1 for _ in Collection("LuceneIndex", Path("cacm"))) == 157


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda folder: folder / "lucene-bare",
            "are not stored (of the first one it keeps id)",
        ),
        (lambda folder: Path("no-such-index-at-all"), "Unrecognized index name no-such-index-at-all"),
        (lambda folder: folder / "foreign", "no stored field id; every document needs one"),
    ],
)
def test_refusals(folder: Path, make: Callable[[Path], Path], reason: str) -> None:
    with pytest.raises(InputError) as error:
        list(Collection("LuceneIndex", make(folder)))
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_damaged_index_and_one_that_cannot_be_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "segments_1").write_bytes(b"no index")
    with pytest.raises(InputError, match="Lucene cannot open it") as error:
        list(Collection("LuceneIndex", tmp_path))
    assert "\n" not in str(error.value)
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody listens
    started = time.monotonic()
    with pytest.raises(InputError, match="Unable to download prebuilt index at any known URLs"):
        list(Collection("LuceneIndex", Path("cacm")))
    assert time.monotonic() - started < 60


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Java's idea of a home, where Anserini keeps the files that it downloaded; no network."""
    kept = tmp_path / ".cache" / "pyserini" / "topics-and-qrels"
    kept.mkdir(parents=True)
    options = f"-Duser.home={tmp_path} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", options)
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "ours"))
    return kept


def test_topics_and_judgements_by_pyserinis_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "topics.beir-v1.0.0-scifact.test.tsv").write_text("007\twhat is tea\nx-1\twho drinks it\n")
    (home / "topics.dl19-passage.txt").write_text("19335\tanthropological definition\n")
    (home / "qrels.dl19-passage.txt").write_text("19335 Q0 1017759 0\n19335 Q0 1082489 2\n")
    places = Places.from_environment()
    assert "dl19-passage" not in known_topics(places)
    path = resolve_topics("dl19-passage", places)
    assert [tuple(query) for query in read_topics(path)] == [("19335", "anthropological definition")]
    judged = resolve_qrels("dl19-passage", places)
    assert judged is not None
    assert read_qrels(judged) == {"19335": {"1017759": 0, "1082489": 2}}
    for file in home.iterdir():
        file.unlink()
    assert resolve_topics("dl19-passage", places) == path  # kept: no Java, no network
    assert resolve_qrels("dl19-passage", places) == judged
    for resolve, what in ((resolve_topics, "topics"), (resolve_qrels, "qrels")):
        with pytest.raises(InputError) as error:
            resolve("robust04", places)
        message = str(error.value)
        assert message.startswith(f"{what} of robust04: Pyserini could not get them (Error downloading ")
        assert "\n" not in message
    assert [file.name for file in path.parent.iterdir()] == ["dl19-passage.jsonl"]


def test_without_pyserini(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyserini.py").write_text("raise ImportError('none')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    with pytest.raises(UsageError, match=r"Lucene needs Pyserini \(.*\); pip install 'seal-ir\[pyserini\]'"):
        list(Collection("LuceneIndex", folder / "lucene-demo"))
