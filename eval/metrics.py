"""Classification metrics over action classes: pure functions of two label sequences."""

from collections.abc import Sequence


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """Share of equal labels. Raises ValueError on sequences that are empty or of different lengths."""
    _check(gold, predicted)
    return sum(g == p for g, p in zip(gold, predicted, strict=True)) / len(gold)


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> list[list[int]]:
    """Counts, gold (rows) by predicted (columns), in the order of `labels`; any other label is a KeyError."""
    _check(gold, predicted)
    place = {label: i for i, label in enumerate(labels)}
    table = [[0] * len(labels) for _ in labels]
    for g, p in zip(gold, predicted, strict=True):
        table[place[g]][place[p]] += 1
    return table


def f1(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """F1 of each label; 0 for one that is neither gold nor predicted anywhere (as scikit-learn has it)."""
    _check(gold, predicted)
    scores = {}
    for label in labels:
        hits = sum(g == p == label for g, p in zip(gold, predicted, strict=True))
        mentions = sum(g == label for g in gold) + sum(p == label for p in predicted)
        scores[label] = 2 * hits / mentions if mentions else 0.0
    return scores


def macro_f1(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> float:
    """Unweighted mean of `f1` over `labels`, whether or not each of them occurs."""
    scores = f1(gold, predicted, labels)
    return sum(scores.values()) / len(scores)


def recall(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> dict[str, float | None]:
    """Share of each label's gold rows that were predicted as it; None for a label without gold rows."""
    _check(gold, predicted)
    shares: dict[str, float | None] = {}
    for label in labels:
        outcomes = [p == label for g, p in zip(gold, predicted, strict=True) if g == label]
        shares[label] = sum(outcomes) / len(outcomes) if outcomes else None
    return shares


def rate(outcomes: Sequence[bool]) -> float | None:
    """Share of true outcomes; None over nothing."""
    return sum(outcomes) / len(outcomes) if outcomes else None


def show(value: float | None) -> str:
    """Three decimals, or a dash for a reading over nothing."""
    return "–" if value is None else f"{value:.3f}"


def _check(gold: Sequence[str], predicted: Sequence[str]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold labels against {len(predicted)} predictions")
    if not gold:
        raise ValueError("no labels: a metric over nothing is not 0")
