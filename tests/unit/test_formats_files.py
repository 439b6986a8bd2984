"""Lines, compression, folders and the atomic writer."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
from pathlib import Path

import pytest
import zstandard

from seal_ir.errors import InputError, SealError, UsageError
from seal_ir.formats.io.files import atomic_writer, iter_lines, open_text
from seal_ir.formats.io.folders import find_documents

TEXT = "Zürich “quoted” 東京\nsecond\n"
PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    "": bytes,
}


def lines_of(path: Path) -> list[str]:
    return [line for _, line in iter_lines(path)]


def message(error: pytest.ExceptionInfo[SealError], *parts: str) -> str:
    text = str(error.value)
    assert "\n" not in text
    for part in parts:
        assert part in text, text
    return text


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_forms_read_alike(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](TEXT.encode()))
    assert list(iter_lines(path)) == [(1, "Zürich “quoted” 東京"), (2, "second")]
    with open_text(path) as stream:
        assert stream.read() == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a11_compression_is_told_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(PACK[suffix](TEXT.encode()))
    assert lines_of(path)[1] == "second"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("content", [b"plain text\n", b""])
def test_a11_compressed_name_without_compressed_content(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"corpus.tsv{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, str(path), suffix, "rename")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a11_truncated_data(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(PACK[suffix](os.urandom(4000).hex().encode())[:-20])
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, str(path), "truncated")


def test_a11_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    data = bytearray(gzip.compress(os.urandom(4000).hex().encode()))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, str(path), "damaged")


@pytest.mark.parametrize(
    ("name", "head"),
    [("a.zip", b"PK\x03\x04"), ("a", b"PK\x03\x04"), ("a.tsv", b"\x04\x22\x4d\x18"), ("a.tsv.lz4", b"d1\tt")],
)
def test_a11_unknown_compression_is_never_read_as_text(tmp_path: Path, name: str, head: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(head + b"rest\n")
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, str(path), "unpack it")


def test_a11_tar_inside_gzip_is_named(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("collection.tsv"))
    for name in ("a.tar.gz", "b.tgz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(buffer.getvalue()))
        with pytest.raises(InputError) as error:
            lines_of(path)
        message(error, "tar", "unpack it")


def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert lines_of(path) == ["one", "two"]


def test_zstd_frames_and_truncation(tmp_path: Path) -> None:
    pack = zstandard.ZstdCompressor().compress
    path = tmp_path / "a.zst"
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip"
    path.write_bytes(pack(b"one\n") + skippable + pack(b"two\n" * 100_000))
    assert lines_of(path) == ["one"] + ["two"] * 100_000
    path.write_bytes(pack(os.urandom(4000).hex().encode())[:-20])
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, "truncated")
    path.write_bytes(pack(b"x" * 1000)[:8] + b"\xff" * 40)
    with pytest.raises(InputError):
        lines_of(path)


def test_a4_byte_order_mark_at_the_start_only(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("\ufefffirst\n\ufeffsecond\n".encode())
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, f"{path}:2", "begins with a byte order mark", "put together")


def test_only_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("a\x0bb\x0cc\x1cd\x85e\u2028f\rg\r\n\nlast".encode())
    assert list(iter_lines(path)) == [(1, "a\x0bb\x0cc\x1cd\x85e\u2028f\rg"), (2, ""), (3, "last")]


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"fine\ncaf\xe9 au lait\n")
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, f"{path}:2:", "0xe9 at position 4", "UTF-8")


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("d1\ttext\n".encode("utf-16"))
    with pytest.raises(InputError) as error:
        lines_of(path)
    message(error, "UTF-16", "iconv")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError) as error:
            lines_of(path)
        message(error, str(path))


def test_a10_file_or_folder(tmp_path: Path) -> None:
    for name in (
        "b/2.jsonl",
        "a.JSONL",
        "b/1.jsonl.gz",
        "b/c/x.jsonl.zip",
        "read.me",
        ".hidden.jsonl",
        ".git/a.jsonl",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    paths = find_documents(tmp_path, (".jsonl", ".json")).paths
    found = [path.relative_to(tmp_path).as_posix() for path in paths]
    assert found == ["a.JSONL", "b/1.jsonl.gz", "b/2.jsonl", "b/c/x.jsonl.zip"]
    assert find_documents(tmp_path / "read.me", (".jsonl",)).paths == [tmp_path / "read.me"]


def test_a10_wrong_empty_and_unsuitable_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.csv").touch()
    for name, part in (
        ("none", "no such"),
        ("empty", "is empty"),
        ("other", "its 1 files"),
        ("x" * 300, "no such"),
    ):
        with pytest.raises(InputError) as error:
            find_documents(tmp_path / name, (".jsonl", ".json"))
        text = message(error, str(tmp_path / name), part)
        assert part == "no such" or ".jsonl, .json" in text


def test_a10_linked_folders_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.tsv").touch()
    (tmp_path / "real" / "loop").symlink_to(tmp_path / "real")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "real")
    assert find_documents(tmp_path / "root", (".tsv",)).paths == [tmp_path / "root" / "link" / "a.tsv"]


def test_writer_puts_the_whole_file_or_none(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.txt"
    with atomic_writer(path) as stream:
        stream.write("東京\r\nb\n")
        assert not path.exists()
    assert path.read_bytes() == "東京\r\nb\n".encode()
    with pytest.raises(RuntimeError), atomic_writer(path) as stream:
        stream.write("half")
        raise RuntimeError
    assert path.read_bytes() == "東京\r\nb\n".encode()
    assert list(path.parent.iterdir()) == [path]
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_writer_follows_a_link_and_writes_to_devices(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    with atomic_writer(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    with atomic_writer(Path("/dev/null")) as stream:
        stream.write("gone")
    assert not Path("/dev/null").is_file()


def test_writer_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(UsageError) as error, atomic_writer(path):
            pass
        message(error, str(path))


def test_writer_tells_a_full_disk(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with pytest.raises(UsageError) as error, atomic_writer(Path("/dev/full")) as stream:
        stream.write("x" * 100_000)
    message(error, "/dev/full", "room")


def test_writer_passes_other_errors_on(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "a"):
        (tmp_path / "none").read_text()
    assert not list(tmp_path.iterdir())
