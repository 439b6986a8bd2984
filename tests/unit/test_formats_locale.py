"""Reading and writing in a process whose locale knows ASCII only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import locale, sys
from pathlib import Path
from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.topics.reading import read_topics
from seal_ir.formats.runs.trec import RunWriter, read_run
from seal_ir.records import Hit
folder = Path(sys.argv[1])
assert "utf" not in locale.getpreferredencoding(False).lower(), locale.getpreferredencoding(False)
documents = list(Collection("TsvCollection", folder / "corpus.tsv"))
assert documents == list(Collection("JsonCollection", folder / "corpus.jsonl"))
(query,) = read_topics(folder / "topics.tsv")
with RunWriter(folder / "run", tag="t") as writer:
    writer.write(query.id, [Hit(document.id, 1.0) for document in documents])
assert list(read_run(folder / "run")) == [query.id]
with RunWriter(folder / "text", tag="t", output_format="msmarco") as writer:
    writer.write(documents[0].text.split()[-1], [Hit("d", 1.0)])
try:
    read_topics(folder / "none")
except InputError as error:
    print(error)
"""


def test_a5_locale_does_not_matter(tmp_path: Path) -> None:
    text = "Zürich “quoted” 東京"
    (tmp_path / "corpus.tsv").write_bytes(f"dé\tt\t{text}\n".encode())
    (tmp_path / "corpus.jsonl").write_bytes(f'{{"id":"dé","title":"t","contents":"t\\n{text}"}}\n'.encode())
    (tmp_path / "topics.tsv").write_bytes(f"٣\t{text}\n".encode())
    env = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    env.pop("PYTHONIOENCODING", None)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], env=env, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr.decode(errors="replace")
    assert b"none: cannot be read" in result.stdout
    assert (tmp_path / "run").read_bytes().decode() == "٣ Q0 dé 1 1.000000 t\n"
    assert (tmp_path / "text").read_bytes().decode() == "東京\td\t1\n"


NAMES = r"""
import os, sys
from pathlib import Path
from seal_ir import command
from seal_ir.formats.io.files import named, on_disk, utf8
from seal_ir.structured import json_file

def main(arguments):
    found = sorted(os.listdir(arguments[0]))
    for name in found:
        assert on_disk(utf8(name)) == name
        print(named(name))
        print(utf8(name))
    sys.stdout.write(json_file({"names": [utf8(name) for name in found], "text": "\u6771\u4eac"}))
    print("\u6771\u4eac", "\ud800")
    return 0

command.run(main)
"""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_of_files_are_told_and_written_the_same_in_every_locale(tmp_path: Path, locale: str) -> None:
    """One name is UTF-8. One is not: its byte comes out as it is, or as an escape where only text may be."""
    for name in (b"a", "é東".encode(), b"\xe9"):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).touch()
    env = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env |= {"PYTHONPATH": str(Path(__file__).parents[2])}
    env.pop("PYTHONIOENCODING", None)
    result = subprocess.run(
        [sys.executable, "-c", NAMES, str(tmp_path)], env=env, capture_output=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, b"")
    *lines, braces, names, first, second, third, end, text, close, last = result.stdout.split(b"\n")[:-1]
    assert lines == [b"a", b"a", "é東".encode(), "é東".encode(), b"\\xe9", b"\xe9"]
    assert (braces, names, end, close) == (b"{", b'  "names": [', b"  ],", b"}")
    assert [first, second, third] == [b'    "a",', '    "é東",'.encode(), b'    "\\udce9"']
    assert (text, last) == ('  "text": "東京"'.encode(), "東京 \\ud800".encode())
