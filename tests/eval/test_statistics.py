import itertools
import math

import numpy as np
import pytest
import scipy.stats

from eval import statistics
from eval.statistics import bca, cluster_means, decide, interval_of, resampled_means

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
    assert statistics._acceleration(FIVE) == pytest.approx(0.052918, abs=1e-6)
    assert np.count_nonzero(every < 0.15 - statistics.EQUAL) == 1558
    assert np.count_nonzero(every <= 0.15 + statistics.EQUAL) == 1688


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_checked_values(seed: int) -> None:
    found = bca(cluster_means((i, value) for i, value in enumerate(SCIPY)), 50_000, seed)
    assert found.estimate == pytest.approx(0.123825)
    assert (found.low, found.high) == pytest.approx((0.0601, 0.1956), abs=0.003)


@pytest.mark.parametrize("ties", ["strict", "half"])
def test_scipy_on_the_same_resamples(ties: statistics.Ties) -> None:
    values = np.array(SCIPY)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="BCa", rng=np.random.default_rng(0)
    )
    ours = interval_of(values, theirs.bootstrap_distribution, ties=ties)
    assert (ours.low, ours.high) == pytest.approx(
        tuple(theirs.confidence_interval), abs=1e-5 if ties == "half" else 1e-3
    )


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


@pytest.mark.soak
@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_coverage_of_the_interval(law: str) -> None:
    generator = np.random.default_rng(0)
    held = 0
    for number in range(2_000):
        values = generator.normal(1.0, 1.0, 200) if law == "normal" else generator.exponential(1.0, 200)
        found = bca(np.sort(values), 2_000, number)
        held += found.low <= 1.0 <= found.high
    assert 0.93 <= held / 2_000 <= 0.97


def test_clusters_count_once() -> None:
    rows = [("a", 0.2), ("a", 0.4), ("b", -0.1), ("c", 0.0), ("c", 0.3), ("c", 0.3)]
    assert cluster_means(rows).tolist() == pytest.approx([-0.1, 0.2, 0.3])
    assert bca(cluster_means(rows)).estimate == pytest.approx(0.1333, abs=1e-4)


def test_memory_is_flat_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = resampled_means(FIVE, 1_000, 3)
    monkeypatch.setattr(statistics, "_CHUNK", 500)
    assert resampled_means(FIVE, 1_000, 3).tolist() == found.tolist()


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


@pytest.mark.parametrize(
    ("means", "said"),
    [([], "0 clusters"), ([0.3], "1 clusters"), ([0.3, 0.3, 0.3], "the same mean")],
)
def test_degenerate_data_answer_in_words(means: list[float], said: str) -> None:
    found = decide(means)
    assert said in found.intervals[0].degenerate
    assert not found.decided


def test_sign_flips() -> None:
    assert statistics.sign_flip([0.20, 0.05, -0.10, 0.30, 0.15, 0.40, -0.05, 0.10]) == 22 / 256
    long = statistics.sign_flip(SCIPY)
    assert long == statistics.sign_flip(SCIPY)
    assert long < 0.01
    assert math.isnan(statistics.sign_flip([]))


def test_other_worked_numbers() -> None:
    assert statistics.mcnemar(9, 2) == pytest.approx(0.0654, abs=1e-4)
    assert statistics.mcnemar(9, 2) == scipy.stats.binomtest(2, 11).pvalue
    assert statistics.benjamini_hochberg([0.001, 0.012, 0.03, 0.2]) == pytest.approx(
        [0.004, 0.024, 0.04, 0.2]
    )
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
