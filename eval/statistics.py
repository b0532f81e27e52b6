"""Intervals and tests for paired differences that come in clusters (arXiv 2609.37236).

The unit is a paired difference per task, clustered where tasks share a template; what is estimated is the
unweighted mean over clusters of the mean within each. Data that allow no answer give one in words.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Ties = Literal["strict", "half"]
"""How resamples that equal the estimate count for the bias: not at all, or by half as scipy counts them."""

RESAMPLES, REREAD_RESAMPLES, REREAD_SEEDS = 10_000, 50_000, (0, 1, 2)
NEAR_ZERO = 0.01
"""An endpoint this close to zero is read again with more resamples and several seeds."""
EQUAL = 1e-12
"""Means of the same values in another order differ by rounding."""
_CHUNK = 1 << 16  # numbers drawn at once: they stay in the cache; a part of what a seed means


@dataclass(frozen=True, slots=True)
class Interval:
    """A BCa interval; `degenerate` says in words why there is none (its ends are then the estimate)."""

    estimate: float
    low: float
    high: float
    degenerate: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether both ends lie on one side of zero."""
        return not self.degenerate and (self.low > 0.0 or self.high < 0.0)


@dataclass(frozen=True, slots=True)
class Decision:
    """The intervals that were read (one, or several where the first lay close to zero)."""

    intervals: tuple[Interval, ...]

    @property
    def decided(self) -> bool:
        """All intervals exclude zero, on the same side."""
        signs = {interval.low > 0.0 for interval in self.intervals}
        return all(interval.excludes_zero for interval in self.intervals) and len(signs) == 1


def verdict(decision: Decision | None) -> str:
    """In words: decided and for whom, undecided, or why nothing can be decided."""
    if decision is None:
        return "no pair is defined on both sides"
    degenerate = decision.intervals[0].degenerate
    if degenerate:
        return degenerate
    if not decision.decided:
        return "undecided"
    return "decided: A is higher" if decision.intervals[0].low > 0 else "decided: B is higher"


def cluster_means(values: Iterable[tuple[Hashable, float]]) -> "Floats":
    """The mean of each cluster, sorted: resampling draws positions, so the order moves the endpoints."""
    import numpy as np

    clusters: dict[Hashable, list[float]] = {}
    for cluster, value in values:
        clusters.setdefault(cluster, []).append(value)
    return np.sort(np.array([math.fsum(found) / len(found) for found in clusters.values()], dtype=float))


def bca(
    means: "Sequence[float] | Floats",
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    ties: Ties = "strict",
) -> Interval:
    """The bias-corrected and accelerated bootstrap interval of the mean of cluster means (Efron 1987)."""
    import numpy as np

    values = np.asarray(means, dtype=float)
    why = _degenerate(values)
    if why:
        estimate = float(values.mean()) if values.size else math.nan
        return Interval(estimate, estimate, estimate, why)
    return interval_of(values, resampled_means(values, resamples, seed), level, ties)


def resampled_means(values: "Floats", resamples: int, seed: int) -> "Floats":
    """Means of `resamples` samples with replacement. The draws come in chunks, so memory stays flat."""
    import numpy as np

    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // values.size)
    places = np.uint16 if values.size <= 1 << 16 else np.int64  # narrow ones are drawn twice as fast
    found = np.empty(resamples)
    for start in range(0, resamples, rows):
        end = min(start + rows, resamples)
        draws = generator.integers(0, values.size, (end - start, values.size), dtype=places)
        found[start:end] = values.take(draws, mode="clip").mean(axis=1)  # clip: no second look for bounds
    return found


def interval_of(
    values: "Floats", resampled: "Floats", level: float = 0.95, ties: Ties = "strict"
) -> Interval:
    """The BCa interval from cluster means and the means of their resamples."""
    leaving = (values.sum() - values) / (values.size - 1)
    return bca_of(float(values.mean()), resampled, leaving, level, ties)


def bca_of(
    estimate: float, resampled: "Floats", leaving: "Floats", level: float = 0.95, ties: Ties = "strict"
) -> Interval:
    """The BCa interval of any statistic: its values on resamples, and without each cluster in turn."""
    import numpy as np

    below = float(np.count_nonzero(resampled < estimate - EQUAL))
    if ties == "half":
        below += 0.5 * float(np.count_nonzero(np.abs(resampled - estimate) <= EQUAL))
    levels = bca_levels(below / resampled.size, _acceleration(leaving), level)
    low, high = (float(end) for end in np.quantile(resampled, levels))
    degenerate = "the interval has no width" if low == high else ""
    return Interval(estimate, low, high, degenerate)


def bca_levels(below: float, acceleration: float, level: float = 0.95) -> tuple[float, float]:
    """Which quantiles of the resamples the interval ends at; `below` is the share under the estimate."""
    bias = _quantile(min(max(below, 1e-9), 1 - 1e-9))
    tail = (1 - level) / 2
    low, high = (
        _normal(bias + (bias + z) / (1 - acceleration * (bias + z)))
        for z in (_quantile(tail), _quantile(1 - tail))
    )
    return low, high


def decide(means: "Sequence[float] | Floats", seed: int = 0) -> Decision:
    """Read the interval; close to zero read it again, larger and under several seeds."""
    first = bca(means, seed=seed)
    if first.degenerate or min(abs(first.low), abs(first.high)) > NEAR_ZERO:
        return Decision((first,))
    return Decision(tuple(bca(means, REREAD_RESAMPLES, again) for again in REREAD_SEEDS))


def sign_flip(means: "Sequence[float] | Floats", resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Two-sided p of the mean under random signs of the clusters: exact up to 16, else sampled.

    Sampled it is (hits + 1) / (resamples + 1), which is never 0.
    """
    import numpy as np

    values = np.asarray(means, dtype=float)
    if not values.size:
        return math.nan
    observed = abs(float(values.mean())) - EQUAL
    if values.size <= 16:
        signs = np.array(list(product((1.0, -1.0), repeat=values.size)))
        return float(np.mean(np.abs(signs @ values / values.size) >= observed))
    generator = np.random.default_rng(seed)
    hits, rows = 0, max(1, _CHUNK // values.size)
    for start in range(0, resamples, rows):
        signs = generator.integers(0, 2, (min(rows, resamples - start), values.size)) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ values / values.size) >= observed))
    return (hits + 1) / (resamples + 1)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of a paired binary outcome, from the pairs in which one side alone succeeds."""
    pairs, fewer = only_first + only_second, min(only_first, only_second)
    return min(1.0, 2.0 * sum(math.comb(pairs, i) for i in range(fewer + 1)) / 2.0**pairs)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in the given order: those at most q are discoveries at a false rate of q."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
    adjusted, least = [1.0] * len(p_values), 1.0
    for place, i in enumerate(order):
        least = min(least, p_values[i] * len(p_values) / (len(p_values) - place))
        adjusted[i] = least
    return adjusted


def kappa(table: Sequence[Sequence[int]]) -> float:
    """Cohen's kappa of a square table of counts, one rater by the other; NaN where chance agrees always."""
    total = sum(map(sum, table))
    agreed = sum(row[i] for i, row in enumerate(table)) / total
    columns = [sum(row[i] for row in table) for i in range(len(table))]
    chance = sum(sum(row) * column for row, column in zip(table, columns, strict=True)) / total**2
    return (agreed - chance) / (1 - chance) if chance < 1 else math.nan


def minimum_detectable(means: "Sequence[float] | Floats", power: float = 0.8, level: float = 0.95) -> float:
    """The least true difference that so many clusters of this spread would show with this power."""
    import numpy as np

    values = np.asarray(means, dtype=float)
    if values.size < 2:
        return math.nan
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return (_quantile(1 - (1 - level) / 2) + _quantile(power)) * error


def _degenerate(values: "Floats") -> str:
    if values.size < 2:
        return f"{values.size} clusters: an interval takes at least two"
    return "all clusters have the same mean" if float(values.max() - values.min()) <= EQUAL else ""


def _acceleration(leaving: "Floats") -> float:
    """From the jackknife over clusters."""
    away = leaving.mean() - leaving
    spread = float((away**2).sum())
    return float((away**3).sum()) / (6.0 * spread**1.5) if spread > 0 else 0.0


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)
