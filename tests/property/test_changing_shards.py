"""An index in shards that has been changed in any way answers like a fresh one; here without Ray."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from seal_ir.index.reader import Index
from tests.helpers.examples import examples
from tests.helpers.sharded import sharded
from tests.property.test_changing_index import ChangingIndex


class ChangingShards(ChangingIndex):
    """Each commit is read by another number of shards."""

    def __init__(self) -> None:
        super().__init__()
        self.n_shards = [1, 2, 5]

    def read(self) -> Index:
        self.n_shards.append(self.n_shards.pop(0))
        return sharded(self.directory, self.n_shards[0])


TestChangingShards = pytest.mark.slow(ChangingShards.TestCase)
TestChangingShards.settings = settings(
    examples(20),
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking builds hundreds of indexes
)
