import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from eval import calibration

CERTAINTY, RIGHT = [0.9, 0.9, 0.6, 0.6, 0.1], [True, True, True, False, False]
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def test_worked_example() -> None:
    assert calibration.brier(CERTAINTY, RIGHT) == pytest.approx(0.11)
    assert calibration.ece(CERTAINTY, RIGHT, bins=5) == pytest.approx(0.10)
    assert calibration.auroc(CERTAINTY, RIGHT) == pytest.approx(0.9167, abs=1e-4)
    found = calibration.measure(CERTAINTY, RIGHT, bins=5)
    assert (found.n, found.brier, found.ece, found.auroc) == pytest.approx((5, 0.11, 0.10, 11 / 12))


def test_a_certainty_of_one_falls_in_the_last_bin() -> None:
    assert calibration.ece([1.0, 0.95], [True, True], bins=10) == pytest.approx(0.025)


def test_undefined_readings_are_none() -> None:
    assert calibration.measure([], []) == calibration.Calibration(0, None, None, None)
    assert calibration.auroc([0.2, 0.9], [True, True]) is None


@given(PAIRS)
def test_auroc_is_the_share_of_pairs_in_order(pairs: list[tuple[float, bool]]) -> None:
    certainty, right = [c for c, _ in pairs], [r for _, r in pairs]
    ups = [c for c, r in pairs if r]
    downs = [c for c, r in pairs if not r]
    found = calibration.auroc(certainty, right)
    if not ups or not downs:
        assert found is None
        return
    wins = sum((u > d) + 0.5 * (u == d) for u in ups for d in downs)
    assert found == pytest.approx(wins / (len(ups) * len(downs)))
    assert found == pytest.approx(mannwhitneyu(ups, downs).statistic / (len(ups) * len(downs)))


@given(PAIRS, st.integers(1, 15))
def test_ece_is_the_weighted_gap_of_each_bin(pairs: list[tuple[float, bool]], bins: int) -> None:
    total = 0.0
    for b in range(bins):
        inside = [(c, r) for c, r in pairs if min(math.floor(c * bins), bins - 1) == b]
        if inside:
            gap = float(np.mean([c for c, _ in inside]) - np.mean([r for _, r in inside]))
            total += len(inside) / len(pairs) * abs(gap)
    found = calibration.ece([c for c, _ in pairs], [r for _, r in pairs], bins)
    assert found == pytest.approx(total, abs=1e-12)
    assert 0 <= found <= 1


@given(PAIRS)
def test_brier_is_at_best_zero(pairs: list[tuple[float, bool]]) -> None:
    right = [r for _, r in pairs]
    assert calibration.brier([float(r) for r in right], right) == 0
    assert 0 <= calibration.brier([c for c, _ in pairs], right) <= 1


@pytest.mark.parametrize("certainty", [[1.1, 0.5], [-0.1, 0.5], [math.nan, 0.5]])
def test_certainties_outside_the_range_are_refused(certainty: list[float]) -> None:
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        calibration.brier(certainty, [True, False])


def test_unequal_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="not two equal lists"):
        calibration.auroc([0.5], [True, False])
    with pytest.raises(ValueError, match="bins"):
        calibration.ece([0.5], [True], bins=0)
