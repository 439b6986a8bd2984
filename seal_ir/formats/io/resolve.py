"""Which file a name means: below $SEAL_IR_DATA, of a collection, or one of Anserini's, fetched once."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from seal_ir.errors import InputError, one_line
from seal_ir.formats.io.files import atomic_writer, is_file, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.ir_datasets_access import PREFIX as IR_DATASETS
from seal_ir.formats.io.named_elsewhere import (
    ir_dataset_judgements,
    ir_dataset_topics,
    judgements_elsewhere,
    topics_elsewhere,
)

SOURCES = (
    "https://raw.githubusercontent.com/castorini/anserini-tools/master/topics-and-qrels/",
    "https://raw.githubusercontent.com/castorini/anserini-tools/master/topics/",
)
TIMEOUT_SECONDS = 5
ANSERINI_TOPICS = {
    "nq-test": "topics.nq.test.txt",
    "nq-dev": "topics.nq.dev.txt",
    "dpr-nq-test": "topics.dpr.nq.test.txt",
    "dpr-nq-dev": "topics.dpr.nq.dev.txt",
    "dpr-trivia-test": "topics.dpr.trivia.test.txt",
    "dpr-trivia-dev": "topics.dpr.trivia.dev.txt",
    "dpr-wq-test": "topics.dpr.wq.test.txt",
    "dpr-squad-test": "topics.dpr.squad.test.txt",
    "dpr-curated-test": "topics.dpr.curated.test.txt",
}
_MD5 = {"topics.nq.test.txt": "a071d175e0694648c2fb0c53648a25e8"}
_SUFFIXES = {
    "topics": (".tsv", ".txt", ".jsonl", ".json", ".csv", ".trec", ".xml"),
    "answers": (".jsonl", ".json", ".csv"),
    "qrels": (".trec", ".txt", ".tsv"),
}
_KILT = "-kilt"  # how KILT's names end
_HOMELESS = "HOME is not set, and the system does not know this user's home folder"
_PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
_KILT_ENDINGS = tuple(f".jsonl{packed}" for packed in _PACKED)


@dataclass(frozen=True, slots=True)
class Places:
    """Where named files are looked for, in this order.

    Attributes:
        data: folder with topics/, qrels/ and answers/ of the user's, and kilt/ with KILT's files, or None.
        collections: folder with one folder a collection.
        cache_folder: folder for files that were downloaded or made, see `cache`; None: no place.
    """

    data: Path | None
    collections: Path
    cache_folder: Path | None

    @property
    def cache(self) -> Path:
        """Folder for files that were downloaded or made; it is made when the first one is.

        Raises:
            InputError: SEAL_IR_CACHE is not set, and nobody knows the user's home folder.
        """
        if self.cache_folder is None:
            raise InputError(f"there is no place for the cache: {_HOMELESS}; set SEAL_IR_CACHE to a folder")
        return self.cache_folder

    @classmethod
    def from_environment(cls) -> Places:
        """Places by SEAL_IR_DATA and SEAL_IR_CACHE (default ~/.cache/seal_ir); nothing is made.

        Raises:
            InputError: SEAL_IR_DATA names no folder.
        """
        data = os.environ.get("SEAL_IR_DATA")
        folder = _expanded(data) if data else None
        if data and (folder is None or not folder.is_dir()):
            raise InputError(f"SEAL_IR_DATA is {shown(data)}, which is no folder; correct it or unset it")
        package = Path(__file__).resolve().parents[2]
        checkout = package.parent
        return cls(
            data=folder,
            collections=checkout / "collections"
            if (checkout / "pyproject.toml").is_file()
            else package / "_collections",
            cache_folder=_expanded(os.environ.get("SEAL_IR_CACHE") or "~/.cache/seal_ir"),
        )


def resolve_topics(name: str, places: Places) -> Path:
    """File of the topics that a name or a path means; one of Anserini's is downloaded if it is nowhere else.

    Names that are unknown here are Pyserini's, where that is installed; `ir_datasets:NAME` is what it says.

    Raises:
        InputError: no such file, unknown name, or the download failed.
    """
    if name.startswith(IR_DATASETS):
        return ir_dataset_topics(name, places.cache)
    found = _local("topics", name, places) or _anserini(name, places)
    if found is None and places.cache_folder is not None:
        found = topics_elsewhere(name, places.cache)
    if found is None:
        known = ", ".join(known_topics(places))
        raise InputError(f"topics {shown(name)}: no such file and no such name; names known here: {known}")
    return found


def resolve_answers(name: str, places: Places) -> Path | None:
    """File of the answers to named topics, or the path itself; None when there are none for the name.

    For Anserini's names without a file of answers it is the topics file, which holds them.

    Raises:
        InputError: a path that does not exist, or the download failed.
    """
    if name.startswith(IR_DATASETS):
        return None
    return _local("answers", name, places) or _anserini(name, places)


def resolve_qrels(name: str, places: Places) -> Path | None:
    """File of the judgements for named topics, or the path itself; None when there are none for the name.

    Of names that are unknown here they are Pyserini's, where that is installed.

    Raises:
        InputError: a path that does not exist, or the download failed.
    """
    if name.startswith(IR_DATASETS):
        return ir_dataset_judgements(name, places.cache)
    found = _local("qrels", name, places)
    if found is not None or places.cache_folder is None or name in known_topics(places):
        return found
    return judgements_elsewhere(name, places.cache)


def known_topics(places: Places) -> list[str]:
    """Names that `resolve_topics` takes, sorted."""
    names = set(ANSERINI_TOPICS)
    if places.data is not None and (places.data / "topics").is_dir():
        anserini = set(ANSERINI_TOPICS.values())
        for file in (places.data / "topics").iterdir():
            stem = next(
                (file.name.removesuffix(end) for end in _endings("topics") if file.name.endswith(end)), ""
            )
            if stem and file.name not in anserini:
                names.add(stem)
    if places.data is not None and (places.data / "kilt").is_dir():
        names.update(
            file.name.removesuffix(end)
            for file in (places.data / "kilt").iterdir()
            for end in _KILT_ENDINGS
            if file.name.endswith(f"{_KILT}{end}")
        )
    if places.collections.is_dir():
        folders = places.collections.iterdir()
        names.update(folder.name for folder in folders if _first(folder, "topics", _endings("topics")))
    return sorted(names)


def _local(kind: str, name: str, places: Places) -> Path | None:
    """The path that exists, or the file of this kind that the name has below the data or the collections."""
    path = Path(os.path.expanduser(name))  # noqa: PTH111
    if is_file(path):
        return rereadable(path)
    if not name or path.name != name or name.endswith(_endings(kind)):
        raise InputError(f"{kind} {shown(name)}: no such file; check the path")
    endings = _endings(kind)
    in_data = _first(places.data / kind, name, endings) if places.data is not None else None
    return in_data or _datapoints(name, places) or _first(places.collections / name, kind, endings)


def _datapoints(name: str, places: Places) -> Path | None:
    """KILT's file of a name such as fever-dev-kilt: topics, answers and judgements in one."""
    if places.data is None or not name.endswith(_KILT):
        return None
    return _first(places.data / "kilt", name, _KILT_ENDINGS)


def _expanded(name: str) -> Path | None:
    """The path with the home folder for `~`; None where nobody knows that."""
    expanded = os.path.expanduser(name)  # noqa: PTH111 - which leaves the ~ where it knows no better
    return None if name.startswith("~") and expanded == name else Path(expanded)


def _endings(kind: str) -> tuple[str, ...]:
    return tuple(suffix + packed for suffix in _SUFFIXES[kind] for packed in _PACKED)


def _first(folder: Path, stem: str, endings: tuple[str, ...]) -> Path | None:
    return next((path for end in endings if is_file(path := folder / f"{stem}{end}")), None)


def _anserini(name: str, places: Places) -> Path | None:
    """Anserini's topics file from the data, the cache or the network; None for any other name."""
    file = ANSERINI_TOPICS.get(name)
    if file is None:
        return None
    target = places.cache / "topics" / file
    own = [places.data / "topics" / file] if places.data is not None else []
    for path in (*own, target):
        if path.is_file():
            return path
    faults: list[str] = []
    for text in _downloads(file, faults):
        with atomic_writer(target) as stream:
            stream.write(text)
        return target
    raise InputError(
        f"topics {shown(name)}: not on this machine, and the download failed ({'; '.join(faults)});"
        f" put {file} into {target.parent}, or set SEAL_IR_DATA to a folder with topics/{file}"
    )


def _downloads(file: str, faults: list[str]) -> Iterator[str]:
    """Sound copies of the file from the sources; why a source has none is added to the faults."""
    for source in SOURCES:
        try:
            address = source + file  # both of ours, https
            with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
                content: bytes = answer.read()
            text = content.decode("utf-8")
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            faults.append(one_line(error))
            if isinstance(error, OSError) and not isinstance(error, urllib.error.HTTPError):
                return  # no network: the other source would only time out as well
            continue
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if md5 == _MD5.get(file, md5):
            yield text
        else:
            faults.append(f"md5 {md5} where {_MD5[file]} is expected")
