"""Our statistics against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

from seal_ir.eval.significance import Resampling, bootstrap_intervals, randomisation_p

stats = pytest.importorskip("scipy.stats")


def their_p(differences: np.ndarray, n_resamples: float, seed: int = 0) -> float:
    result = stats.permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


@pytest.mark.parametrize("seed", range(6))
def test_exact_p_values(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for values in (draw.normal(0.2, 1, 11), draw.choice([-1.0, -0.5, 0.0, 0.25, 1.0], 12)):
        assert randomisation_p(values) == pytest.approx(their_p(values, np.inf), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sampled_p_values(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.1, 1, 200)
    ours = randomisation_p(values, Resampling(permutations=20_000))
    # Two estimates of one probability p differ by less than 4 standard errors.
    theirs = their_p(values, 20_000)
    assert ours == pytest.approx(theirs, abs=4 * np.sqrt(2 * theirs / 20_000))


def test_differences_of_0_and_1_are_a_sign_test() -> None:
    values = np.array([1.0] * 90 + [-1.0] * 61 + [0.0] * 349)
    assert randomisation_p(values) == pytest.approx(stats.binomtest(90, 151).pvalue)


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_percentile_intervals(level: float) -> None:
    values = np.random.default_rng(7).beta(0.5, 1.5, 150)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    ((lo, hi),) = bootstrap_intervals(values[:, None], Resampling(resamples=20_000, level=level))
    spread = values.std() / np.sqrt(150)
    assert lo == pytest.approx(theirs.low, abs=0.06 * spread)
    assert hi == pytest.approx(theirs.high, abs=0.06 * spread)
