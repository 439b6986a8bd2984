"""Reading and writing in a process whose locale knows ASCII only."""

import os
import subprocess
import sys
from pathlib import Path

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
