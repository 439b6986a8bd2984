"""Names of topics, answers and qrels."""

import hashlib
import io
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.io import resolve as named
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_qrels, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.registry import registered
from seal_ir.text.pretrained import find_model

NQ = b"who\t['x']\r\nwhat\t['y']\r\n"


class Network:
    """Answers for urlopen: a body or an exception for each address; remembers what was asked."""

    def __init__(self, **bodies: bytes | Exception) -> None:
        self.bodies, self.asked = bodies, list[str]()

    def __call__(self, url: str, timeout: float) -> io.BytesIO:
        assert 0 < timeout <= 30
        assert url.startswith("https://")
        self.asked.append(url)
        body = self.bodies["new" if "/topics/" in url else "old"]
        if isinstance(body, Exception):
            raise body
        return io.BytesIO(body)


def gone() -> urllib.error.HTTPError:
    return urllib.error.HTTPError("u", 404, "Not Found", None, None)  # type: ignore[arg-type]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.chdir(tmp_path)
    network = Network(old=urllib.error.URLError("no network\nhere"), new=urllib.error.URLError("unasked"))
    monkeypatch.setattr(urllib.request, "urlopen", network)
    for name in (
        "data/topics/own.tsv",
        "data/answers/own.jsonl",
        "data/qrels/own.trec",
        "data/topics/zip.tsv.gz",
        "data/topics/topics.dpr.nq.test.txt",
        "collections/demo/topics.tsv",
        "collections/demo/answers.jsonl",
        "collections/demo/qrels.trec",
        "mine.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return Places(tmp_path / "data", tmp_path / "collections", tmp_path / "cache")


def test_files_and_names(places: Places, tmp_path: Path) -> None:
    assert resolve_topics("mine.txt", places) == Path("mine.txt")
    assert resolve_topics("own", places) == tmp_path / "data/topics/own.tsv"
    assert resolve_topics("zip", places) == tmp_path / "data/topics/zip.tsv.gz"
    assert resolve_topics("demo", places) == tmp_path / "collections/demo/topics.tsv"
    assert resolve_answers("own", places) == tmp_path / "data/answers/own.jsonl"
    assert resolve_answers("demo", places) == tmp_path / "collections/demo/answers.jsonl"
    assert resolve_qrels("own", places) == tmp_path / "data/qrels/own.trec"
    assert resolve_qrels("demo", places) == tmp_path / "collections/demo/qrels.trec"
    assert resolve_qrels("mine.txt", places) == Path("mine.txt")
    assert resolve_answers("zip", places) is None
    assert resolve_qrels("nq-test", places) is None
    assert not places.cache.exists()


def test_anserini_file_among_the_data(places: Places, tmp_path: Path) -> None:
    expected = tmp_path / "data/topics/topics.dpr.nq.test.txt"
    assert resolve_topics("dpr-nq-test", places) == expected
    assert resolve_answers("dpr-nq-test", places) == expected


def test_unknown_name_lists_the_known(places: Places) -> None:
    with pytest.raises(InputError) as error:
        resolve_topics("nq_test", places)
    text = str(error.value)
    assert "\n" not in text
    assert "'nq_test'" in text
    assert "demo, dpr-curated-test" in text
    assert "own, zip" in text


@pytest.mark.parametrize("name", ["none/topics.tsv", "typo.tsv", "typo.txt.gz", "", "../data", "x/" * 3000])
def test_a_path_that_does_not_exist(places: Places, name: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        resolve_topics(name, places)
    if name.endswith("/topics.tsv"):
        with pytest.raises(InputError, match="no such file"):
            resolve_qrels(name, places)


def test_a_very_long_name(places: Places) -> None:
    with pytest.raises(InputError, match="no such name"):
        resolve_topics("x" * 5000, places)


def test_no_network(places: Places) -> None:
    for resolve in (resolve_topics, resolve_answers):
        with pytest.raises(InputError) as error:
            resolve("nq-dev", places)
        text = str(error.value)
        assert "\n" not in text
        for part in (
            "no network here",
            f"put topics.nq.dev.txt into {places.cache / 'topics'}",
            "SEAL_IR_DATA",
        ):
            assert part in text
        assert "unasked" not in text
    assert not places.cache.exists()


def test_download_once(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(old=gone(), new=NQ)
    monkeypatch.setattr(urllib.request, "urlopen", network)
    path = resolve_topics("nq-dev", places)
    assert path == places.cache / "topics" / "topics.nq.dev.txt"
    assert path.read_bytes() == NQ
    assert [query.text for query in read_topics(path)] == ["who", "what"]
    assert resolve_topics("nq-dev", places) == resolve_answers("nq-dev", places) == path
    assert [url.rsplit("/", 2)[1] for url in network.asked] == ["topics-and-qrels", "topics"]


def test_download_is_checked(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", Network(old=b"<html>", new=gone()))
    with pytest.raises(InputError, match=r"md5 .* is expected; HTTP Error 404"):
        resolve_topics("nq-test", places)
    assert not places.cache.exists()
    digest = hashlib.md5(NQ, usedforsecurity=False).hexdigest()
    monkeypatch.setitem(named._MD5, "topics.nq.test.txt", digest)
    monkeypatch.setattr(urllib.request, "urlopen", Network(old=NQ))
    assert resolve_topics("nq-test", places).read_bytes() == NQ


def test_places_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(tmp_path))
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    places = Places.from_environment()
    assert (places.data, places.cache) == (tmp_path, tmp_path / "cache")
    assert places.collections.name in ("collections", "_collections")
    monkeypatch.setenv("SEAL_IR_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match="SEAL_IR_DATA"):
        Places.from_environment()
    monkeypatch.setenv("SEAL_IR_DATA", "")
    monkeypatch.delenv("SEAL_IR_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    places = Places.from_environment()
    assert places.data is None
    assert places.cache == tmp_path / ".cache" / "seal_ir"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("setting", [None, "~/cache", "~nobody-has-this-name/cache"])
def test_j7_without_a_home_folder_the_cache_has_no_place_and_no_tilde_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    """One error for whatever lies in the cache; what needs none works."""

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("SEAL_IR_DATA", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    if setting is None:
        monkeypatch.delenv("SEAL_IR_CACHE", raising=False)
    else:
        monkeypatch.setenv("SEAL_IR_CACHE", setting)
    places = Places.from_environment()
    assert resolve_topics("demo", places).is_file()
    for ask in (
        lambda: places.cache,
        lambda: resolve_topics("nq-test", places),
        lambda: find_model("smollm2-135m"),
        lambda: find_model("seal-nq"),
        lambda: registered(places),
    ):
        with pytest.raises(InputError, match="no place for the cache: HOME is not set.*set SEAL_IR_CACHE"):
            ask()
    monkeypatch.setenv("SEAL_IR_DATA", "~/data")
    with pytest.raises(InputError, match="SEAL_IR_DATA is '~/data', which is no folder"):
        Places.from_environment()
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SEAL_IR_DATA")
    assert Places.from_environment().cache == tmp_path / "cache"
