"""What a decoder takes of a cluster, whether so many find room, and what to tell where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seal_ir.errors import ClusterError, UsageError

Resources = Mapping[str, float]  # of a node or a cluster, by Ray's names: "CPU", "GPU"
CORES, GPUS = "CPU", "GPU"
_UNITS = {CORES: "core", GPUS: "GPU"}


@dataclass(frozen=True, slots=True)
class Slot:
    """What one decoder takes, all of it on one node.

    Attributes:
        device: where its model runs, "cuda" or another name of torch's.
        n_cores: as many as torch has threads.
        n_gpus: 1 for a model on CUDA.
    """

    device: str
    n_cores: int
    n_gpus: int = 0

    @property
    def resources(self) -> dict[str, float]:
        """By Ray's names."""
        taken: dict[str, float] = {CORES: self.n_cores}
        return {**taken, GPUS: self.n_gpus} if self.n_gpus else taken

    def __str__(self) -> str:
        cores = _counted(self.n_cores, "core")
        return f"{cores} and {_counted(self.n_gpus, 'GPU')}" if self.n_gpus else cores


def slot_of(device: str | None, threads: int, nodes: Sequence[Resources]) -> Slot:
    """What a decoder takes: a GPU and one core, or a core for each thread of torch.

    Args:
        device: "cuda" or another name; None: "cuda" where the cluster has a GPU, else "cpu".
        threads: of torch, where there is no GPU.
        nodes: all resources of each node.

    Raises:
        UsageError: it is the name of one GPU of several.
    """
    if device is None:
        device = "cuda" if any(node.get(GPUS, 0) >= 1 for node in nodes) else "cpu"
    if device.startswith("cuda:"):
        raise UsageError(
            f"--device {device} does not go with --decoders: Ray gives each a GPU of its own; give cuda"
        )
    return Slot(device, 1, 1) if device == "cuda" else Slot(device, threads)


def n_slots(slot: Slot, nodes: Sequence[Resources]) -> int:
    """How many find room on the nodes."""
    needs = slot.resources.items()
    return sum(min(int(node.get(name, 0) // amount) for name, amount in needs) for node in nodes)


def check_room(n: int, slot: Slot, nodes: Sequence[Resources]) -> None:
    """Refuse more decoders than there would be room for on a cluster that does nothing else.

    Raises:
        ClusterError: says how many slots of what are needed, how many there are, and what to do.
    """
    room = n_slots(slot, nodes)
    if room >= n:
        return
    advice = [f"--decoders {room}"] if room else []
    fewer = next((k for k in range(slot.n_cores - 1, 0, -1) if n_slots(Slot("", k), nodes) >= n), 0)
    advice += [f"--threads {fewer}"] if fewer else ["--device cpu"] if slot.n_gpus else []
    give = f"give {' or '.join(advice)}, or " if advice else ""
    raise ClusterError(
        f"--decoders {n} needs {_counted(n, 'slot')} of {slot}, and the cluster has {room or 'none'}"
        f" ({told_of(nodes)}); {give}add nodes"
    )


def busy(n: int, slot: Slot, nodes: Sequence[Resources], free: Resources, seconds: float) -> ClusterError:
    """The error of a cluster that is large enough, but whose slots others hold.

    Args:
        n: decoders.
        slot: of each.
        nodes: all resources of each node.
        free: of all nodes together, what nobody holds.
        seconds: how long was waited for more.
    """
    whole = {name: sum(node.get(name, 0) for node in nodes) for name in slot.resources}
    left = " and ".join(f"{free.get(name, 0):g} of {_counted(n, _UNITS[name])}" for name, n in whole.items())
    return ClusterError(
        f"--decoders {n} needs {_counted(n, 'slot')} of {slot}, and after {seconds:g} s only {left} are free;"
        " end what holds the others (ray status), or give fewer"
    )


def told_of(nodes: Sequence[Resources]) -> str:
    """Nodes with their cores and GPUs, those that are alike together."""
    kinds = Counter(
        " and ".join(_counted(int(node[name]), unit) for name, unit in _UNITS.items() if node.get(name))
        for node in nodes
    )
    return (
        ", ".join(f"{_counted(n, 'node')} of {told or 'nothing'}" for told, n in kinds.items()) or "no node"
    )


def _counted(n: float, what: str) -> str:
    return f"{n:g} {what}" if n == 1 else f"{n:g} {what}s"
