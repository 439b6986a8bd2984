"""What searches run on: threads, torch and its devices, Java."""

from __future__ import annotations

import os
from collections.abc import Iterator

from seal_ir import pyserini_plugin
from seal_ir.doctor.findings import ABSENT, BROKEN, OK, Finding
from seal_ir.doctor.packages import probed
from seal_ir.errors import UsageError
from seal_ir.processes import default_threads, usable_cores

_DEVICES = """
import json, torch
cuda = torch.cuda
names = range(cuda.device_count()) if cuda.is_available() else ()
devices = [[cuda.get_device_name(i), cuda.get_device_properties(i).total_memory] for i in names]
print(json.dumps([torch.__version__, torch.version.cuda, devices]))
"""


def computing() -> Iterator[Finding]:
    """Threads by default, and where models run."""
    asked = os.environ.get("OMP_NUM_THREADS")
    why = f"OMP_NUM_THREADS is {asked}" if asked else "OMP_NUM_THREADS is not set"
    yield Finding("machine", "threads", OK, f"{default_threads()} of {usable_cores()} usable cores; {why}")
    answer, fault = probed(_DEVICES)
    if fault:
        yield Finding("machine", "torch", BROKEN, fault, "pip install --force-reinstall torch")
        return
    torch, cuda, devices = answer
    built = f"for CUDA {cuda}" if cuda else "without CUDA"
    yield Finding("machine", "torch", OK, f"{torch} works, built {built}")
    for number, (name, n_bytes) in enumerate(devices):
        yield Finding("machine", f"GPU {number}", OK, f"{name}, {n_bytes / 1e9:,.0f} GB")
    if not devices:
        yield Finding("machine", "GPU", ABSENT, "none that torch can use; models run on the CPU")


def java() -> Iterator[Finding]:
    """What BM25 and other parts of Pyserini's run on."""
    try:
        home = pyserini_plugin.java_home()
    except UsageError as error:
        told, _, mend = str(error).partition("; ")
        yield Finding("machine", "Java", ABSENT, told, mend)
    else:
        yield Finding("machine", "Java", OK, f"{pyserini_plugin.java_version(home)}, in {home}")
