"""Writers that are killed: no commit is lost, what is there opens, and nothing stops the next writer.

Twenty kills by default; SEAL_IR_KILLS says how many.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from tests.helpers import tiny
from tests.helpers.commands import ROOT
from tests.helpers.indexes import content

PHASES = [("append", 0.01), ("update", 0.01), ("commit", 0.1), ("merge", 0.2)]  # seconds that each may take
KILLS = int(os.environ.get("SEAL_IR_KILLS", "20"))
# Appends, updates, deletes, commits and merges without end. Says what it is about to do, in front of each
# commit also what it is to hold, and behind it that it is done. Fsync is slow and proves nothing about a
# process that dies.
ENDLESS = """
import json, os, random, sys
from pathlib import Path
os.fsync = lambda handle: None
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny

directory, chance = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
index = Index(directory)
held = {d.id: d.text for d in index.documents(range(index.n_documents))}
with SealIndexer(directory) as writer:
    for turn in range(100_000):
        names = dict.fromkeys(f"{chance.randrange(200)}" for _ in range(chance.choice((2, 5, 100))))
        new = [Document(name, "", f"the sea {chance.randrange(99)}") for name in names]
        known = [document for document in new if document.id in held]
        print("append", flush=True)
        writer.add([document for document in new if document.id not in held])
        print("update", flush=True)
        writer.update(known)
        for document in [*(document for document in new if document.id not in held), *known]:
            held.pop(document.id, None)
            held[document.id] = document.text
        gone = chance.sample(sorted(held), min(20, len(held) - 1))
        writer.delete(gone)
        for name in gone:
            del held[name]
        action = "merge" if turn % 4 == 3 else "commit"
        print(json.dumps([action, list(held), list(held.values())]), flush=True)
        if action == "merge":
            writer.merge(chance.randrange(1, 3))
        else:
            writer.commit()
        print("done", flush=True)
"""

# Dies in front of a change of the file system, the how manieth it is told.
CHANGES = """
import sys
from pathlib import Path
from seal_ir.index.indexer import SealIndexer
from tests.helpers import tiny
from tests.helpers.dying import die_before_change
die_before_change(int(sys.argv[2]))
with SealIndexer(Path(sys.argv[1])) as writer:
    writer.delete(["d2"])
    writer.update([tiny.DOCUMENTS[0]._replace(text="changed")])
    writer.merge()
"""


def held_by(directory: Path) -> list[list[str]]:
    index = Index(directory)
    documents = index.documents(range(index.n_documents))
    return [[document.id for document in documents], [document.text for document in documents]]


def killed_writer(directory: Path, seed: int, phase: str, seconds: float) -> list[str]:
    """What a writer has said when it was killed some time after it had begun a phase."""
    command = [sys.executable, "-c", ENDLESS, str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        while phase not in said[-1]:
            said.append(process.stdout.readline())
        time.sleep(seconds)
        process.kill()
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [line.strip() for line in said]


class Killed(NamedTuple):
    """What a killed writer had said.

    Attributes:
        doing: what it was about, "append", "update", "commit" or "merge"; "" between two of them.
        done: what its last finished commit holds, ids and texts; None where it finished none.
        begun: what a commit that was under way is to hold; None where none was.
    """

    doing: str
    done: list[list[str]] | None
    begun: list[list[str]] | None


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    with SealIndexer(directory, tiny.tokenizer()) as writer:
        writer.add(tiny.DOCUMENTS)
    chance = random.Random(0)
    committed = held_by(directory)
    n_debris, doing = 0, Counter[str]()
    for seed in range(KILLS):
        phase, most = PHASES[seed % len(PHASES)]
        killed = understood(killed_writer(directory, seed, phase, chance.random() * most))
        n_debris += (directory / ".building").exists()
        now = held_by(directory)
        assert now in (killed.done or committed, killed.begun)
        doing[killed.doing] += 1
        committed = now
    assert doing["commit"] + doing["merge"] > KILLS // 5
    assert doing["append"] + doing["update"] > 0
    assert KILLS < 100 or min(doing[phase] for phase, _ in PHASES) > KILLS // 50
    assert n_debris > KILLS // 5
    verify_index(directory, lambda told: None, None)
    with SealIndexer(directory) as writer:
        writer.add([tiny.DOCUMENTS[0]._replace(id="last")])
    assert held_by(directory)[0] == [*committed[0], "last"]
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}
    print(f"{KILLS} kills while it did: {dict(doing)}; {n_debris} left something to clear")


def understood(said: list[str]) -> Killed:
    """A last line that was cut short had said nothing yet."""
    states = [json.loads(line) for line in said if line.startswith("[") and line.endswith("]]")]
    n_done = said.count("done")
    begun = states[n_done:]  # one, if any
    whole = [line for line in said if line in ("append", "update", "done") or line.endswith("]]")]
    doing = begun[0][0] if begun else whole[-1]
    done = states[n_done - 1][1:] if n_done else None
    return Killed("" if doing == "done" else doing, done, begun[0][1:] if begun else None)


@pytest.mark.slow
def test_killed_at_every_change_of_the_directory(tiny_index: Path, tmp_path: Path) -> None:
    """Each time what was there is there, or all that was asked for; and the next writer does it."""
    old = held_by(tiny_index)
    new = [[*old[0][2:], "d1"], [*old[1][2:], "changed"]]
    n_old = n_new = 0
    for left in range(0, 1000, 4):
        directory = Path(shutil.copytree(tiny_index, tmp_path / str(left)))
        command = [sys.executable, "-c", CHANGES, str(directory), str(left)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        assert code in (0, -signal.SIGKILL)
        now = held_by(directory)
        assert now in (old, new)
        n_old, n_new = n_old + (now == old), n_new + (now == new)
        with SealIndexer(directory) as writer:
            writer.delete(["d5"])
            writer.merge()
        assert held_by(directory)[0] == [docid for docid in now[0] if docid != "d5"]
        assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}
        if code == 0:
            break
    assert n_old > 3
    assert n_new > 3
