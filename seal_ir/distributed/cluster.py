"""Ray: connecting to a cluster, and the shards of an index as its actors.

Where actors are placed, how they are restarted and questions retried, and how arrays travel is Ray's. Nothing
here is imported before it is asked for; `building` and `workers` are all else that imports Ray.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.arrays import Ints
from seal_ir.distributed.index import ShardedIndex
from seal_ir.distributed.messages import Shards
from seal_ir.distributed.shard import Part, Shard
from seal_ir.distributed.view import ShardedView  # noqa: F401 - which `view_of` knows then
from seal_ir.errors import ClusterError, SealError, one_line, shown
from seal_ir.index.manifest import Manifest, read_manifest
from seal_ir.index.opening import Check

LOCAL = "local"
INSTALL = "Ray is not installed; install it with: pip install 'seal-ir[ray]'"
LIVES = 10  # times that a lost actor is restarted, and a question asked again
_REACHED_IN_S = 10.0
_AT_ONCE = 8  # questions that a shard answers side by side: decoding does not wait for ranking


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster to be used.

    Attributes:
        address: "local" starts one on this machine for as long as this process runs; else that of one that
            runs, as "auto", "10.0.0.1:6379" or "ray://10.0.0.1:10001".
        patience_s: seconds after which a question is given up; a restarted shard opens its files anew.
    """

    address: str = LOCAL
    patience_s: float = 600.0

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        check_least(self, patience_s=0.001)


def connected(cluster: Cluster) -> Any:
    """The module `ray`, connected to the cluster; a connection that is there already is used.

    Raises:
        ClusterError: Ray is not installed, or there is no such cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no network but the cluster's
    try:
        import ray
    except ImportError as error:
        raise ClusterError(f"{INSTALL} ({one_line(error)})") from error
    if ray.is_initialized():
        return ray
    options: dict[str, Any] = {"include_dashboard": False} if cluster.address == LOCAL else {}
    try:
        _reach(cluster.address)
        ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ClusterError(
            f"Ray at {shown(cluster.address)}: cannot connect ({shown(one_line(error), 200)}); start one"
            " with: ray start --head, or give 'local'"
        ) from error
    return ray


def _reach(address: str) -> None:
    """Try whether anything listens at HOST:PORT: Ray tries for two minutes, and then ends this process.

    Raises:
        OSError: nothing does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _REACHED_IN_S).close()


def n_cores(cluster: Cluster) -> int:
    """Cores of all nodes together, at least 1.

    Raises:
        ClusterError: as `connected`.
    """
    return max(1, int(connected(cluster).cluster_resources().get("CPU", 1)))


def open_sharded(
    directory: str | Path, cluster: Cluster | str = LOCAL, shards: int | None = None, check: Check = "bytes"
) -> ShardedIndex:
    """An index whose segments lie in actors of a Ray cluster.

    Args:
        directory: the index directory, which every node finds under the same path.
        cluster: where; by its address for the defaults.
        shards: how many actors; default: one a segment, but no more than the cluster has cores. An index has
            no more shards than segments.
        check: what is compared with the manifest when the segments are opened; see `Index`.

    Raises:
        IndexDirError: there is no sound index.
        ClusterError: Ray is not installed, or there is no such cluster.
        ArgumentError: a number means nothing.
    """
    chosen = Cluster(cluster) if isinstance(cluster, str) else cluster
    return ShardedIndex(Path(directory), _Opener(chosen, shards, check))


@dataclass(frozen=True, slots=True)
class _Opener:
    """Starts the shards of an index, in other processes too."""

    cluster: Cluster
    shards: int | None
    check: Check

    def __call__(self, directory: Path) -> tuple[Manifest, Shards]:
        manifest = read_manifest(directory)
        most = self.shards or n_cores(self.cluster)
        connected(self.cluster)
        parts = [Part.of(directory, manifest, first, end, self.check) for first, end in cut(manifest, most)]
        return manifest, RayShards(parts, self.cluster.patience_s)


def cut(manifest: Manifest, n: int) -> list[tuple[int, int]]:
    """Neighbouring segments for each of n shards, [first, end), of about as many tokens each."""
    sizes = [segment.n_live_tokens for segment in manifest.segments]
    n = max(1, min(n, len(sizes)))
    ends = np.cumsum(sizes)
    cuts = [0]
    for shard in range(1, n):
        nearest = int(np.argmin(np.abs(ends - ends[-1] * shard / n))) + 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(sizes) - (n - shard)))
    return list(zip(cuts, [*cuts[1:], len(sizes)], strict=True))


def answer_of(answer: Any, patience_s: float, lost: Callable[[str], ClusterError]) -> Any:
    """What an actor has answered.

    Args:
        answer: Ray's reference to it.
        patience_s: how long to wait.
        lost: makes the error of what became of the actor.

    Raises:
        SealError: what the actor raised, or what `lost` made.
    """
    import ray
    from ray import exceptions

    try:
        return ray.get(answer, timeout=patience_s)
    except exceptions.RayTaskError as error:
        if isinstance(error.cause, SealError):
            raise error.cause from None
        raise
    except exceptions.GetTimeoutError as error:
        raise lost(f"has not answered for {patience_s:g} s") from error
    except exceptions.RayError as error:
        raise lost("is lost, and Ray could not bring it back") from error


class RayShards:
    """Shards that are actors. They go when nothing refers to this object any more.

    Attributes:
        bases: see `Shards`.
    """

    def __init__(self, parts: Sequence[Part], patience_s: float) -> None:
        """Start an actor for each part; in a process that is connected."""
        import ray

        actor = ray.remote(Shard).options(
            num_cpus=0,  # a shard waits for memory; cores are those of workers
            scheduling_strategy="SPREAD",
            max_restarts=LIVES,
            max_task_retries=LIVES,
            max_concurrency=_AT_ONCE,
        )
        self._parts, self._patience_s = parts, patience_s
        self._actors = [actor.remote(part) for part in parts]
        self.bases: Ints = np.array([*(part.base for part in parts), parts[-1].end], dtype=np.int64)

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """See `Shards.keep`: in Ray's object store."""
        import ray

        return [ray.put(value) for value in values]

    def ask(self, method: str, arguments: Sequence[Sequence[Any] | None]) -> list[Any]:
        """See `Shards.ask`."""
        asked = [
            None if values is None else getattr(actor, method).remote(*values)
            for actor, values in zip(self._actors, arguments, strict=True)
        ]
        return [
            None if answer is None else self._answer(answer, part)
            for answer, part in zip(asked, self._parts, strict=True)
        ]

    def _answer(self, answer: Any, part: Part) -> Any:
        return answer_of(answer, self._patience_s, lambda what: self._lost(part, what))

    def _lost(self, part: Part, what: str) -> ClusterError:
        segments = part.manifest.segments
        return ClusterError(
            f"{part.directory}: the shard of {segments[0].name} to {segments[-1].name} {what}; see"
            " whether its node runs (ray status) and finds the index under this path, and start again"
        )
