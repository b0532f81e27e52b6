"""`askrl bench statistics`: three BCa intervals of 50,000 resamples at 200 clusters, against scipy's.

* `scipy_over_ours`: time of scipy, vectorised, over ours on the same data; rounds alternate, the fastest
  counts.
* `peak_rss_mib`: what ours added to the peak of a fresh process that had its imports.
* `equal`: whether both give the same interval on the same resamples (under scipy's rule for ties).
"""

import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eval.peak_memory import high_water
from eval.statistics import REREAD_RESAMPLES, REREAD_SEEDS, bca, interval_of
from tasks.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLUSTERS, ROUNDS = 200, 9


def run(arguments: Sequence[str]) -> int:
    """Print each round and, as the last line, the numbers as JSON."""
    if arguments:
        raise InputError(f"askrl bench statistics takes no arguments, not {' '.join(arguments)}")
    values = _values()
    best = {"ours": float("inf"), "scipy": float("inf")}
    for number in range(ROUNDS):
        for name, side in (("ours", _ours), ("scipy", _scipy)):
            seconds = _timed(side, values)
            best[name] = min(best[name], seconds)
            print(f"round {number + 1}: {name} {seconds:.2f} s", flush=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        peak = pool.apply(_peak)
    found = {
        "scipy_over_ours": round(best["scipy"] / best["ours"], 2),
        "seconds": round(best["ours"], 2),
        "peak_rss_mib": round(peak, 1),
        "equal": _equal(values),
        "resamples": REREAD_RESAMPLES * len(REREAD_SEEDS),
        "clusters": CLUSTERS,
    }
    print(json.dumps(found))
    return 0


def _values() -> "NDArray[np.float64]":
    import numpy as np

    return np.sort(np.random.default_rng(0).normal(0.05, 0.3, CLUSTERS))


def _ours(values: "NDArray[np.float64]") -> None:
    for seed in REREAD_SEEDS:
        bca(values, REREAD_RESAMPLES, seed)


def _scipy(values: "NDArray[np.float64]") -> None:
    for seed in REREAD_SEEDS:
        _bootstrap(values, REREAD_RESAMPLES, seed)


def _bootstrap(values: "NDArray[np.float64]", resamples: int, seed: int) -> Any:
    import numpy as np
    import scipy.stats

    return scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method="BCa", vectorized=True,
        rng=np.random.default_rng(seed),
    )  # fmt: skip


def _timed(side: "Callable[[NDArray[np.float64]], None]", values: "NDArray[np.float64]") -> float:
    began = time.perf_counter()
    side(values)
    return time.perf_counter() - began


def _peak() -> float:
    """MiB that ours adds to a process with its imports: the high-water marks before and after."""
    values = _values()
    bca(values, 10)
    before = high_water()
    _ours(values)
    return high_water() - before


def _equal(values: "NDArray[np.float64]") -> bool:
    theirs = _bootstrap(values, 10_000, 0)
    ours = interval_of(values, theirs.bootstrap_distribution, ties="half")
    low, high = theirs.confidence_interval
    return bool(max(abs(ours.low - low), abs(ours.high - high)) < 1e-9)
