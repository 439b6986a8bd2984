"""Hierarchical k-means: clusters are split until they are small, and a document is named by its way down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.arrays import Floats, Ints
from seal_ir.errors import UsageError

Paths = list[tuple[int, ...]]
_ITERATIONS = 20
_POINTS_A_CENTROID = 4096  # a random sample of so many vectors a centroid is enough to place it


@dataclass(frozen=True, slots=True)
class TreeConfig:
    """How to cluster; the defaults are DSI's.

    Attributes:
        branches: clusters that one is split into.
        leaf: documents of a cluster that is not split any more.
        seed: of samples and first centroids.
    """

    branches: int = 10
    leaf: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, branches=2, leaf=1, seed=0)
        if self.seed >= 1 << 31:
            raise UsageError(f"seed is {self.seed}; it must be less than 2^31")


def tree_paths(vectors: Floats, config: TreeConfig) -> Paths:
    """The path of each vector: the number of its cluster at each level, at last its number in a leaf.

    Plain k-means (squared Euclidean distance), as in DSI. No two paths are equal and none begins another.
    Empty clusters get no number. Vectors that k-means cannot tell apart, such as equal ones, are cut into
    runs in their order, as equal in size as can be. Faiss runs in one thread, so that the paths depend on
    the vectors and the config only.

    Args:
        vectors: float32 [n, dimension], finite.
        config: how.
    """
    paths: Paths = [()] * len(vectors)
    with _one_thread():
        open_nodes: list[tuple[tuple[int, ...], Ints]] = [((), np.arange(len(vectors)))]
        while open_nodes:
            path, rows = open_nodes.pop()
            if len(rows) <= config.leaf:
                for number, row in enumerate(rows.tolist()):
                    paths[row] = (*path, number)
                continue
            for number, part in enumerate(_split(vectors, rows, config)):
                open_nodes.append(((*path, number), part))
    return paths


def _split(vectors: Floats, rows: Ints, config: TreeConfig) -> list[Ints]:
    """At least two parts of some rows, none of them empty, each in ascending order."""
    n_parts = min(config.branches, len(rows))
    # All rows, as at the top, are taken as they lie and not copied.
    points = vectors if len(rows) == len(vectors) else vectors[rows]
    nearest = _nearest_centroids(points, n_parts, config.seed)
    parts = [part for n in range(n_parts) if len(part := rows[nearest == n])]
    return parts if len(parts) > 1 else np.array_split(rows, n_parts)


def _nearest_centroids(points: Floats, n_centroids: int, seed: int) -> Ints:
    import faiss

    points = np.ascontiguousarray(points)
    kmeans: Any = faiss.Kmeans(
        points.shape[1],
        n_centroids,
        niter=_ITERATIONS,
        seed=seed,
        max_points_per_centroid=_POINTS_A_CENTROID,
        min_points_per_centroid=1,  # fewer are no cause for a warning
    )
    kmeans.train(points)
    _, nearest = kmeans.index.search(points, 1)
    return np.asarray(nearest[:, 0], np.int64)


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
