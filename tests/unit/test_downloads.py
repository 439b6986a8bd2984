"""Downloads of indexes from a server on this machine: broken, resumed, wrong, redirected, hostile."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import random
import shutil
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError, InputError, SealError, UsageError
from seal_ir.formats.io import downloads
from seal_ir.formats.io.downloads import Download, fetch, unpack
from seal_ir.formats.io.resolve import Places
from seal_ir.index.download import downloaded, main
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index, registered
from tests.helpers.damage import flip
from tests.helpers.file_server import DATA, Server, archive, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def nothing(n_bytes: int) -> None:
    """Tell nobody."""


@pytest.mark.parametrize("path", ["/file", "/moved", "/breaks"])
def test_a_file_is_fetched_whole(server: Server, tmp_path: Path, path: str) -> None:
    told: list[int] = []
    fetch(server.of(path), tmp_path / "deep" / "file", told.append)
    assert (tmp_path / "deep" / "file").read_bytes() == DATA
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["file"]
    assert told[-1] == len(DATA)
    if path == "/breaks":
        third = len(DATA) // 3
        assert [asked for _, asked in server.asked] == [None, f"bytes={third}-", f"bytes={2 * third}-"]


@pytest.mark.slow
def test_a_slow_one_is_waited_for(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for the next piece, not for all."""
    monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.5)
    fetch(server.of("/dribbles"), tmp_path / "file", nothing)
    assert (tmp_path / "file").read_bytes() == DATA
    assert len(server.asked) == 1


@pytest.mark.slow
def test_what_came_before_a_silence_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.5)
    fetch(server.of("/stalls"), tmp_path / "file", nothing)
    assert (tmp_path / "file").read_bytes() == DATA
    assert [asked for _, asked in server.asked] == [None, "bytes=1000-"]


@pytest.mark.parametrize(("path", "start"), [("/file", "bytes=1000-"), ("/whole", "bytes=1000-")])
def test_another_call_goes_on(server: Server, tmp_path: Path, path: str, start: str) -> None:
    download = server.of(path)
    part = tmp_path / f".file.{download.sha256[:12]}.part"
    part.write_bytes(DATA[:1000])
    fetch(download, tmp_path / "file", nothing)
    assert (tmp_path / "file").read_bytes() == DATA
    assert server.asked == [(path, start)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/gone", "the server says 404 Not Found, after 0 of 1,280,000 bytes"),
        ("/loop", "the server says 302"),
        ("/elsewhere", "the server says 302"),
        ("/always-breaks", "it ends early, after 0 of 1,280,000 bytes; check the network and try again"),
        ("/longer", "is larger than the 1,280,000 bytes it should have"),
        ("/slow", "no answer (timed out)"),
    ],
)
def test_faults(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(InputError) as error:
        fetch(server.of(path), tmp_path / "file", nothing)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_refused_and_begun_anew(server: Server, tmp_path: Path) -> None:
    wrong = Download(server.of("/file").url, hashlib.sha256(b"other").hexdigest(), len(DATA))
    with pytest.raises(InputError, match="its sha256 is .* is expected; it is another file"):
        fetch(wrong, tmp_path / "file", nothing)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["/gone", "/always-breaks", "/longer", "/other"])
def test_a_mirror_is_asked_where_the_address_fails(server: Server, tmp_path: Path, broken: str) -> None:
    one, mirror = server.of(broken), server.of("/file").url
    fetch(replace(one, mirrors=(mirror,)), tmp_path / "file", nothing)
    assert (tmp_path / "file").read_bytes() == DATA
    assert [path for path, _ in server.asked][-1] == "/file"


def test_a_mirror_goes_on_where_the_address_ended(server: Server, tmp_path: Path) -> None:
    third = len(DATA) // 3
    part = tmp_path / f".file.{server.of('/file').sha256[:12]}.part"
    part.write_bytes(DATA[:third])
    fetch(replace(server.of("/gone"), mirrors=(server.of("/file").url,)), tmp_path / "file", nothing)
    assert server.asked == [("/gone", f"bytes={third}-"), ("/file", f"bytes={third}-")]


def test_where_no_address_has_it_all_are_told(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        fetch(replace(server.of("/gone"), mirrors=(server.of("/loop").url,)), tmp_path / "file", nothing)
    assert "/gone: the server says 404" in str(error.value)
    assert "; and http" in str(error.value)
    assert "/loop: the server says 302" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_only_one_process_adds_to_a_file(server: Server, tmp_path: Path) -> None:
    download = server.of("/file")
    part = tmp_path / f".file.{download.sha256[:12]}.part"
    part.write_bytes(DATA[:10])
    with part.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is downloading it"):
            fetch(download, tmp_path / "file", nothing)
    assert part.read_bytes() == DATA[:10]
    fetch(download, tmp_path / "file", nothing)
    assert (tmp_path / "file").read_bytes() == DATA


def test_nobody_listens(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=r"no answer \(.*Connection refused.*\), after 0 of 5 bytes"):
        fetch(Download("http://127.0.0.1:9/x", "0" * 64, 5), tmp_path / "file", nothing)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "values",
    [
        ("file:///etc/passwd", "0" * 64, 5),
        ("https://x", "0", 5),
        ("https://x", "0" * 64, 0),
        ("https://[x", "0" * 64, 5),
    ],
)
def test_what_cannot_be_checked(values: tuple[str, str, int]) -> None:
    with pytest.raises(InputError):
        Download(*values)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, "download is {}; it must have url, sha256, n_bytes"),
        ({"url": "https://x", "sha256": "0" * 64, "bytes": 5}, "it must have url, sha256, n_bytes"),
        (
            {"url": "https://x", "sha256": "0" * 64, "n_bytes": 5, "mirrors": ["file:///etc"]},
            "'file:///etc' is no address",
        ),
        ({"url": "https://x", "sha256": "0" * 64, "n_bytes": "5"}, "it must have url, sha256, n_bytes"),
    ],
)
def test_a_table_that_means_nothing(table: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as error:
        Download.of(table, "models.toml: small")
    assert told in str(error.value)


def test_a_table_with_mirrors() -> None:
    table = {"url": "https://x", "sha256": "0" * 64, "n_bytes": 5, "mirrors": ["http://y"]}
    assert Download.of(table, "here") == Download("https://x", "0" * 64, 5, ("http://y",))


def member(name: str, **values: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(info, key, value)
    return info


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (member("../evil"), "outside the destination"),
        (member("a/../../evil"), "outside the destination"),
        (member("a", type=tarfile.SYMTYPE, linkname="/etc"), "neither a file nor a folder"),
        (member("a", type=tarfile.LNKTYPE, linkname="b"), "neither a file nor a folder"),
        (member("a", type=tarfile.FIFOTYPE), "neither a file nor a folder"),
        (member("a", type=tarfile.CHRTYPE), "neither a file nor a folder"),
        (member("/evil"), "0 folders in it hold index.json, not one"),  # becomes relative
    ],
)
def test_hostile_archives(tmp_path: Path, info: tarfile.TarInfo, reason: str) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    made = archive(tmp_path / "a.tar", lambda tar: tar.addfile(info))
    with pytest.raises(InputError) as error:
        unpack(made, inner / "index", ("index.json",), str)
    assert reason in str(error.value)
    assert [one.name for one in tmp_path.iterdir() if one.name != "in"] == ["a.tar"]
    assert list(inner.iterdir()) == []
    assert not Path("/evil").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08 cut"])
def test_no_archives(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(InputError, match=r"a.tar: (cannot be unpacked|0 folders)"):
        unpack(tmp_path / "a.tar", tmp_path / "index", ("index.json",), str)
    assert not (tmp_path / "index").exists()


# gzip's checksum comes last and is not read; `fetch` has compared another one.
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bz2", "xz"])
def test_an_archive_that_is_damaged_in_the_middle(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "index.json"
    file.write_bytes(random.Random(1).randbytes(2_000_000))
    made = archive(tmp_path / "a.tar", lambda tar: tar.add(file, "x/index.json"), f"w:{kind}")
    flip(made)
    with pytest.raises(InputError, match=r"^a.tar: cannot be unpacked \(.+\)$"):
        unpack(made, tmp_path / "index", ("index.json",), str)
    assert not (tmp_path / "index").exists()


@pytest.fixture
def published(
    server: Server, tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Places]:
    """A registry with one index on the server, by the name "small"."""
    made = archive(tmp_path / "small.tar.gz", lambda tar: tar.add(tiny_index, "some/name"))
    server.content = made.read_bytes()
    one = server.of("/breaks")
    places = Places(None, tmp_path / "collections", tmp_path / "cache")
    places.collections.mkdir()
    (places.collections / "indexes.toml").write_text(
        '[[index]]\nname = "small"\ndescription = "seven"\ntopics = []\nbuild = "make it"\n'
        f'[index.download]\nurl = {json.dumps(one.url)}\nsha256 = "{one.sha256}"\nn_bytes = {one.n_bytes}\n'
    )
    monkeypatch.setattr(Places, "from_environment", classmethod(lambda cls: places))
    yield places


def test_a_published_index(
    published: Places, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"'small' is not here; download it \(.* MB\) with: python -m"):
        named_index("small", published)
    with pytest.raises(UsageError, match=r"would be a download of .* MB; agree with --yes"):
        main(["small"])
    assert server.asked == []
    told = f"from {server.of('/breaks').url} to {published.cache / 'indexes' / 'small'}"
    assert told in capsys.readouterr().err
    assert main(["small", "--yes"]) == 0
    assert capsys.readouterr().out == f"{published.cache / 'indexes' / 'small'}\n"
    assert Index(named_index("small", published).directory).n_documents == 7
    assert [one.name for one in (published.cache / "indexes").iterdir()] == ["small"]
    asked = list(server.asked)
    assert main(["small"]) == 0  # it is there
    assert server.asked == asked


@pytest.mark.parametrize(("names", "told"), [((), "none"), (("small",), "small"), (("b", "a"), "b, a")])
def test_a_name_that_is_not_registered(published: Places, names: tuple[str, ...], told: str) -> None:
    sections = [
        f"[[index]]\nname = '{name}'\ndescription = ''\ntopics = []\nbuild = 'make'\n" for name in names
    ]
    (published.collections / "indexes.toml").write_text("".join(sections))
    with pytest.raises(UsageError) as error:
        main(["large"])
    assert str(error.value) == f"large: no registered index; registered are: {told}"
    if names:
        with pytest.raises(UsageError) as error:
            main([names[0]])
        assert str(error.value) == f"index {names[0]!r} is not published; build it with: make"


def test_help_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "usage: python -m seal_ir.index.download [-h] [--version] [--yes] name"
    assert {"Download a registered index.", "name registered name", "--yes do not ask"} <= set(lines)


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"spoiled"), flip])
def test_a_published_index_that_is_damaged(
    published: Places, server: Server, tiny_index: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    """Nothing is left in its place."""
    spoiled = tmp_path / "spoiled"
    shutil.copytree(tiny_index, spoiled)
    spoil(next(spoiled.glob("segment-*/fm.bin")))
    server.content = archive(tmp_path / "b.tar", lambda tar: tar.add(spoiled, "."), "w").read_bytes()
    entry = replace(registered(published)[0], download=server.of("/file"))
    with pytest.raises(IndexDirError, match=r"^http\S+/file: segment-\S+/fm\.bin: .*; nothing was kept$"):
        downloaded(entry, agreed=True)
    assert list((published.cache / "indexes").iterdir()) == []
    assert not entry.present


@pytest.mark.parametrize(("answer", "fetched"), [("y\n", True), ("\n", False), ("no\n", False), ("", False)])
def test_it_asks_on_a_terminal(
    published: Places, monkeypatch: pytest.MonkeyPatch, answer: str, fetched: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", Terminal())
    if fetched:
        assert main(["small"]) == 0
    else:
        with pytest.raises(SealError, match="was not downloaded"):
            main(["small"])
    assert (published.cache / "indexes" / "small" / "index.json").is_file() == fetched
