"""Going on after a death: from a whole checkpoint, from nothing, and never from a part of one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.train.__main__ import main
from seal_ir.train.data.dataset import load_dataset, part_files
from seal_ir.train.fit.checkpoints import checkpoint_of
from seal_ir.train.fit.options import FitOptions
from tests.helpers import training
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.training import FAST, Fit, fitting

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
FILES = ["trained.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, training_data: Path, llama: Path) -> Path:
    """A finished run of four steps with two checkpoints; tests must not change it."""
    out = tmp_path_factory.mktemp("run") / "out"
    options = ("--steps", 4, "--save-steps", 2, "--lora", 2)
    arguments = ["fit", "--data", training_data, "--model", llama, "--output", out, *FAST, *options]
    assert main(list(map(str, arguments))) == 0
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "out")


@pytest.fixture
def fit(call: Runner, training_data: Path, llama: Path) -> Fit:
    return fitting(call, training_data, llama, *FAST, "--steps", 6, "--save-steps", 3, "--lora", 2)


def missing(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def flipped(path: Path) -> None:
    """A few hundred bytes in the middle: more than the padding between the tensors of an archive."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = bytes(byte ^ 0xFF for byte in content[middle : middle + 200])
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [missing, empty, cut])
@pytest.mark.parametrize("name", FILES)
def test_j4_a_checkpoint_is_gone_on_from_whole_or_not_at_all(
    run: Path, name: str, damage: Callable[[Path], None]
) -> None:
    """A file of it that is missing, empty or cut is named, with what to do; nothing goes on without it."""
    last, before = run / "checkpoints" / "checkpoint-4", run / "checkpoints" / "checkpoint-2"
    options = FitOptions(steps=6)
    assert checkpoint_of(run, options, resume=True) == last
    damage(last / name)
    if (name, damage) == (FILES[-1], missing):  # written last: what marks a checkpoint as complete
        assert checkpoint_of(run, options, resume=True) == before
        return
    with pytest.raises(InputError) as error:
        checkpoint_of(run, options, resume=True)
    assert f"{last / name}: " in str(error.value)
    assert str(error.value).endswith(f"; remove {last} to go on from checkpoint-2")
    shutil.rmtree(last)
    assert checkpoint_of(run, options, resume=True) == before
    damage(before / FILES[0])
    with pytest.raises(InputError, match="and train anew"):
        checkpoint_of(run, options, resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["optimizer.pt", "rng_state.pth"])
def test_a_checkpoint_that_fails_its_checksums(run: Path, name: str) -> None:
    flipped(run / "checkpoints" / "checkpoint-4" / name)
    with pytest.raises(InputError, match=rf"{name}: .*damaged"):
        checkpoint_of(run, FitOptions(steps=6), resume=True)


@pytest.mark.slow
def test_a_damaged_checkpoint_ends_the_command_in_one_line(run: Path, fit: Fit) -> None:
    empty(run / "checkpoints" / "checkpoint-4" / "optimizer.pt")
    assert_fault(fit(run, "--resume"), 1, "optimizer.pt: cut or damaged", "go on from checkpoint-2")
    shutil.rmtree(run / "checkpoints" / "checkpoint-4")
    assert fit(run, "--resume").code == 0


@pytest.mark.slow
def test_several_processes_have_a_random_state_each(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(InputError, match=r"rng_state_1.pth: missing"):
        checkpoint_of(run, FitOptions(steps=6), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_j5_a_run_that_died_before_its_first_checkpoint_starts_anew(
    fit: Fit, tmp_path: Path, resume: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    half = out / "checkpoints" / "checkpoint-3"
    half.mkdir(parents=True)
    (half / "trained.safetensors").write_bytes(b"half")
    result = fit(out, *resume)
    assert result.code == 0, result
    assert "step 0/6" in result.err
    assert ("it starts anew" in result.err) == bool(resume)
    assert (out / "seal.json").is_file()
    assert checkpoint_of(out, FitOptions(steps=9), resume=True) == out / "checkpoints" / "checkpoint-6"


@pytest.mark.parametrize("there", ["nothing", "model", "checkpoint", "model and checkpoint", "half"])
def test_j5_no_advice_is_circular(run: Path, there: str) -> None:
    """What one way of starting is told to do the other way does, whatever is in the folder."""
    if "model" not in there:
        (run / "seal.json").unlink()
    if "checkpoint" not in there:
        shutil.rmtree(run / "checkpoints")
    if there == "half":
        (run / "checkpoints" / "checkpoint-2").mkdir(parents=True)
    told = {}
    for resume in (False, True):
        try:
            checkpoint_of(run, FitOptions(steps=6), resume=resume)
        except UsageError as error:
            told[resume] = str(error)
    assert not ("add --resume" in told.get(False, "") and True in told)
    assert not ("leave out --resume" in told.get(True, "") and False in told)
    assert len(told) < 2 or all("name another --output" in message for message in told.values())


@pytest.mark.parametrize("damage", [missing, empty, cut, lambda path: path.write_bytes(b"ARROW1" * 50)])
def test_a_damaged_part_of_a_training_set_is_named(
    fit: Fit, tmp_path: Path, training_data: Path, damage: Callable[[Path], None], call: Runner
) -> None:
    folder = shutil.copytree(training_data, tmp_path / "set")
    (part,) = part_files(folder)
    damage(part)
    result = fit(tmp_path / "out", "--data", folder)
    told = "0 examples, prepared.json says" if damage is missing else f"{part}: cut or damaged"
    assert_fault(result, 1, told, "train data` again" if damage is not missing else "make the set again")


def test_a_part_that_lost_its_last_batch_is_noticed(tmp_path: Path) -> None:
    """An Arrow stream may end after any message: a cut at a message's end is no damage to Arrow."""
    import pyarrow as pa

    folder = training.make_set(tmp_path / "set")
    (part,) = part_files(folder)
    schema = pa.ipc.open_stream(part.read_bytes()).schema
    with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_stream(sink, schema):
        pass
    with pytest.raises(InputError, match=r"its parts hold 0 examples, prepared.json says \d"):
        load_dataset(folder)


@pytest.mark.parametrize("name", ["settings.json", "prepared.json"])
@pytest.mark.parametrize("content", ["", "[", "[1]", "\udcff", "null"])
def test_a_damaged_record_of_a_training_set(fit: Fit, tmp_path: Path, name: str, content: str) -> None:
    folder = training.make_set(tmp_path / "set")
    (folder / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    assert_fault(fit(tmp_path / "out", "--data", folder), 1, str(folder / name), "make the set again")
