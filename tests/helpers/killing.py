"""Ray's actors, killed so that it is seen: `ray.kill` comes back before the actor is gone."""

from __future__ import annotations

import time
from typing import Any


def kill_for_good(actor: Any) -> None:
    """Kill an actor, and wait until it answers no more."""
    import ray
    from ray.exceptions import RayActorError

    ray.kill(actor, no_restart=True)
    for _ in range(300):
        try:
            ray.get(actor.__ray_ready__.remote())
        except RayActorError:
            return
        time.sleep(0.1)
    raise AssertionError("it lives")
