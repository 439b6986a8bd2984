"""Loading a language model's weights, with a LoRA adapter's added, and wiring it up for decoding."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    GgufConfig,
    modeling_gguf_pytorch_utils,
)
from transformers.utils import logging as transformers_logging

from seal_ir.errors import ModelError, shown
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.outputs import clear_left, put_in_place, scratch_folder
from seal_ir.lm.choose import causal_model, seq2seq_model
from seal_ir.lm.device import check_weights, chosen_device, chosen_dtype, first_odd, told_place
from seal_ir.lm.protocols import Generator
from seal_ir.structured import json_file
from seal_ir.text.description import CAUSAL, SEQ2SEQ, TEMPLATES, ModelDescription
from seal_ir.text.pretrained import (
    ADAPTER_CONFIG,
    BASE_MODEL,
    CACHE_ADVICE,
    ModelFiles,
    adapter_config,
    base_files,
    base_of,
    explain_failure,
    find_model,
    load_description,
    load_tokenizer,
    reachable_source,
)
from seal_ir.text.tokenizer import TextTokenizer

logger = logging.getLogger(__name__)
ADAPTER_WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."  # peft's, before the names of the base model
# Settings of peft under which a layer is something else than W + scale * B A, with what they must be.
_PLAIN = {"use_dora": False, "fan_in_fan_out": False, "bias": "none", "modules_to_save": None}
_PLAIN_PATTERNS = ("rank_pattern", "alpha_pattern", "trainable_token_indices", "layer_replication")


def load_generator(name: str, device: str | None = None, dtype: str | None = None) -> Generator:
    """Load a model by folder, hub name, or the name of a packaged one.

    Args:
        name: see `find_model`.
        device: "cpu", "cuda", "cuda:1"...; default: CUDA where there is one.
        dtype: "float32" (the default), "bfloat16", "float16", or "auto": see `fastest_dtype`. In half
            precision log-probabilities are off by up to half a nat and depend a little on the other queries
            of the batch: documents with close scores change places.

    Raises:
        ModelError: the model cannot be found or loaded, or its description does not fit it.
        UsageError: device or dtype is unknown or not available.
    """
    _, generator = load_model(name, device, dtype)
    logger.info("model %s runs %s", name, told_place(generator))
    return generator


def load_model(name: str, device: str | None = None, dtype: str | None = None) -> tuple[Any, Generator]:
    """Its transformers network, and what `load_generator` gives, whose arguments and errors it has."""
    torch_device = chosen_device(device)
    torch_dtype = chosen_dtype(dtype, torch_device)
    files = find_model(name)
    tokenizer = load_tokenizer(files)
    network = load_network(files, torch_dtype).to(torch_device)
    family = SEQ2SEQ if network.config.is_encoder_decoder else CAUSAL
    description = load_description(files) or TEMPLATES[family]
    if description.family != family:
        raise ModelError(f"{files.source}: seal.json says {description.family}, the model is {family}")
    with naming(files.source):
        return network, wire(network, tokenizer, description)


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Puts the model's name before what is wrong with a network that does not know where it is from."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error


def load_network(files: ModelFiles, dtype: torch.dtype) -> Any:
    """The transformers network of a model, in evaluation mode; an adapter is merged into its base model.

    Raises:
        ModelError: it cannot be loaded, or a weight is no finite number.
    """
    found = base_files(files.folder) if files.folder else None
    if found is not None and files.folder is not None:
        if found.folder is not None and base_of(found.folder) is not None:
            raise ModelError(
                f"{files.folder}: its base model {found.name} is an adapter itself; merge that first"
            )
        network = load_network(found, torch.float32)
        _merge_adapter(network, files.folder)
        network = network.to(dtype)
        check_weights(network, files.folder)
        return network
    files = _converted(files)
    source = reachable_source(files)
    with quiet_transformers():
        try:
            config = AutoConfig.from_pretrained(source, trust_remote_code=False)
            auto = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
            network = auto.from_pretrained(source, dtype=dtype, trust_remote_code=False)
        except Exception as error:  # noqa: BLE001 - transformers raises many kinds
            raise explain_failure(files, error) from error
    check_weights(network, files.source)
    return network.eval()


@torch.no_grad()
def _merge_adapter(network: Any, folder: Path) -> None:
    """Add an adapter to the weights of its base model, in place; peft is not needed for this.

    Raises:
        ModelError: the adapter is of another kind than LoRA, damaged, not finite, or made for another model.
    """
    scale = _adapter_scale(adapter_config(folder), folder / ADAPTER_CONFIG)
    matrices = adapter_matrices(folder)
    layers = dict(network.named_modules())
    for name in sorted(matrices):
        module, _, part = name.removeprefix(_PREFIX).partition(".lora_")
        if part not in ("A.weight", "B.weight"):
            raise ModelError(f"{folder / ADAPTER_WEIGHTS}: {name} is no part of a LoRA matrix")
        if part == "B.weight":
            continue
        down, up = matrices[name], matrices.get(name.replace(".lora_A.", ".lora_B."))
        weight = getattr(layers.get(module), "weight", None)
        if up is None or weight is None or tuple(weight.shape) != (up.shape[0], down.shape[1]):
            raise ModelError(f"{folder}: the adapter does not fit its base model ({module})")
        weight += (scale * (up.float() @ down.float())).to(weight)


def adapter_matrices(folder: Path) -> dict[str, torch.Tensor]:
    """The matrices of an adapter by peft's names.

    Raises:
        ModelError: they cannot be read, or a value is no finite number.
    """
    path = folder / ADAPTER_WEIGHTS
    try:
        matrices = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from error
    odd = first_odd(sorted(matrices.items()))
    if odd:
        raise ModelError(f"{path}: the adapter's weights are not finite numbers: {odd}; train it again")
    return matrices


def _adapter_scale(config: dict[str, Any], path: Path) -> float:
    """What B A is multiplied with."""
    if config.get("peft_type") != "LORA":
        raise ModelError(f"{path}: peft_type is {shown(config.get('peft_type'))}; only LORA can be loaded")
    odd = [name for name, value in _PLAIN.items() if config.get(name, value) != value]
    odd += [name for name in _PLAIN_PATTERNS if config.get(name)]
    if odd:
        raise ModelError(f"{path}: {odd[0]} is {shown(config[odd[0]])}; only plain LoRA can be loaded")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or not isinstance(alpha, int | float) or rank < 1:
        raise ModelError(f"{path}: r is {shown(rank)} and lora_alpha {shown(alpha)}; both must be numbers")
    return alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank


def wire(network: Any, tokenizer: TextTokenizer, description: ModelDescription) -> Generator:
    """A `Generator` from a loaded transformers model; the seam for models made in memory.

    Raises:
        ModelError: the tokenizer is not the model's, or a weight is no finite number.
    """
    check_weights(network, type(network).__name__)
    runs = {"device": str(network.device), "dtype": str(network.dtype).removeprefix("torch.")}
    check_vocabulary(network, tokenizer)
    if description.family == CAUSAL:
        title_end = _title_end(network, tokenizer, description)
        return Generator(causal_model(network), tokenizer, description, title_end, **runs)
    start = [tokenizer.token_id(token) for token in description.start] or default_start(network)
    title_end = _title_end(network, tokenizer, description)
    return Generator(seq2seq_model(network, start), tokenizer, description, title_end, **runs)


def check_vocabulary(network: Any, tokenizer: TextTokenizer) -> None:
    """Refuse a tokenizer with tokens that a network does not have.

    Raises:
        ModelError: the tokenizer is not the model's.
    """
    vocabulary = int(network.get_output_embeddings().weight.shape[0])
    highest = tokenizer.n_vocabulary - 1
    if highest >= vocabulary:
        raise ModelError(f"the tokenizer knows ids up to {highest}, the model only {vocabulary} tokens")


def _title_end(network: Any, tokenizer: TextTokenizer, description: ModelDescription) -> int:
    ids = tokenizer.encode(description.title_end)
    if len(ids) == 1:
        return ids[0]
    eos = getattr(network.config, "eos_token_id", None)
    if description.family == SEQ2SEQ and eos is not None:
        return int(eos[0] if isinstance(eos, list) else eos)
    raise ModelError(
        f"title_end {shown(description.title_end)} must be one token of the model, not {len(ids)}"
    )


def default_start(network: Any) -> list[int]:
    """Decoder start and, where the model was trained to force one, the beginning of sequence.

    Raises:
        ModelError: its configuration does not say with which token the decoder starts.
    """
    start = getattr(network.config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(network.generation_config, "decoder_start_token_id", None)
    forced = getattr(network.generation_config, "forced_bos_token_id", None)
    found: list[Any] = [start, *([] if forced is None else [forced])]
    if not all(type(token) is int for token in found):
        raise ModelError(
            f"its decoder starts with {shown(found)}; write the token into its config.json, as"
            " decoder_start_token_id"
        )
    return found


def _converted(files: ModelFiles) -> ModelFiles:
    """The same model as safetensors, dequantised once into the cache where it came as GGUF.

    Raises:
        ModelError: its weights are not finite, or the cache cannot be written.
    """
    if files.gguf is None or files.cache is None:
        if files.name == BASE_MODEL and files.folder is not None:
            clear_left(files.folder)
        return files
    logger.info("dequantising %s into %s (once)", files.gguf.name, files.cache)
    with quiet_transformers():
        try:
            network = AutoModelForCausalLM.from_pretrained(
                files.source,
                gguf_file=files.gguf.name,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.float32,
                trust_remote_code=False,
            )
        except Exception as error:  # noqa: BLE001 - transformers raises many kinds
            raise explain_failure(files, error) from error
    check_weights(network, files.gguf)
    with writing(files.cache, CACHE_ADVICE, ModelError), scratch_folder(files.cache / "model") as folder:
        with quiet_transformers():
            network.save_pretrained(folder)
        _strip_quantisation(folder / "config.json")
        made = sorted(folder.iterdir(), key=lambda path: path.name == "model.safetensors")
        for path in made:  # the weights last: they are what marks the copy as complete
            put_in_place(path, files.cache / path.name)
    return ModelFiles(files.name, str(files.cache))


def _strip_quantisation(path: Path) -> None:
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("quantization_config", None)
    path.write_text(json_file(config), encoding="utf-8")


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars of transformers inside the block; the user sees ours."""
    theirs: Any = transformers_logging
    gguf: Any = modeling_gguf_pytorch_utils  # whose bar asks nobody whether it is wanted
    verbosity, bar = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    gguf_bar = getattr(gguf, "tqdm", None)
    theirs.set_verbosity_error()
    theirs.disable_progress_bar()
    gguf.tqdm = lambda items, **_: items
    try:
        yield
    finally:
        theirs.set_verbosity(verbosity)
        gguf.tqdm = gguf_bar
        if bar:
            theirs.enable_progress_bar()
