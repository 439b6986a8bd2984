"""The same input gives the same bytes, whatever is around the process (tests/helpers/same_bytes.py)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from seal_ir.structured import json_file
from tests.helpers import same_bytes, tiny
from tests.helpers.commands import ASCII_LOCALE, ROOT

pytestmark = pytest.mark.slow
PASSING = ("seconds", "cpu_seconds", "threads")  # what a run's settings say of that one time
SECONDS = re.compile(rb"\d+\.\d s$", re.MULTILINE)  # of building, in the line that tells of an index
AS_ALWAYS = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1"}


class Around(NamedTuple):
    """What is different around a process, and its options."""

    environment: dict[str, str] = {}
    options: tuple[str, ...] = ()


THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "3")
AROUND = {
    "hashes and time zone": Around({"PYTHONHASHSEED": "4321", "TZ": "Pacific/Kiritimati"}),
    "ASCII": Around(ASCII_LOCALE),
    "threads": Around(THREADS, ("--threads", "3")),
    "listing and terminal": Around({"PYTHONOPTIMIZE": "1", "COLUMNS": "40", "TERM": "dumb"}, ("--reverse",)),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs and a tokenizer, under a name that is not ASCII."""
    folder = tmp_path_factory.mktemp("wörld")
    same_bytes.write_inputs(folder / "inputs")
    tiny.save_tokenizer(folder / "modèle")
    return folder


NETWORK = "--network"
Made = Callable[[str, Around], dict[str, bytes]]


@pytest.fixture(scope="module")
def make(world: Path) -> Made:
    def made(name: str, around: Around) -> dict[str, bytes]:
        folder = world / name
        shutil.copytree(world / "inputs", folder)
        return run(world, folder, around, folder)

    return made


@pytest.fixture(scope="module")
def original(make: Made) -> dict[str, bytes]:
    return make("original", Around())


def run(world: Path, folder: Path, around: Around, cwd: Path) -> dict[str, bytes]:
    """What the commands leave in the folder."""
    model = world / ("llama" if NETWORK in around.options else "modèle")
    environment = {**os.environ, "SEAL_IR_CACHE": str(world / "cache"), "PYTHONPATH": str(ROOT), **AS_ALWAYS}
    for name in ("PYTHONIOENCODING", "PYTHONUTF8", "LANG", "LC_CTYPE"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.same_bytes", "--model", str(model), *around.options],
        cwd=cwd,
        env=environment | around.environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return {
        path.relative_to(folder).as_posix(): content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def content(path: Path) -> bytes:
    """The bytes of a file, without how long it took and on how many threads."""
    found = path.read_bytes()
    if path.name.startswith("stdout"):
        return SECONDS.sub(b"", found)
    if path.name.endswith(".config.json"):
        values = {name: value for name, value in json.loads(found).items() if name not in PASSING}
        return json_file(values).encode()
    return found


def assert_same(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


def test_the_commands_write_what_is_compared(original: dict[str, bytes]) -> None:
    names = set(original)
    assert {"run.lm.trec", "rün.kilt", "keys/embeddings.jsonl", "table.json", "tuned.toml"} <= names
    assert {"explained.html", "set/part-00000.arrow", "results/table.csv", "changed/index.json"} <= names
    assert sum(name.endswith("fm.bin") for name in names) > 5
    assert all(original[name] for name in names if not name.endswith(("00", "06")))


@pytest.mark.parametrize("name", AROUND)
def test_what_is_around_a_process_changes_no_byte(name: str, make: Made, original: dict[str, bytes]) -> None:
    assert_same(make(name, AROUND[name]), original)


@pytest.mark.parametrize("charmap", ["UTF-8", "ISO-8859-9"])
def test_a_turkish_locale_changes_no_byte(
    charmap: str, world: Path, make: Made, original: dict[str, bytes]
) -> None:
    """There `i` has another upper case; with ISO-8859-9 the names of files have other letters, too."""
    locales = world / "locales"
    locales.mkdir(exist_ok=True)
    compiled = locales / f"tr_TR.{charmap}"
    if not shutil.which("localedef"):
        pytest.skip("needs localedef")
    done = subprocess.run(
        ["localedef", "-i", "tr_TR", "-f", charmap, compiled], capture_output=True, check=False
    )
    if not compiled.is_dir():
        pytest.skip(f"needs the sources of locales: {done.stderr.decode(errors='replace').strip()}")
    turkish = {"LOCPATH": str(locales), "LC_ALL": compiled.name, "PYTHONUTF8": "0"}
    assert_same(make(charmap, Around(turkish)), original)


def test_another_working_directory_changes_no_byte(
    world: Path, tmp_path: Path, original: dict[str, bytes]
) -> None:
    """Paths are kept as they were given, in settings and tables; all else is the same."""
    folder = world / "elsewhere"
    shutil.copytree(world / "inputs", folder)
    table = folder / "table.toml"
    text = table.read_text(encoding="utf-8").replace(' = "topics.', f' = "{folder}/topics.')
    table.write_text(text.replace(' = "qrels.', f' = "{folder}/qrels.'), encoding="utf-8")
    found = run(world, folder, Around(options=("--at", str(folder))), tmp_path)
    found = {name: value.replace(f"{folder}/".encode(), b"") for name, value in found.items()}
    bare = [{name: value.replace(b"./", b"") for name, value in each.items()} for each in (found, original)]
    assert_same(*bare)


@pytest.fixture(scope="module")
def networks(world: Path, make: Made) -> dict[str, bytes]:
    tiny.save_llama(world / "llama")
    return make("network", Around(options=(NETWORK,)))


def test_training_and_decoding_give_the_same_bytes_in_every_process(
    make: Made, networks: dict[str, bytes]
) -> None:
    around = {"PYTHONHASHSEED": "4321", "TZ": "Pacific/Kiritimati", **ASCII_LOCALE}
    assert_same(make("network again", Around(around, (NETWORK, "--reverse"))), networks)
    assert {"fit/model.safetensors", "lora/adapter_model.safetensors", "run.trec"} <= networks.keys()
