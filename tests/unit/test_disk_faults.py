"""A full or read-only disk is told in one line, and nothing stays half-written; nor what was killed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import torch
from safetensors.torch import save_file

from seal_ir.convert.fairseq import Conversion, convert
from seal_ir.errors import ModelError, SealError, UsageError
from seal_ir.formats.io.disk import disk_fault, writing
from seal_ir.formats.io.outputs import clear_left, scratch_folder
from seal_ir.lm import load as pretrained
from seal_ir.lm.load import load_network
from seal_ir.text.pretrained import BASE_MODEL, ModelFiles, find_model
from seal_ir.train.__main__ import main
from seal_ir.train.fit.network import load_trainable
from tests.helpers import tiny
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.disks import full

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")


def python(path: Path) -> None:
    path.write_bytes(bytes(200_000))


def arrow(path: Path) -> None:
    table = pa.table({"a": list(range(100_000))})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def safetensors(path: Path) -> None:
    save_file({"a": torch.zeros(100_000)}, path)


def archive(path: Path) -> None:
    torch.save({"a": torch.zeros(100_000)}, path)


@pytest.mark.parametrize("write", [python, arrow, safetensors, archive])
@pytest.mark.parametrize("n_bytes", [0, 1000, 150_000])
def test_a_full_disk_is_told_whoever_writes(
    tmp_path: Path, write: Callable[[Path], None], n_bytes: int
) -> None:
    with full(n_bytes), pytest.raises(UsageError, match="cannot be written .*make room"), writing(tmp_path):
        write(tmp_path / "x")
    with pytest.raises(UsageError, match="cannot be written"), writing(tmp_path):
        write(tmp_path / "none" / "x")
    write(tmp_path / "y")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_the_reason_is_the_system_s(number: int) -> None:
    assert disk_fault(OSError(number, "x")) == os.strerror(number)
    assert disk_fault(RuntimeError(f"I/O error: whatever (os error {number})")) == os.strerror(number)
    assert disk_fault(RuntimeError("a bug")) == disk_fault(OSError(errno.ECONNREFUSED, "x")) == ""


def whole_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_j4_a_training_set_on_a_full_disk(call: Runner, tmp_path: Path) -> None:
    corpus, out = ROOT / "collections" / "demo" / "corpus.jsonl", tmp_path / "set"
    options = ("data", "--input", corpus, "--unsupervised", "--output", out)
    with full(2000):
        assert_fault(call(main, *options), 2, f"{out / 'part-00000.arrow'}: cannot be written", "make room")
    assert whole_files(out) == ["settings.json"]
    assert call(main, *options).code == 0  # and goes on when there is room
    with full(100):
        assert_fault(call(main, *options[:-1], tmp_path / "other"), 2, "settings.json: cannot be written")
    assert whole_files(tmp_path / "other") == []


@pytest.mark.slow
@pytest.mark.parametrize("lora", [(), ("--lora", 2)])
@pytest.mark.parametrize(("n_bytes", "told"), [(1_000, "checkpoint-1: cannot"), (20_000, "cannot")])
def test_j4_training_on_a_full_disk(
    call: Runner,
    tmp_path: Path,
    training_data: Path,
    llama: Path,
    lora: tuple[Any, ...],
    n_bytes: int,
    told: str,
) -> None:
    out = tmp_path / "out"
    sizes = ("--tokens", 500, "--max-tokens", 120, "--steps", 2, "--save-steps", 1)
    options = ("--data", training_data, "--model", llama, "--output", out, *sizes, *lora)
    with full(n_bytes):
        assert_fault(call(main, "fit", *options), 2, told, "be written", "make room")
    assert not (out / "seal.json").exists()
    for folder in (out / "checkpoints").iterdir():
        assert (folder / "trainer_state.json").is_file()  # whole


def test_a_model_on_a_full_disk(tmp_path: Path, llama: Path) -> None:
    """The two ways in which training writes its result."""
    from seal_ir.text.description import CAUSAL_TEMPLATE
    from seal_ir.train.fit.result import save_result

    files = find_model(str(llama))
    for rank in (0, 2):
        network, wrapper = load_trainable(files, rank, half=False)
        out = tmp_path / f"out{rank}"
        with full(1000), pytest.raises(UsageError, match=f"out{rank}: cannot be written"):
            save_result(out, files, network, wrapper, CAUSAL_TEMPLATE)
        assert not (out / "seal.json").exists()


def test_a_run_that_may_not_write_is_refused_before_its_first_step(
    call: Runner, tmp_path: Path, training_data: Path, llama: Path
) -> None:
    (tmp_path / "file").touch()  # where a folder would have to be made
    options = ("--data", training_data, "--model", llama, "--output", tmp_path / "file" / "out", "--steps", 1)
    result = call(main, "fit", *options)
    assert_fault(result, 2, "file/out: cannot be written", "choose another place")
    assert "step 0/1" not in result.err


@pytest.mark.slow
def test_curves_on_a_full_disk(tmp_path: Path) -> None:
    from seal_ir.train.fit.result import draw

    log = [{"step": step, "loss": 1.0} for step in (1, 2)]
    with full(1000), pytest.raises(UsageError, match="loss.png: cannot be written"):
        draw(log, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def gguf(tmp_path: Path, llama: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    """A model that "comes as GGUF": what transformers makes of that is a network as any other."""
    network = load_network(find_model(str(llama)), torch.float32)
    theirs = pretrained.AutoModelForCausalLM.from_pretrained

    def from_pretrained(source: str, **options: Any) -> Any:
        return network if "gguf_file" in options else theirs(source, **options)

    monkeypatch.setattr(pretrained.AutoModelForCausalLM, "from_pretrained", from_pretrained)
    return ModelFiles(BASE_MODEL, str(tmp_path), tmp_path / "x.gguf", tmp_path / "cache")


def test_j4_a_conversion_into_a_full_cache(gguf: ModelFiles) -> None:
    assert gguf.cache is not None
    with full(1000), pytest.raises(ModelError, match="cache: cannot be written .*SEAL_IR_CACHE"):
        load_network(gguf, torch.float32)
    assert list(gguf.cache.iterdir()) == []
    assert load_network(gguf, torch.float32)
    assert (gguf.cache / "model.safetensors").is_file()


def test_a_tokenizer_into_a_full_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seal_ir.text.pretrained import load_tokenizer

    backend = SimpleNamespace(backend_tokenizer=SimpleNamespace(to_str=tiny.definition))
    fake = SimpleNamespace(AutoTokenizer=SimpleNamespace(from_pretrained=lambda *_, **__: backend))
    monkeypatch.setitem(sys.modules, "transformers", fake)
    files = ModelFiles("x", str(tmp_path), tmp_path / "x.gguf", tmp_path / "cache")
    with full(1000), pytest.raises(ModelError, match="cannot be written .*SEAL_IR_CACHE"):
        load_tokenizer(files)
    assert list((tmp_path / "cache").iterdir()) == []


def test_j7_what_killed_conversions_left_is_removed(gguf: ModelFiles, tmp_path: Path) -> None:
    """By the next conversion, and where the cache is complete by the next load; what lives stays."""
    files, cache = gguf, gguf.cache
    assert cache is not None
    program = (
        "import sys, time; from pathlib import Path; from seal_ir.formats.io.outputs import scratch_folder\n"
        "with scratch_folder(Path(sys.argv[1]) / 'model') as folder:\n"
        "    (folder / 'half').write_bytes(bytes(1000)); print(folder, flush=True); time.sleep(600)\n"
    )

    def converting() -> tuple[subprocess.Popen[str], Path]:
        command = [sys.executable, "-c", program, str(cache)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    living, kept = converting()
    try:
        for _ in range(2):  # into an empty cache, and with a complete one
            process, left = converting()
            process.kill()
            process.communicate()
            assert (left / "half").is_file()
            load_network(files, torch.float32)
            assert not left.exists()
            assert (kept / "half").is_file()
            files = ModelFiles(BASE_MODEL, str(cache))
    finally:
        living.kill()
        living.communicate()
    clear_left(kept.parent)
    assert not kept.exists()
    assert clear_left(tmp_path / "nowhere") is None  # and says nothing


def test_a_folder_of_one_s_own_is_gone_afterwards_unless_it_was_renamed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), scratch_folder(tmp_path / "a" / "x") as folder:
        assert folder.parent == tmp_path / "a"
        raise RuntimeError
    with scratch_folder(tmp_path / "a" / "x") as folder:
        folder.rename(tmp_path / "a" / "kept")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]


def test_converting_a_checkpoint_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    """Whatever else lies beside it under a hidden name stays."""
    left, other = tmp_path / ".model.converting-abc", tmp_path / ".model.building"
    left.mkdir()
    other.mkdir()
    conversion = Conversion(
        tmp_path / "none.pt", tmp_path / "model", str(tiny.save_tokenizer(tmp_path / "t"))
    )
    with pytest.raises(SealError):  # there is no such checkpoint
        convert(conversion)
    assert not left.exists()
    assert other.is_dir()
    assert not (tmp_path / "model").exists()
    shutil.rmtree(other)


def test_a_full_disk_spoils_no_cache_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the helper: Python 3.11 writes what fits, and fails on it whenever the module is imported later."""
    (tmp_path / "imported_late.py").write_text(f"x = {list(range(3000))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with full(1000):
        import imported_late  # type: ignore[import-not-found]
    assert imported_late.x[-1] == 2999
    assert list(tmp_path.rglob("*.pyc")) == []
    assert sys.dont_write_bytecode is False
