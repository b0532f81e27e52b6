import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.stats

from eval import statistics
from eval.statistics import (
    Decision,
    Interval,
    bca,
    bca_levels,
    cluster_means,
    decide,
    interval_of,
    resampled_means,
)

SCIPY = [
    0.2113, 0.0471, -0.0932, 0.3074, 0.0058, 0.1489, 0.4217, -0.0516, 0.1023, 0.2541, 0.0119, 0.3527, 0.0634,
    -0.1875, 0.1986, 0.0897, 0.0215, 0.5142, 0.1408, -0.1131, 0.2869, 0.0342, 0.1764, 0.0283,
]  # fmt: skip
FIVE = np.array([-0.11, 0.02, 0.07, 0.23, 0.54])


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_exhaustive_without_random_numbers(ties: statistics.Ties) -> None:
    """All 3,125 resamples of five cluster means."""
    every = np.array([np.mean(sample) for sample in itertools.product(FIVE, repeat=5)])
    found = interval_of(FIVE, every, ties=ties)
    assert found.estimate == pytest.approx(0.15)
    assert (found.low, found.high) == pytest.approx((-0.012, 0.384))
    assert np.quantile(every, (0.025, 0.975)).tolist() == pytest.approx([-0.022, 0.354])
    assert np.count_nonzero(every < 0.15 - statistics.EQUAL) == 1558
    assert np.count_nonzero(every <= 0.15 + statistics.EQUAL) == 1688
    assert np.count_nonzero(every <= 0.15) == 1637  # what the tolerance mends


def test_the_levels_of_the_ends() -> None:
    acceleration = statistics._acceleration((FIVE.sum() - FIVE) / 4)
    assert acceleration == pytest.approx(0.052918, abs=1e-6)
    assert statistics._quantile(1558 / 3125) == pytest.approx(-0.003610, abs=1e-6)
    assert statistics._quantile((1558 + 1688) / 6250) == pytest.approx(0.048547, abs=1e-6)
    strict, half = (bca_levels(below / 6250, acceleration) for below in (2 * 1558, 1558 + 1688))
    assert strict == pytest.approx((0.037346, 0.985322), abs=1e-6)
    assert half == pytest.approx((0.045774, 0.989160), abs=1e-6)


def test_on_a_grid_ties_are_common_and_move_an_end_by_about_a_step() -> None:
    generator = np.random.default_rng(0)
    moved = []
    for _ in range(20):
        values = np.sort(np.round(generator.normal(0.1, 0.2, 12) * 20) / 20)
        resampled = resampled_means(values, 4_000, 0)
        strict, half = (interval_of(values, resampled, ties=ties) for ties in ("strict", "half"))
        assert np.mean(np.abs(resampled - values.mean()) <= statistics.EQUAL) > 0.02
        step = 0.05 / values.size
        moved += [(half.low - strict.low) / step, (half.high - strict.high) / step]
    assert all(-1e-9 <= steps <= 2 + 1e-9 for steps in moved)  # half a tie more below: both ends go up
    assert np.median(moved) == pytest.approx(1.0)


@pytest.mark.parametrize("ties", ["strict", "half"])
@pytest.mark.parametrize(
    ("values", "resamples", "seed", "interval"),
    [
        (SCIPY, 10_000, 0, (0.0591, 0.1928)),
        (SCIPY, 50_000, 0, (0.0603, 0.1956)),
        (SCIPY, 50_000, 1, (0.0605, 0.1955)),
        (SCIPY, 50_000, 2, (0.0597, 0.1960)),
        (sorted(SCIPY), 10_000, 0, (0.0607, 0.1954)),
        (sorted(SCIPY), 50_000, 0, (0.0605, 0.1957)),
        (sorted(SCIPY), 50_000, 1, (0.0602, 0.1948)),
        (sorted(SCIPY), 50_000, 2, (0.0603, 0.1954)),
    ],
)
def test_scipy_with_its_own_draws(
    values: list[float], resamples: int, seed: int, interval: tuple[float, float], ties: statistics.Ties
) -> None:
    """The guide's scipy figures, and ours from the same resamples under either rule for ties."""
    theirs = by_scipy(np.array(values), resamples, seed)
    assert tuple(theirs.confidence_interval) == pytest.approx(interval, abs=6e-5)
    ours = interval_of(np.array(values), theirs.bootstrap_distribution, ties=ties)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=1e-5)


def test_the_bias_of_the_checked_values() -> None:
    for values, strict, half in ((SCIPY, -0.0060, -0.0059), (sorted(SCIPY), 0.0148, 0.0148)):
        away = by_scipy(np.array(values), 10_000, 0).bootstrap_distribution - 0.123825
        below = np.mean(away < -statistics.EQUAL)
        tied = np.mean(np.abs(away) <= statistics.EQUAL)
        assert statistics._quantile(below) == pytest.approx(strict, abs=6e-5)
        assert statistics._quantile(below + tied / 2) == pytest.approx(half, abs=6e-5)
    leaving = (np.sum(SCIPY) - np.array(SCIPY)) / 23
    assert statistics._acceleration(leaving) == pytest.approx(0.013666, abs=1e-6)


def test_close_to_zero_the_order_of_the_units_decides_whether_to_read_again() -> None:
    """Minus .05: the end lies at .0091 as given and at .0107 sorted; 50,000 resamples decide either way."""
    near = np.array(SCIPY) - 0.05
    lows = [by_scipy(x, 10_000, 0).confidence_interval.low for x in (near, np.sort(near))]
    assert lows == pytest.approx([0.0091, 0.0107], abs=6e-5)
    assert lows[0] < statistics.NEAR_ZERO < lows[1]
    for seed in statistics.REREAD_SEEDS:
        again = by_scipy(near, 50_000, seed).confidence_interval
        assert 0.00975 < again.low < 0.01055
    assert all(decide(np.sort(near), seed).decided for seed in range(8))


def by_scipy(values: "np.ndarray[Any, Any]", resamples: int, seed: int) -> Any:
    return scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method="BCa", rng=np.random.default_rng(seed)
    )


@pytest.mark.parametrize("resamples", [10_000, 50_000])
def test_a_fresh_generator(resamples: int) -> None:
    found = bca(np.sort(SCIPY), resamples, 12345)
    error = 0.003 if resamples == 50_000 else 0.005
    assert (found.low, found.high) == pytest.approx((0.0601, 0.1956), abs=error)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_checked_values(seed: int) -> None:
    found = bca(cluster_means((i, value) for i, value in enumerate(SCIPY)), 50_000, seed)
    assert found.estimate == pytest.approx(0.123825)
    assert (found.low, found.high) == pytest.approx((0.0601, 0.1956), abs=0.003)


def test_scipy_on_many_data_sets() -> None:
    """200 data sets, each side with draws of its own: within their error.

    An endpoint of 4,000 resamples has an error of about .06 standard errors, the bias's share included; the
    difference of two .09, and the largest of 400 differences is seldom above .36.
    """
    generator = np.random.default_rng(5)
    for number in range(200):
        values = np.sort(generator.normal(0.1, 1.0, 40) if number % 2 else generator.exponential(1.0, 40))
        ours = bca(values, 4_000, number)
        theirs = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=4_000, method="BCa", rng=np.random.default_rng(10_000 + number)
        ).confidence_interval
        error = 0.4 * values.std() / math.sqrt(values.size)
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs), abs=error)


@pytest.mark.parametrize("law", ["normal", "exponential"])
@pytest.mark.parametrize(
    ("simulations", "least"), [(200, 0.90), pytest.param(2_000, 0.93, marks=pytest.mark.soak)]
)
def test_coverage_of_the_interval(simulations: int, least: float, law: str) -> None:
    generator = np.random.default_rng(0)
    held = 0
    for number in range(simulations):
        values = generator.normal(1.0, 1.0, 200) if law == "normal" else generator.exponential(1.0, 200)
        found = bca(np.sort(values), 2_000, number)
        held += found.low <= 1.0 <= found.high
    print(f"{law}: {held / simulations:.4f} of {simulations}")
    assert least <= held / simulations <= 1.90 - least


def test_clusters_count_once() -> None:
    rows = [("a", 0.2), ("a", 0.4), ("b", -0.1), ("c", 0.0), ("c", 0.3), ("c", 0.3)]
    assert cluster_means(rows).tolist() == pytest.approx([-0.1, 0.2, 0.3])
    assert bca(cluster_means(rows)).estimate == pytest.approx(0.1333, abs=1e-4)


def test_memory_is_flat() -> None:
    """Drawn at once, these resamples would take 80 MB."""
    values = np.arange(200, dtype=np.float64)
    tracemalloc.start()
    resampled_means(values, 50_000, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_every_cluster_is_drawn_alike() -> None:
    """The mean of a resample has the mean and the spread that theory gives it."""
    found = resampled_means(np.arange(10, dtype=np.float64), 40_000, 0)
    assert found.mean() == pytest.approx(4.5, abs=4 * 2.8723 / math.sqrt(10 * 40_000))
    assert found.std() == pytest.approx(2.8723 / math.sqrt(10), rel=0.02)
    assert resampled_means(np.arange(70_000, dtype=np.float64), 2, 0).mean() == pytest.approx(
        35_000, rel=0.01
    )


def test_the_reread_rule() -> None:
    values = np.array(SCIPY)
    assert len(decide(values).intervals) == 1
    assert decide(values).decided
    near = decide(values - 0.05)
    assert near.decided
    assert len(decide(values - 0.0515).intervals) == 3
    undecided = decide(values - 0.066)
    assert not undecided.decided
    assert (undecided.intervals[0].low, undecided.intervals[0].high) == pytest.approx(
        (-0.006, 0.130), abs=0.003
    )


def test_intervals_on_both_sides_of_zero_decide_nothing() -> None:
    above, below = Interval(0.1, 0.05, 0.15), Interval(0.1, -0.15, -0.05)
    assert Decision((above, above)).decided
    assert Decision((below, below)).decided
    assert not Decision((above, below)).decided
    assert not Decision((above, Interval(0.1, -0.05, 0.15))).decided


@pytest.mark.parametrize(
    ("means", "said"),
    [([], "0 clusters"), ([0.3], "1 clusters"), ([0.3, 0.3, 0.3], "the same mean")],
)
def test_degenerate_data_answer_in_words(means: list[float], said: str) -> None:
    found = decide(means)
    assert said in found.intervals[0].degenerate
    assert not found.decided


def test_sign_flips() -> None:
    eight = [0.20, 0.05, -0.10, 0.30, 0.15, 0.40, -0.05, 0.10]
    assert statistics.sign_flip(eight) == 22 / 256 == pytest.approx(0.0859, abs=5e-5)
    scipys = scipy.stats.permutation_test((eight,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert statistics.sign_flip(eight) == pytest.approx(scipys.pvalue)
    signs = itertools.product((1, -1), repeat=8)
    naive = sum(abs(sum(s * x for s, x in zip(one, eight, strict=True))) >= abs(sum(eight)) for one in signs)
    assert naive == 20  # what the tolerance mends
    long = statistics.sign_flip(SCIPY)
    assert long == statistics.sign_flip(SCIPY)
    assert long < 0.01
    assert math.isnan(statistics.sign_flip([]))


def test_sampled_sign_flips_count_the_observed_one() -> None:
    """No flip of 40 equal signs is likely to be met: p is one of so many, never 0."""
    assert statistics.sign_flip([1.0 + i / 100 for i in range(40)], resamples=999) == 1 / 1000
    half = [1.0, -1.0] * 10
    assert statistics.sign_flip(half) == 1.0


def test_other_worked_numbers() -> None:
    assert statistics.mcnemar(9, 2) == pytest.approx(0.0654, abs=1e-4)
    assert statistics.mcnemar(9, 2) == scipy.stats.binomtest(2, 11).pvalue
    assert statistics.benjamini_hochberg([0.001, 0.012, 0.03, 0.2]) == pytest.approx(
        [0.004, 0.024, 0.04, 0.2]
    )
    assert sum(p <= 0.05 for p in statistics.benjamini_hochberg([0.001, 0.012, 0.03, 0.2])) == 3
    assert statistics.benjamini_hochberg([0.2, 0.001, 0.03, 0.012]) == pytest.approx(
        [0.2, 0.004, 0.04, 0.024]
    )
    assert statistics.kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert math.isnan(statistics.kappa([[5, 0], [0, 0]]))


def test_the_least_difference_that_would_show() -> None:
    """(1.96 + 0.84) standard errors; a simulation at that difference finds it about four times of five."""
    values = np.random.default_rng(0).normal(0.0, 1.0, 100)
    least = statistics.minimum_detectable(values)
    error = values.std(ddof=1) / 10
    assert least == pytest.approx(2.8016 * error, rel=1e-4)
    assert math.isnan(statistics.minimum_detectable([1.0]))
