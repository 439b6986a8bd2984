"""The network in training: loaded, with LoRA or not, and its loss on the tokens of targets only."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

from seal_ir.errors import InputError, TrainingError, UsageError
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.outputs import put_in_place
from seal_ir.lm.device import first_odd
from seal_ir.lm.load import adapter_matrices, load_network
from seal_ir.text.pretrained import ADAPTER_CONFIG, ModelFiles, base_files

TRAINED = "trained.safetensors"
LESS = "train again with a lower --lr, a longer --warmup or a smaller --clip"
_TOLERANCE = 1e-3


class TargetLoss(nn.Module):
    """A network and its loss; what the Trainer trains.

    Logits are computed where a target's token is predicted and nowhere else: over a large vocabulary those
    of the prompt would be a good part of the work.
    """

    def __init__(self, network: Any, smoothing: float) -> None:
        """Args: network: a transformers model with a head; smoothing: of the labels."""
        super().__init__()
        self.network = network
        self.seq2seq = bool(network.config.is_encoder_decoder)
        self._smoothing = smoothing
        self._split = not self.seq2seq and _head_is_last(network)

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:
        """The smoothed loss of a batch, and the sum of -log P over its target tokens, unsmoothed.

        Takes what `collate` makes. Both are in nats; the loss is a mean over target tokens.
        """
        labels = inputs.pop("target")
        logits = self.logits(inputs.pop("predict"), inputs)
        loss = functional.cross_entropy(logits, labels, label_smoothing=self._smoothing)
        with torch.no_grad():
            nats = functional.cross_entropy(logits.detach(), labels, reduction="sum")
        return {"loss": loss, "nats": nats}

    def logits(self, predict: torch.Tensor, inputs: Mapping[str, Any]) -> torch.Tensor:
        """Float32 [m, vocabulary], at places of the flattened batch."""
        if self._split:
            hidden = self.network.base_model(**inputs, use_cache=False).last_hidden_state
            logits = self.network.get_output_embeddings()(hidden.flatten(0, 1)[predict])
        else:
            logits = self.network(**inputs, use_cache=False).logits.flatten(0, 1)[predict]
        found: torch.Tensor = logits.float()
        return found

    def trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Names and values of what is trained; tied weights come once."""
        return ((name, value) for name, value in self.network.named_parameters() if value.requires_grad)


def load_trainable(files: ModelFiles, rank: int, *, half: bool) -> tuple[Any, Any]:
    """The network, ready to be trained, and peft's wrapper around it, or None without LoRA.

    Args:
        files: the model. With LoRA, a model that is an adapter itself is trained further, its base staying
            as it is; without, it is merged first.
        rank: of the LoRA matrices on all linear layers; 0 trains all weights.
        half: keep frozen weights in bfloat16, so that nothing is converted in each step.

    Raises:
        ModelError: the model cannot be loaded.
        UsageError: it is an adapter of another rank.
    """
    base = base_model(files)
    network = load_network(base if rank else files, torch.bfloat16 if half and rank else torch.float32)
    if not rank:
        return network, None
    if base is not files:
        return _with_adapter(network, files, rank)
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        task_type="SEQ_2_SEQ_LM" if network.config.is_encoder_decoder else "CAUSAL_LM",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that is going
        wrapper = get_peft_model(network, config)
    return wrapper.get_base_model(), wrapper


def base_model(files: ModelFiles) -> ModelFiles:
    """The model that an adapter is added to; any other model itself."""
    return (base_files(files.folder) if files.folder else None) or files


def _with_adapter(network: Any, files: ModelFiles, rank: int) -> tuple[Any, Any]:
    """The base network under the adapter that it is trained further with."""
    from peft import PeftModel

    folder = Path(files.source)
    adapter_matrices(folder)  # peft takes whatever is in there
    wrapper: Any = PeftModel.from_pretrained(network, folder, is_trainable=True)
    found = wrapper.peft_config["default"].r
    if found != rank:
        raise UsageError(
            f"{folder / ADAPTER_CONFIG}: the adapter has rank {found}; train it further with --lora {found}"
        )
    return wrapper.get_base_model(), wrapper


@torch.no_grad()
def _head_is_last(network: Any) -> bool:
    """Whether the network's logits are its head on its base's states, with nothing in between or after."""
    tokens = torch.arange(5, device=network.device)[None]
    was_training = network.training
    network.eval()
    try:
        hidden = network.base_model(input_ids=tokens, use_cache=False).last_hidden_state
        ours = network.get_output_embeddings()(hidden)
        theirs = network(input_ids=tokens, use_cache=False).logits
        return ours.shape == theirs.shape and bool((ours - theirs).abs().max() <= _TOLERANCE)
    except (AttributeError, TypeError, RuntimeError):
        return False
    finally:
        network.train(was_training)


def save_trained(model: TargetLoss, folder: Path) -> None:
    """Write what is trained as `trained.safetensors`, exactly; the file appears in one step.

    Raises:
        TrainingError: a weight is no finite number.
        UsageError: the folder cannot be written.
    """
    save_tensors(dict(model.trained()), folder / TRAINED)


def save_tensors(
    tensors: Mapping[str, torch.Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write tensors as safetensors; the file appears in one step.

    Raises:
        TrainingError: a weight is no finite number.
        UsageError: the folder cannot be written.
    """
    check_trained(tensors.items(), path.parent)
    temporary = path.with_name(f".{path.name}.tmp")
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            values = {name: value.detach().contiguous() for name, value in tensors.items()}
            save_file(values, temporary, metadata)
            put_in_place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def check_trained(tensors: Iterable[tuple[str, torch.Tensor]], folder: Path) -> None:
    """Refuse to write weights that are no finite numbers.

    Raises:
        TrainingError: names the first one.
    """
    odd = first_odd(tensors)
    if odd:
        raise TrainingError(f"{folder}: not written, the weights are not finite numbers: {odd}; {LESS}")


def load_trained(model: TargetLoss, folder: Path) -> None:
    """Read it back.

    Raises:
        InputError: the file is damaged, or of another model or of another rank.
    """
    values = read_trained(folder)
    own = dict(model.trained())
    if {name: value.shape for name, value in own.items()} != {n: v.shape for n, v in values.items()}:
        raise InputError(f"{folder}: weights of another model or --lora; resume with the same options")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(values[name])


def read_trained(folder: Path) -> dict[str, torch.Tensor]:
    """The weights that `save_trained` wrote, by name.

    Raises:
        InputError: there are none, or the file is cut or holds numbers that are not finite.
    """
    path = folder / TRAINED
    try:
        values = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    odd = first_odd(values.items())
    if odd:
        raise InputError(f"{path}: the weights are not finite numbers: {odd}")
    return values
