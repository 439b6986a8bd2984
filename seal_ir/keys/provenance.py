"""What keys were made with, as it stands beside a key file, and whether a search may use them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from seal_ir.config import DecodeConfig, SearchConfig
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import atomic_writer, shown, utf8
from seal_ir.index.manifest import Manifest
from seal_ir.index.reader import Index
from seal_ir.index.segments import ENGINE_FILE
from seal_ir.index.value_lengths import longest
from seal_ir.records import BODY, QUERY, TITLE
from seal_ir.structured import json_file, json_line, load_json
from seal_ir.text.pretrained import BASE_MODEL, find_model

FORMAT = 2
_MODEL_FILES = (".safetensors", ".bin", ".pt", ".gguf", "config.json", "seal.json", "tokenizer.json")
# Settings that format 2 did not have at first: switched off they are not in a file's fingerprint.
_LATER = ("stop", "least_weight", "retired")
_AGAIN = "encode the topics again with python -m seal_ir.encode"


@dataclass(frozen=True, slots=True)
class KeyProvenance:
    """What decides the keys of a query.

    Attributes:
        text: fingerprint of the index's text; see `text_fingerprint`.
        tokenizer: fingerprint of the tokenizer.
        model: the model by name, for messages.
        identity: what tells the model from others; see `model_identity`.
        dtype: its precision.
        decode: the settings of decoding.
        slow_path: whether it decoded as the published system does.
    """

    text: str
    tokenizer: str
    model: str
    identity: str
    dtype: str
    decode: DecodeConfig
    slow_path: bool

    @classmethod
    def of(cls, index: Index, model: str, dtype: str, config: SearchConfig) -> KeyProvenance:
        """What the keys are made with that this model writes for this index under this config.

        Raises:
            ModelError: the model is known not to be on this machine.
        """
        manifest = index.manifest
        return cls(
            text=text_fingerprint(manifest),
            tokenizer=manifest.tokenizer,
            model=utf8(model),
            identity=model_identity(model),
            dtype=dtype,
            decode=config.decode,
            slow_path=config.slow_path,
        )

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that every line of the file repeats; the model's name is not in them."""
        values = asdict(self)
        del values["model"]
        for name in _LATER:
            if not values["decode"][name]:
                del values["decode"][name]
        return hashlib.sha256(json_line(values, ascii_only=True, sort_keys=True).encode()).hexdigest()[:16]

    def misfit(
        self,
        index: Index,
        configs: Sequence[SearchConfig],
        model: str | None = None,
        dtype: str | None = None,
    ) -> str:
        """Why a search may not use these keys, and what to do; "" when it may.

        Args:
            index: the index to be searched.
            configs: what the search ranks under.
            model: the model that the search asks for, by name; None for whichever wrote the keys.
            dtype: the precision that it asks for, likewise.
        """
        if self.tokenizer != index.manifest.tokenizer:
            return f"made with another tokenizer than that of {index.directory}; {_AGAIN} and this index"
        if self.text != text_fingerprint(index.manifest):
            return (
                f"made for another index than {index.directory}; search that one, or {_AGAIN} and this index"
            )
        if model not in (None, self.identity) and model_identity(str(model)) != self.identity:
            return f"made by model {shown(self.model)}, not by {shown(model)}; leave out --model, or {_AGAIN}"
        if dtype not in (None, "auto", self.dtype):  # "auto" is whatever is fast, and no model runs here
            return f"made in {self.dtype}, not in {dtype}; leave out --dtype, or {_AGAIN}"
        for config in configs:
            if config.slow_path != self.slow_path:
                return f"preset {config.preset} decodes in another way than these keys were made; {_AGAIN}"
            for name in _needed(config):
                made, wanted = getattr(self.decode, name), getattr(config.decode, name)
                if not _serves(name, made, wanted, index, config):
                    return (
                        f"made with {name} = {made}, preset {config.preset} has {wanted} here; search with"
                        f" the same settings, or {_AGAIN}"
                    )
        return ""


def _serves(name: str, made: Any, wanted: Any, index: Index, config: SearchConfig) -> bool:
    """Whether keys made under one value of a setting are those of another, in this index."""
    if made == wanted:
        return True
    if name == "fields":
        return set(wanted) <= set(made)
    whole = {"title_steps": (TITLE,), "field_steps": config.decode.fields}
    if name in whole and 0 not in (made, wanted):  # steps beyond the longest value write nothing
        most = longest(index, whole[name])
        return bool(min(made, most) == min(wanted, most))
    return False


def _needed(config: SearchConfig) -> list[str]:
    """The settings of decoding that change what a config ranks with; others add what it passes over."""
    rank = config.rank
    needed = ["beam", "constrained", "rescore", "least_weight", "retired"]
    needed += ["stop"] if rank.needs_all_keys else []
    needed += ["body_steps"] if BODY in rank.kinds else []
    needed += ["fields", "field_steps"] if config.decode.fields else []
    needed += ["title_steps"] if TITLE in rank.kinds else []
    needed += ["query_words"] if QUERY in rank.kinds else []
    return needed + (["unigrams"] if rank.unigrams and rank.score == "intersective" else [])


def text_fingerprint(manifest: Manifest) -> str:
    """sha256 of what FM-indexes are: the same documents, segments, deletions, engine and layout."""
    files = []
    for segment in manifest.segments:
        files.append(f"{segment.name}/{ENGINE_FILE}")
        files += [segment.deleted.file] if segment.deleted else []
    sums = [manifest.files[name]["sha256"] for name in files]
    return hashlib.sha256("\n".join([manifest.tokenizer, *sums]).encode()).hexdigest()


def model_identity(name: str) -> str:
    """What tells a model from others: the checksum of its weights, settings and prompts, or its name.

    The name is that of a hub, or of the base model, whose files are converted when they are first used.

    Raises:
        ModelError: the model is known not to be on this machine.
    """
    folder = find_model(name).folder
    if folder is None or name == BASE_MODEL:
        return utf8(name)
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(_MODEL_FILES)):
        if path.is_file():
            with path.open("rb") as file:
                checksum = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.name}\n{checksum}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def write_provenance(path: Path, made: KeyProvenance, **more: Any) -> None:
    """Writes what keys were made with, and more that is of interest, beside their file.

    Raises:
        UsageError: the place cannot be written.
    """
    values = {"format": FORMAT, "made": made.fingerprint, **asdict(made), **more}
    with atomic_writer(path) as file:
        file.write(json_file(values))


def read_provenance(path: Path) -> KeyProvenance:
    """What `write_provenance` wrote.

    Raises:
        InputError: there is no such file, or it is damaged or of another format.
    """
    try:
        values = load_json(path)
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: missing; it says what keys were made with and must lie beside their file"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {_AGAIN}") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(f"{path}: no description of keys in format {FORMAT}; {_AGAIN}")
    _check_known(path, values)
    made = _provenance(values)
    if made is None or values.get("made") != made.fingerprint:
        raise InputError(f"{path}: damaged, it does not agree with itself; {_AGAIN}")
    return made


def _check_known(path: Path, values: Mapping[str, Any]) -> None:
    """Refuse keys that were made under a setting of a later version: what it does to them is not known here.

    Other names that are unknown are of interest only, and are passed over.
    """
    known = {field.name for field in fields(DecodeConfig)}
    decode = values.get("decode")
    unknown = sorted(set(decode) - known) if isinstance(decode, dict) else []
    if unknown:
        raise InputError(
            f"{path}: a newer version of seal-ir made these keys, under the setting {shown(unknown[0])} that"
            f" this one does not have; install that version, or {_AGAIN}"
        )


def _provenance(values: Mapping[str, Any]) -> KeyProvenance | None:
    names = ("text", "tokenizer", "model", "identity", "dtype")
    if not all(isinstance(values.get(name), str) for name in names):
        return None
    decode = values.get("decode")
    if not isinstance(decode, dict) or not isinstance(further := decode.get("fields"), list):
        return None
    plain = {name: value for name, value in decode.items() if name != "fields"}
    if not all(type(value) in (int, bool, float) for value in plain.values()):
        return None
    try:
        config = DecodeConfig(**plain, fields=tuple(map(str, further)))
    except (TypeError, UsageError):
        return None
    texts = {name: str(values[name]) for name in names}
    return KeyProvenance(**texts, decode=config, slow_path=values.get("slow_path") is True)
