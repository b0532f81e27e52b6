import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference  # type: ignore[import-untyped]

from eval import metrics

LABELS = ("T", "R", "C", "D")
GOLD, PREDICTED = list("TTRRCC"), list("TTTRCD")


def test_worked_example() -> None:
    assert metrics.accuracy(GOLD, PREDICTED) == pytest.approx(0.6667, abs=1e-4)
    assert metrics.f1(GOLD, PREDICTED, LABELS) == pytest.approx(
        {"T": 0.8, "R": 0.6667, "C": 0.6667, "D": 0.0}, abs=1e-4
    )
    assert metrics.macro_f1(GOLD, PREDICTED, LABELS) == pytest.approx(0.5333, abs=1e-4)
    assert metrics.macro_f1(GOLD, PREDICTED, "TRC") == pytest.approx(0.7111, abs=1e-4)
    assert metrics.confusion(GOLD, PREDICTED, LABELS) == [
        [2, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [0, 0, 0, 0],
    ]
    assert metrics.recall(GOLD, PREDICTED, LABELS) == {"T": 1.0, "R": 0.5, "C": 0.5, "D": None}


def test_always_calling_has_the_published_level() -> None:
    """1,295 calls, 1,062 asks and 1,295 refusals, every prediction a call: accuracy .3546, macro-F1 .131."""
    gold = ["T"] * 1295 + ["R"] * 1062 + ["C"] * 1295
    predicted = ["T"] * len(gold)
    assert metrics.accuracy(gold, predicted) == pytest.approx(0.3546, abs=1e-4)
    assert metrics.macro_f1(gold, predicted, LABELS) == pytest.approx(0.131, abs=5e-4)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_agrees_with_an_independent_computation(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [g for g, _ in pairs], [p for _, p in pairs]
    assert metrics.accuracy(gold, predicted) == pytest.approx(reference.accuracy_score(gold, predicted))
    theirs = reference.f1_score(gold, predicted, labels=LABELS, average="macro", zero_division=0)
    assert metrics.macro_f1(gold, predicted, LABELS) == pytest.approx(theirs)
    table = reference.confusion_matrix(gold, predicted, labels=LABELS).tolist()
    assert metrics.confusion(gold, predicted, LABELS) == table


def test_nothing_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="no labels"):
        metrics.accuracy([], [])
    with pytest.raises(ValueError, match="2 gold labels against 1"):
        metrics.macro_f1(["T", "R"], ["T"], LABELS)
    assert metrics.rate([]) is None
    assert metrics.rate([True, False]) == 0.5
