"""Training: renames that fail, interruptions between checkpoints and inside of one, two at once."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from seal_ir.config import preset
from seal_ir.errors import SealError, UsageError
from seal_ir.formats.io.outputs import alone_in
from seal_ir.lm.load import load_generator
from seal_ir.text.description import CAUSAL_TEMPLATE
from seal_ir.text.pretrained import find_model
from seal_ir.train.__main__ import main
from seal_ir.train.fit import trainer
from seal_ir.train.fit.network import load_trainable
from seal_ir.train.fit.options import FitOptions
from seal_ir.train.fit.result import save_result
from seal_ir.train.rank import run as rank_run
from seal_ir.train.rank.options import RankOptions
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.training import FAST, Fit, fitting

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")


@pytest.fixture
def fit(call: Runner, training_data: Path, llama: Path) -> Fit:
    return fitting(call, training_data, llama, *FAST, "--steps", 4, "--save-steps", 2, "--lora", 2)


def refuse_rename(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As on a disk that fails when the file of this name is to be put in place."""
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if Path(target).name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(self), None, str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def halves(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".") or path.suffix == ".tmp"]


@pytest.mark.parametrize("name", ["settings.json", "part-00000.arrow", "prepared.json"])
def test_a_rename_that_fails_in_a_training_set(
    call: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    corpus, out = ROOT / "collections" / "demo" / "corpus.jsonl", tmp_path / "set"
    options = ("data", "--input", corpus, "--unsupervised", "--documents", 5, "--output", out)
    with monkeypatch.context() as patch:
        refuse_rename(patch, name)
        told = f"{out / name}: cannot be written (Input/output error)"
        assert_fault(call(main, *options), 2, told)
    assert not (out / name).exists()
    assert not halves(tmp_path)
    assert call(main, *options).code == 0


@pytest.mark.parametrize(
    ("rank", "name"),
    [
        *((0, name) for name in ("config.json", "model.safetensors", "tokenizer.json", "seal.json")),
        *((2, name) for name in ("adapter_model.safetensors", "adapter_config.json")),
    ],
)
def test_a_rename_that_fails_in_a_model(
    tmp_path: Path, llama: Path, monkeypatch: pytest.MonkeyPatch, rank: int, name: str
) -> None:
    """In a folder that holds a model already, as after --resume; that one can be searched with as before."""
    files, out = find_model(str(llama)), tmp_path / "out"
    network, wrapper = load_trainable(files, rank, half=False)
    save_result(out, files, network, wrapper, CAUSAL_TEMPLATE)
    before = files_of(out)
    for parameter in network.parameters():
        parameter.data.mul_(1.5)
    refuse_rename(monkeypatch, name)
    with pytest.raises(UsageError, match=r"cannot be written \(Input/output error\)"):
        save_result(out, files, network, wrapper, CAUSAL_TEMPLATE)
    assert files_of(out)[name] == before[name]
    assert not halves(tmp_path)
    assert load_generator(str(out), "cpu").model


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trained.safetensors", "training.json", "loss.png"])
def test_a_rename_that_fails_in_a_run(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        refuse_rename(patch, name)
        assert_fault(fit(out), 2, str(out), "cannot be written (Input/output error)")
    assert not halves(tmp_path)
    for folder in (out / "checkpoints").iterdir():
        assert (folder / "trainer_state.json").is_file()  # whole
    more = ("--resume", "--steps", 6) if list((out / "checkpoints").iterdir()) else ()
    assert fit(out, *more).code == 0


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interruption_between_checkpoints_costs_what_came_after_the_last_one(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_three(self: Any, args: Any, state: Any, control: Any, **_: Any) -> Any:
        return interrupted() if state.global_step == 3 else control

    assert fit(tmp_path / "whole").code == 0
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(trainer.Clock, "on_step_end", at_three)
        assert_fault(fit(out), 130, "interrupted")
    assert [path.name for path in out.iterdir()] == ["checkpoints"]
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["checkpoint-2"]
    assert not halves(tmp_path)
    assert fit(out, "--resume").code == 0
    name = "adapter_model.safetensors"
    assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
def test_an_interruption_inside_of_a_checkpoint_leaves_none(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(trainer.SealTrainer, "_save_rng_state", interrupted)  # the last but one of its files
        assert_fault(fit(out), 130, "interrupted")
    assert list((out / "checkpoints").iterdir()) == []
    assert fit(out).code == 0


@pytest.mark.parametrize("what", ["fit", "data"])
def test_of_two_at_once_the_second_is_refused(call: Runner, fit: Fit, tmp_path: Path, what: str) -> None:
    out = tmp_path / "out"
    corpus = ROOT / "collections" / "demo" / "corpus.jsonl"
    data = ("data", "--input", corpus, "--unsupervised", "--documents", 5, "--output", out)
    with alone_in(out, "working"):
        (out / "checkpoints" / "checkpoint-2").mkdir(parents=True)  # one in the making
        refused = fit(out) if what == "fit" else call(main, *data)
        doing = "training" if what == "fit" else "making a training set"
        assert_fault(refused, 2, f"{out}: another process is {doing} there; wait until it is done, or name")
        assert (out / "checkpoints" / "checkpoint-2").is_dir()


def test_a_second_rank_training_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    sources: Any = None
    plan = rank_run.RankPlan(
        "none", tmp_path / "index", sources, preset("balanced"), out, FitOptions(), RankOptions()
    )
    with alone_in(out, "working"), pytest.raises(UsageError, match="another process is training there"):
        rank_run.train(plan, resume=False)
    monkeypatch.setenv("RANK", "1")  # one of several processes of the same run
    with alone_in(out, "working"), pytest.raises(SealError) as error:  # there is no such model
        rank_run.train(plan, resume=False)
    assert "another process" not in str(error.value)


def test_a_folder_for_one_process_is_gone_if_it_was_new_and_nothing_came_into_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with alone_in(folder, "working"), pytest.raises(UsageError), alone_in(folder, "working"):
        pass
    assert list((tmp_path / "a").iterdir()) == []
    (tmp_path / "a" / "b").mkdir()
    with alone_in(tmp_path / "a" / "b", "working"):
        pass
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"), alone_in(tmp_path / "file", "working"):
        pass
