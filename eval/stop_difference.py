"""Whether two arms stop, and go on asking, at different rates: ratios of counts, resampled by cluster.

P(stop | done) is a ratio of sums over runs, not a mean of ratios: runs with more decisions weigh more, and
runs without one are no problem. Its interval resamples clusters and forms both ratios anew each time.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval import statistics
from eval.need_metrics import StopCounts
from eval.pairing import Pairs
from eval.statistics import Decision, Interval, verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATES = {
    "P(stop given done)": ("done_stop", "done"),
    "P(ask given not done)": ("not_done_ask", "not_done"),
}
MISSING = 0.05
"""Share of resamples that may lack a decision on one side; beyond it there is no interval."""


@dataclass(frozen=True, slots=True)
class StopDifference:
    """One rate of both arms at their own ends; None where an arm never came to decide."""

    name: str
    a: float | None
    b: float | None
    decision: Decision | None
    clusters: int

    @property
    def difference(self) -> float:
        """A minus B."""
        return math.nan if self.a is None or self.b is None else self.a - self.b

    @property
    def verdict(self) -> str:
        """In words."""
        return verdict(self.decision) if self.decision else "an arm never came to such a decision"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        intervals = [[one.low, one.high] for one in self.decision.intervals] if self.decision else []
        difference = None if math.isnan(self.difference) else self.difference
        decided = self.decision is not None and self.decision.decided
        return {
            "name": self.name, "a": self.a, "b": self.b, "difference": difference,
            "intervals": intervals, "decided": decided, "verdict": self.verdict,
            "clusters": self.clusters,
        }  # fmt: skip


def differences(pairs: Pairs, seed: int = 0) -> tuple[StopDifference, ...]:
    """Both rates of both arms, at the runs' own ends."""
    import numpy as np

    a: dict[str, StopCounts] = defaultdict(StopCounts)
    b: dict[str, StopCounts] = defaultdict(StopCounts)
    for one, other in pairs.units:
        a[one.gold.cluster] += one.stops()
        b[one.gold.cluster] += other.stops()
    found = []
    for name, (part, whole) in RATES.items():
        counts = np.array(
            [[getattr(side[key], field) for side in (a, b) for field in (part, whole)] for key in sorted(a)],
            dtype=float,
        )
        left, right = (float(n / total) if total else None for n, total in counts.sum(axis=0).reshape(2, 2))
        decision = None if left is None or right is None else _decide(counts, seed)
        found.append(StopDifference(name, left, right, decision, len(counts)))
    return tuple(found)


def _decide(counts: "NDArray[np.float64]", seed: int) -> Decision:
    """As `statistics.decide`: read again, larger and under several seeds, where an end lies close to zero."""
    first = _interval(counts, statistics.RESAMPLES, seed)
    if first.degenerate or min(abs(first.low), abs(first.high)) > statistics.NEAR_ZERO:
        return Decision((first,))
    return Decision(
        tuple(_interval(counts, statistics.REREAD_RESAMPLES, again) for again in statistics.REREAD_SEEDS)
    )


def _interval(counts: "NDArray[np.float64]", resamples: int, seed: int) -> Interval:
    import numpy as np

    estimate = float(_difference(counts.sum(axis=0)))
    n = len(counts)
    if n < 2:
        return Interval(estimate, estimate, estimate, f"{n} clusters: an interval takes at least two")
    generator = np.random.default_rng(seed)
    found = np.empty(resamples)
    step = max(1, (1 << 18) // n)
    for start in range(0, resamples, step):
        draws = generator.integers(0, n, (min(step, resamples - start), n), dtype=np.int32)
        found[start : start + len(draws)] = _difference(counts[draws].sum(axis=1))
    leaving = _difference(counts.sum(axis=0) - counts)
    known = found[~np.isnan(found)]
    if known.size < (1 - MISSING) * resamples or np.isnan(leaving).any():
        return Interval(estimate, estimate, estimate, "too few clusters with such a decision")
    return statistics.bca_of(estimate, known, leaving)


def _difference(sums: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """The difference of two ratios; NaN where one has nothing below the line."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        found: NDArray[np.float64] = sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3]
    return found
