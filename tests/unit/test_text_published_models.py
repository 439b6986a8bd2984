"""`--model seal-nq` and `seal-kilt`: where to get them and how to convert them, or the converted folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from seal_ir.errors import ModelError
from seal_ir.search.__main__ import main as search
from seal_ir.text.pretrained import find_model, load_description, load_tokenizer
from seal_ir.train.__main__ import main as train
from tests.helpers import fairseq_bart
from tests.helpers.commands import Runner, assert_fault


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where converted models are looked for; a path that a shell would take apart."""
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "my cache"))
    return tmp_path / "my cache" / "models"


@pytest.mark.parametrize(("name", "data"), [("seal-nq", "NQ"), ("seal-kilt", "KILT")])
def test_a_published_model_that_is_not_there(models: Path, name: str, data: str) -> None:
    with pytest.raises(ModelError) as error:
        find_model(name)
    told = str(error.value)
    assert told.startswith(f"{name}: the published model is not in {models / name}; ")
    for part in (
        "CC-BY-NC 4.0: no commercial use",
        f"http://dl.fbaipublicfiles.com/seal/SEAL_{data}.tar.gz",
        f"http://dl.fbaipublicfiles.com/SEAL/SEAL-checkpoint+index.{data}.tar.gz",
        "size unknown",
        f"train convert --checkpoint SEAL-checkpoint+index.{data}/SEAL.{data}.pt --output '",
    ):
        assert part in told
    assert "\n" not in told


def test_searching_with_one_tells_it_in_one_line(models: Path, call: Runner, tiny_index: Path) -> None:
    topics = models.parent.parent / "topics.tsv"
    topics.write_text("q1\twhere is Paris\n", encoding="utf-8")
    output = models.parent.parent / "run.trec"
    arguments = ("--topics", topics, "--index", tiny_index, "--model", "seal-nq", "--output", output)
    assert_fault(call(search, *arguments), 1, "seal-nq: the published model is not in", "train convert")
    assert not output.exists()


def test_the_command_that_is_told_makes_it(models: Path, call: Runner, tmp_path: Path) -> None:
    checkpoint = fairseq_bart.save(
        tmp_path / "SEAL.NQ.pt", fairseq_bart.random_state(fairseq_bart.n_tokens())
    )
    with pytest.raises(ModelError) as error:
        find_model("seal-nq")
    command = shlex.split(str(error.value).split("python -m seal_ir.train ")[1])
    assert command[1:2] == ["--checkpoint"]
    command[2] = str(checkpoint)
    result = call(train, *command, "--tokenizer", fairseq_bart.save_tokenizer(tmp_path / "tokenizer"))
    assert result.code == 0, result.err
    files = find_model("seal-nq")
    assert (files.name, files.folder) == ("seal-nq", models / "seal-nq")
    description = load_description(files)
    assert description is not None
    assert description.body == "{query} || body || +"
    assert load_tokenizer(files).affixes == ([0], [2])


def test_half_a_folder_is_none(models: Path) -> None:
    (models / "seal-nq").mkdir(parents=True)
    (models / "seal-nq" / "seal.json").write_text("{}")
    with pytest.raises(ModelError, match="the published model is not in"):
        find_model("seal-nq")
