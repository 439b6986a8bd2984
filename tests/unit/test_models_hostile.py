"""A model's folder is believed nothing: code in it is not run, nor is what a pickle names."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seal_ir.baselines.dense.encoders import find_encoder
from seal_ir.baselines.dense.encoding import load_encoder
from seal_ir.errors import ModelError
from seal_ir.lm.load import load_generator
from seal_ir.text.pretrained import find_model, load_tokenizer
from tests.helpers.tiny_encoders import save_sentence_encoder

CODE = "from pathlib import Path\nPath({ran!r}).touch()\n"


class Touches:
    """What a pickle of it makes when it is read: a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self._path,)


def load_model(folder: Path) -> None:
    load_generator(str(folder), device="cpu", dtype="float32")


def read_tokenizer(folder: Path) -> None:
    load_tokenizer(find_model(str(folder)))


def load_dense(folder: Path) -> None:
    load_encoder(find_encoder(str(folder)), device="cpu", dtype="float32")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who agrees to anything that is asked."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")


@pytest.mark.parametrize(
    ("load", "maps"),
    [
        (load_model, {"config.json": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}),
        (load_dense, {"config.json": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}),
        (read_tokenizer, {"tokenizer_config.json": {"AutoTokenizer": [None, "own.Tokenizer"]}}),
    ],
)
@pytest.mark.usefixtures("terminal")
def test_d10_code_in_a_models_folder_is_refused(
    load: Callable[[Path], None], maps: dict[str, dict[str, object]], llama: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    if load is load_dense:
        save_sentence_encoder(folder)
    else:
        shutil.copytree(llama, folder)
    if load is read_tokenizer:
        (folder / "tokenizer.json").unlink()  # so that transformers makes the tokenizer
    (folder / "own.py").write_text(CODE.format(ran=str(tmp_path / "ran")), encoding="utf-8")
    for name, own in maps.items():
        path = folder / name
        config = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        config |= {"auto_map": own, "model_type": "own"}
        path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        load(folder)
    assert not (tmp_path / "ran").exists()
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)
    assert "it brings code of its own, which is not run" in str(error.value)
    assert not any(name.startswith("transformers_modules") for name in sys.modules)


@pytest.mark.parametrize("load", [load_model, load_dense])
def test_d10_a_pickle_in_a_models_folder_is_not_run(
    load: Callable[[Path], None], llama: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    if load is load_dense:
        save_sentence_encoder(folder)
    else:
        shutil.copytree(llama, folder)
    (folder / "model.safetensors").unlink()
    torch.save({"x": Touches(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError):
        load(folder)
    assert not (tmp_path / "ran").exists()
