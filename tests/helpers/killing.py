"""Ray's actors, killed so that it is seen: `ray.kill` comes back before the actor is gone."""

from __future__ import annotations

from typing import Any

from tests.helpers.waiting import wait_until


def kill_for_good(actor: Any) -> None:
    """Kill an actor, and wait until it answers no more."""
    import ray
    from ray.exceptions import RayActorError

    def is_gone() -> bool:
        try:
            ray.get(actor.__ray_ready__.remote())
        except RayActorError:
            return True
        return False

    ray.kill(actor, no_restart=True)
    wait_until(is_gone, every=0.1)
