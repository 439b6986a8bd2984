"""Models of the published system by name. Nothing is downloaded: their licence is the user's to accept."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import ModelError

LICENCE = "CC-BY-NC 4.0"


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A checkpoint that its authors have put on the web, in an archive with an index.

    Attributes:
        addresses: of the archive. The first one is in the README of the repository at commit fdaf307; the
            second one has the name of the folder that users report to find in it. Neither has been fetched
            from here.
        checkpoint: the file in the archive.
        n_bytes: size of the archive; None where no public document tells it.
    """

    addresses: tuple[str, str]
    checkpoint: str
    n_bytes: int | None = None


PUBLISHED_MODELS = {
    "seal-nq": PublishedModel(
        (
            "http://dl.fbaipublicfiles.com/seal/SEAL_NQ.tar.gz",
            "http://dl.fbaipublicfiles.com/SEAL/SEAL-checkpoint+index.NQ.tar.gz",
        ),
        "SEAL-checkpoint+index.NQ/SEAL.NQ.pt",
    ),
    "seal-kilt": PublishedModel(
        (
            "http://dl.fbaipublicfiles.com/seal/SEAL_KILT.tar.gz",
            "http://dl.fbaipublicfiles.com/SEAL/SEAL-checkpoint+index.KILT.tar.gz",
        ),
        "SEAL-checkpoint+index.KILT/SEAL.KILT.pt",
    ),
}


def published_folder(name: str, cache: Path) -> Path:
    """The folder of a published model, once it has been converted.

    Args:
        name: one of `PUBLISHED_MODELS`.
        cache: of seal-ir; the folder is `models/NAME` in it.

    Raises:
        ModelError: it is not there; says where the archive is, and how to convert what is in it.
    """
    folder = cache / "models" / name
    if (folder / "seal.json").is_file() and (folder / "model.safetensors").is_file():
        return folder
    model = PUBLISHED_MODELS[name]
    size = "size unknown" if model.n_bytes is None else f"{model.n_bytes:,} bytes"
    first, second = model.addresses
    command = f"convert --checkpoint {model.checkpoint} --output {shlex.quote(str(folder))}"
    raise ModelError(
        f"{name}: the published model is not in {folder}; if its licence ({LICENCE}: no commercial use)"
        f" allows it, download {first} (or {second}; {size}), unpack it, and run"
        f" python -m seal_ir.train {command}"
    )
