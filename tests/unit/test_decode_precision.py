"""Which precision a model is loaded in."""

from __future__ import annotations

import pytest
import torch

from seal_ir.errors import UsageError
from seal_ir.lm import device as devices
from seal_ir.lm import load as pretrained
from seal_ir.lm.device import chosen_device, fastest_dtype, told_place
from seal_ir.lm.load import load_generator
from tests.helpers import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.save_llama(tmp_path_factory.mktemp("precision") / "llama"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, torch.float32),
        ("float32", torch.float32),
        ("bfloat16", torch.bfloat16),
        ("float16", torch.float16),
        ("auto", torch.float16),
    ],
)
def test_a_model_has_the_precision_asked_for_and_float32_unasked(
    folder: str, monkeypatch: pytest.MonkeyPatch, asked: str | None, expected: torch.dtype
) -> None:
    monkeypatch.setattr(devices, "fastest_dtype", lambda device: "float16")
    loaded: list[torch.dtype] = []
    wire = pretrained.wire

    def spied(network, *rest):
        loaded.append(network.dtype)
        return wire(network, *rest)

    monkeypatch.setattr(pretrained, "wire", spied)
    generator = load_generator(folder, device="cpu", dtype=asked)
    assert loaded == [expected]
    assert told_place(generator) == f"on cpu in {expected}".replace("torch.", "")


@pytest.mark.parametrize(
    ("avx512", "amx", "expected"),
    [(True, False, "bfloat16"), (False, True, "bfloat16"), (False, False, "float32")],
)
def test_the_fastest_precision_of_a_cpu_is_what_it_has_instructions_for(
    monkeypatch: pytest.MonkeyPatch, avx512: bool, amx: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert fastest_dtype(torch.device("cpu")) == expected


@pytest.mark.parametrize(("has", "expected"), [(True, "bfloat16"), (False, "float16")])
def test_the_fastest_precision_of_a_gpu(monkeypatch: pytest.MonkeyPatch, has: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: has)
    assert fastest_dtype(torch.device("cuda")) == expected


def test_an_unknown_precision_is_told_with_those_there_are(folder: str) -> None:
    with pytest.raises(UsageError, match="'int8'; it must be one of float32, bfloat16, float16, auto"):
        load_generator(folder, device="cpu", dtype="int8")


def test_j6_where_a_model_runs_is_logged(folder: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="seal_ir"):
        load_generator(folder, device="cpu", dtype="bfloat16")
    assert f"model {folder} runs on cpu in bfloat16" in caplog.messages


# All that torch knows by name, whether this build of it has them or not.
DEVICES = [
    *("meta", "cuda", "cuda:99", "xpu", "mps", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga"),
    *("maia", "xla", "lazy", "vulkan", "mtia", "privateuseone", "hpu", "ipu", "cpu:x", "", "abacus", "cpu\n"),
]


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.filterwarnings("ignore")  # each backend has its own
def test_j4_a_device_that_cannot_run_is_refused_in_one_line(name: str) -> None:
    if name in ("cuda", "xpu", "mps") and getattr(torch, name).is_available():
        pytest.skip("it can run here")
    with pytest.raises(UsageError, match="is not available here: .") as error:
        chosen_device(name)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_the_processor_can_run() -> None:
    assert chosen_device("cpu") == torch.device("cpu")
