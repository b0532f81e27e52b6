"""A study as a Markdown table: every cell beside its twin, with intervals and every seed's accuracy."""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from statistics import fmean, stdev
from typing import Any

from tasks.completion import ACTIONS
from train.study import Config, results

COLUMNS = (
    "cell", "seeds", "accuracy", "difference to {twin}", "macro-F1", "hallucinated",
    "recall call / ask / decline", "exact calls", "Brier / ECE / AUROC", "certainty spread",
    "accuracy by seed",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
Result = Mapping[str, Any]


def table(config: Config) -> str:
    """All finished units: one section a noise level, one line a cell."""
    found = results(config)
    sections = []
    for noise in config.noises:
        twin = found.get((noise, config.twin), {})
        lines = [_line(cell, found[noise, cell], twin) for cell in config.cells if (noise, cell) in found]
        if lines:
            sections.append(f"## {noise}\n\n" + HEAD.format(twin=config.twin) + "\n".join(lines))
    return "\n\n".join(sections) + "\n"


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % t interval of paired differences; the interval of fewer than two is unbounded."""
    mean = fmean(differences)
    if len(differences) < 2:
        return mean, -math.inf, math.inf
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(differences) - 1)) * stdev(differences) / math.sqrt(len(differences))
    return mean, mean - half, mean + half


def _line(cell: str, results: Mapping[int, Result], twin: Mapping[int, Result]) -> str:
    runs = [results[seed] for seed in sorted(results)]
    paired = [results[seed]["accuracy"] - twin[seed]["accuracy"] for seed in sorted(results) if seed in twin]
    difference = "-"
    if paired and results is not twin:
        mean, low, high = interval(paired)
        better = sum(d > 0 for d in paired)
        bounds = f" [{low:+.3f}, {high:+.3f}]" if len(paired) > 1 else ""
        difference = f"{mean:+.3f}{bounds}, better on {better}/{len(paired)}"
    columns = (
        cell,
        str(len(runs)),
        _spread(runs, lambda r: r["accuracy"]),
        difference,
        _mean(runs, lambda r: r["macro_f1"]),
        _spread(runs, lambda r: r["hallucinated_call_rate"]["missing_argument"]),
        " / ".join(_spread([run["recall"] for run in runs], itemgetter(action)) for action in ACTIONS[:3]),
        _mean(runs, lambda r: r["exact_calls"]),
        " / ".join(
            _mean([run["calibration"] for run in runs], itemgetter(key)) for key in ("brier", "ece", "auroc")
        ),
        _mean(runs, lambda r: r["certainty_spread"]),
        " ".join(format(r["accuracy"], ".3f") for r in runs),
    )
    return f"| {' | '.join(columns)} |"


def _values(runs: Sequence[Result], read: Callable[[Result], float | None]) -> list[float]:
    return [value for value in map(read, runs) if value is not None]


def _mean(runs: Sequence[Result], read: Callable[[Result], float | None]) -> str:
    values = _values(runs, read)
    return f"{fmean(values):.3f}" if values else "-"


def _spread(runs: Sequence[Result], read: Callable[[Result], float | None]) -> str:
    values = _values(runs, read)
    if not values:
        return "-"
    return f"{fmean(values):.3f} ({stdev(values):.3f})" if len(values) > 1 else f"{values[0]:.3f}"
