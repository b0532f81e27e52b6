"""Intervals of pooled rates: against scipy, in simulations, and where there is nothing to divide by."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from eval.stop_difference import _decide, _interval

Counts = NDArray[np.float64]


def drawn(generator: np.random.Generator, clusters: int, rates: tuple[float, float]) -> Counts:
    """(stops, decisions) of both arms for each cluster; clusters with many decisions stop more readily."""
    wholes = generator.integers(1, 6, (clusters, 2))
    parts = generator.binomial(wholes, np.clip(np.array(rates) + 0.05 * (wholes - 3), 0, 1))
    return np.stack([parts[:, 0], wholes[:, 0], parts[:, 1], wholes[:, 1]], axis=1).astype(float)


def test_scipys_paired_bootstrap() -> None:
    """Each side with draws of its own; the ends differ by a small part of their distance."""
    for number in range(10):
        counts = drawn(np.random.default_rng(number), 60, (0.5, 0.4))

        def rates(a: Counts, b: Counts, c: Counts, d: Counts, axis: int) -> Counts:
            ratio: Counts = a.sum(axis) / b.sum(axis) - c.sum(axis) / d.sum(axis)
            return ratio

        theirs = scipy.stats.bootstrap(
            tuple(counts.T), rates, paired=True, n_resamples=10_000, method="BCa", axis=0,
            rng=np.random.default_rng(1),
        ).confidence_interval  # fmt: skip
        ours = _interval(counts, 10_000, 0)
        tolerance = 0.06 * (theirs.high - theirs.low)
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs), abs=tolerance)


def test_the_interval_holds_the_true_difference() -> None:
    """Both arms alike: no difference of the pooled rates is true, 95 of 100 intervals hold it."""
    held = 0
    for number in range(300):
        found = _interval(drawn(np.random.default_rng(number), 60, (0.5, 0.5)), 1_000, number)
        held += found.low <= 0.0 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_runs_that_decide_often_weigh_more() -> None:
    """9 of 9 and 0 of 1 are 9 of 10, not the mean of 1 and 0."""
    counts = np.array([[9, 9, 0, 9], [0, 1, 0, 1]], dtype=float)
    assert _interval(counts, 10, 0).estimate == pytest.approx(0.9)


def test_what_cannot_be_resampled_is_said() -> None:
    one = np.array([[1, 2, 0, 2]], dtype=float)
    assert _decide(one, 0).intervals[0].degenerate == "1 clusters: an interval takes at least two"
    rare = np.array([[1, 1, 0, 1], *[[0, 0, 0, 1]] * 5], dtype=float)
    twice = np.array([*[[1, 1, 0, 1]] * 2, *[[0, 0, 0, 1]] * 8], dtype=float)  # .107 of resamples lack both
    assert _decide(twice, 0).intervals[0].degenerate == "too few clusters with such a decision"
    found = _decide(rare, 0)
    assert found.intervals[0].degenerate == "too few clusters with such a decision"
    assert not found.decided
    assert not math.isnan(found.intervals[0].estimate)


def test_close_to_zero_it_is_read_again() -> None:
    assert len(_decide(drawn(np.random.default_rng(3), 200, (0.9, 0.2)), 0).intervals) == 1
    near = np.array([[1, 2, 1, 2]] * 62 + [[1, 2, 0, 2]] * 4, dtype=float)
    again = _decide(near, 0)
    assert len(again.intervals) == 3
    assert again.decided
