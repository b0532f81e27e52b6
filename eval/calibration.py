"""Whether a certainty in [0, 1] means what it says: Brier score, expected calibration error, AUROC.

The weight of arXiv 2511.08798 is not a proper scoring rule, so its calibration has to be measured (§3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Calibration:
    """Readings over `n` pairs; None where undefined (no pairs; AUROC with one kind of outcome only)."""

    n: int
    brier: float | None
    ece: float | None
    auroc: float | None


def measure(certainty: Sequence[float], right: Sequence[bool], bins: int = 10) -> Calibration:
    """All three readings of `certainty` against whether each thing was `right`."""
    if not certainty:
        return Calibration(0, None, None, None)
    readings = brier(certainty, right), ece(certainty, right, bins), auroc(certainty, right)
    return Calibration(len(certainty), *readings)


def brier(certainty: Sequence[float], right: Sequence[bool]) -> float:
    """Mean squared error between certainty and outcome; 0 is perfect."""
    values, outcomes = _arrays(certainty, right)
    return float(np.mean((values - outcomes) ** 2))


def ece(certainty: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error over `bins` bins of equal width.

    Bins are closed on the left; the last one holds 1 as well. The gap between mean outcome and mean certainty
    of each bin is weighted by the bin's share of all pairs.
    """
    values, outcomes = _arrays(certainty, right)
    if bins < 1:
        raise ValueError(f"{bins} bins; use at least 1")
    place = np.minimum((values * bins).astype(int), bins - 1)
    gaps = np.bincount(place, weights=outcomes - values, minlength=bins)
    return float(np.abs(gaps).sum() / len(values))


def auroc(certainty: Sequence[float], right: Sequence[bool]) -> float | None:
    """Chance that a right thing is more certain than a wrong one, ties half; None without both kinds."""
    values, outcomes = _arrays(certainty, right)
    positives = int(outcomes.sum())
    negatives = len(outcomes) - positives
    if not positives or not negatives:
        return None
    # Mann-Whitney from mid-ranks: n log n, whatever the ties.
    _, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[inverse]
    wins = ranks[outcomes == 1].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def _arrays(certainty: Sequence[float], right: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    values, outcomes = np.asarray(certainty, dtype=float), np.asarray(right, dtype=float)
    if values.shape != outcomes.shape or values.ndim != 1 or not len(values):
        raise ValueError(f"{values.shape} certainties against {outcomes.shape} outcomes: not two equal lists")
    if not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError("a certainty outside [0, 1] (or NaN)")
    return values, outcomes
