"""Actors of a Ray cluster that do pieces of work side by side, each in a slot that is held for it.

Slots are a placement group of Ray's: all are had before any actor starts, or none. Ray restarts an actor that
is lost, and asks it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from seal_ir.distributed.cluster import LIVES, answer_of
from seal_ir.distributed.placement import Resources, Slot, busy, check_room
from seal_ir.errors import ClusterError

_PLACED_IN_S = 15.0  # how long slots are waited for: Ray tells late what has become free
_LOOKED_AFTER_S = 5.0  # between looks at whether lost slots are had again
_AT_HAND = 2  # pieces of work that an actor has, so that it need not wait for the next
_HELD = 4  # pieces for each actor that are not yet given out, the ready ones too


def nodes_of(ray: Any) -> list[Resources]:
    """All resources of each node that runs."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


class RayWorkers:
    """Actors of one kind. They go when this is closed, or the process ends."""

    def __init__(self, kind: type, arguments: Sequence[Any], slot: Slot, n: int) -> None:
        """Hold the slots and start the actors; in a process that is connected.

        Args:
            kind: the class of the actors, which are made of nothing: a restarted one has to be told all anew.
            arguments: the first of every call, put once into Ray's object store.
            slot: what each takes.
            n: how many.

        Raises:
            ClusterError: the cluster has not so many slots, or others hold them.
        """
        import ray
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        nodes = nodes_of(ray)
        check_room(n, slot, nodes)
        self._slots = placement_group([slot.resources] * n, strategy="SPREAD")
        if not self._slots.wait(_PLACED_IN_S):
            free = dict(ray.available_resources())  # type: ignore[no-untyped-call]
            self.close()
            raise busy(n, slot, nodes, free, _PLACED_IN_S)
        actor: Any = ray.remote(kind)
        self._actors = [
            actor.options(
                num_cpus=slot.n_cores,
                num_gpus=slot.n_gpus,
                max_restarts=LIVES,
                max_task_retries=-1,  # a node that is about to be given up uses up many
                scheduling_strategy=PlacementGroupSchedulingStrategy(self._slots, i),
            ).remote()
            for i in range(n)
        ]
        self._arguments = [ray.put(argument) for argument in arguments]

    def every(self, method: str) -> list[Any]:
        """What each actor answers to a method.

        Raises:
            SealError: what an actor raises; or one is lost.
        """
        asked = [getattr(actor, method).remote(*self._arguments) for actor in self._actors]
        waiting = asked
        while waiting:
            ready = self._ready(waiting)
            waiting = [answer for answer in waiting if answer not in ready]
        return [self._answer(answer) for answer in asked]

    def in_order(self, method: str, pieces: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """The answers to pieces of work, in their order; whichever actor has least to do takes the next.

        Args:
            method: its name.
            pieces: further arguments of each; taken a few ahead of the answers.

        Raises:
            SealError: what an actor raises, at its piece's turn; or one is lost.
        """
        left = iter(pieces)
        places = deque([*range(len(self._actors))] * _AT_HAND)
        waiting: deque[Any] = deque()
        doing: dict[Any, int] = {}
        while True:
            while places and len(waiting) < _HELD * len(self._actors):
                piece = next(left, None)
                if piece is None:
                    break
                actor = self._actors[places[0]]
                asked = getattr(actor, method).remote(*self._arguments, *piece)
                doing[asked] = places.popleft()
                waiting.append(asked)
            if not waiting:
                return
            if waiting[0] in doing:
                places.extend(doing.pop(answer) for answer in self._ready(list(doing)))
            else:
                yield self._answer(waiting.popleft())

    def close(self) -> None:
        """End the actors, in the middle of their work too, and give the slots back."""
        import ray
        from ray.util.placement_group import remove_placement_group

        self._actors, self._arguments = [], []
        if ray.is_initialized():
            remove_placement_group(self._slots)

    def _ready(self, asked: list[Any]) -> list[Any]:
        """Answers that are there, one or none; looks after the slots while none is.

        Raises:
            ClusterError: the slot of a lost node is not to be had elsewhere.
        """
        import ray

        ready: list[Any] = ray.wait(asked, timeout=_LOOKED_AFTER_S)[0]
        if not ready and not self._slots.wait(_PLACED_IN_S):
            raise _lost("has lost its node, and no other has room for it")
        return ready

    def _answer(self, answer: Any) -> Any:
        return answer_of(answer, _PLACED_IN_S, _lost)  # which is there already; it only has to be fetched


def _lost(what: str) -> ClusterError:
    return ClusterError(
        f"a decoder {what}; see whether its node runs (ray status) and has enough memory, and start again"
    )
