"""The number of threads: what the user, the affinity and a container allow, and how OpenMP waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir import processes

CORES = 8


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(CORES)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def system(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A /proc and a /sys with these cgroups."""
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


V1 = "4:memory:/box\n3:cpu,cpuacct:/box\n2:cpuset:/box\n"
SYSTEMS = {
    "nothing is known": ("", {}, CORES),
    "version 2, no quota": ("0::/box\n", {"sys/fs/cgroup/box/cpu.max": "max 100000\n"}, CORES),
    "version 2": ("0::/box\n", {"sys/fs/cgroup/box/cpu.max": "200000 100000\n"}, 2),
    "version 2, a part of a core": ("0::/box\n", {"sys/fs/cgroup/box/cpu.max": "50000 100000\n"}, 1),
    "version 2, one and a half": ("0::/box\n", {"sys/fs/cgroup/box/cpu.max": "150000 100000\n"}, 2),
    "version 2, more than there are": ("0::/", {"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, CORES),
    "version 2, as a container sees it": ("0::/\n", {"sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3),
    "version 2, of a group above": (
        "0::/a/b/c\n",
        {"sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"},
        3,
    ),
    "version 2, from outside the container": (
        "0::/../../other\n",
        {"sys/fs/cgroup/cpu.max": "400000 100000\n"},
        4,
    ),
    "version 1": (
        V1,
        {
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
        },
        2,
    ),
    "version 1, as a container sees it": (
        V1,
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000\n",
        },
        2,
    ),
    "version 1, no quota": (
        V1,
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        CORES,
    ),
    "both versions": (
        V1 + "0::/box\n",
        {
            "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "500000\n",
            "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/unified/box/cpu.max": "max 100000\n",
        },
        5,
    ),
    "files that say nothing": (
        "0::/box\n",
        {"sys/fs/cgroup/box/cpu.max": "0 0\n", "sys/fs/cgroup/cpu.max": "many\n"},
        CORES,
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_i9_a_containers_quota_limits_the_cores(name: str, tmp_path: Path) -> None:
    groups, files, cores = SYSTEMS[name]
    assert processes.usable_cores(system(tmp_path, groups, files)) == cores


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_i9_the_affinity_limits_the_cores() -> None:
    code = "from seal_ir.processes import *; print(usable_cores(), default_threads(), most_threads())"
    done = subprocess.run(["taskset", "-c", "0", sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["1", "1", "4"], done.stderr


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3", 3), (" 2 ", 2), ("2,4", 2), ("100000", 4 * CORES)]
    + [(bad, CORES) for bad in ("", "0", "-1", "many", "2 4", "1e3", "9" * 5000)],
)
def test_i9_omp_num_threads_is_the_default(
    value: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "usable_cores", lambda: CORES)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert processes.default_threads() == expected


def test_i9_a_larger_number_is_cut_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "usable_cores", lambda: 2)
    assert [processes.capped(n) for n in (1, 8)] == [1, 8]
    assert not caplog.records
    assert processes.capped(100_000) == 8
    assert caplog.messages == ["threads is 100000; going on with 8, four for each core that may be used"]


def test_i9_openmp_waits_passively_unless_the_user_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    processes.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    processes.wait_passively()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setitem(sys.modules, "torch", os)  # it has read the variable already
    processes.wait_passively()
    assert "OMP_WAIT_POLICY" not in os.environ
