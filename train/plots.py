"""Pictures of a training, from its metrics: rewards, action mix, certainty, gold class by action.

`python -m train.plots RUN_DIR` draws them again.
"""

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from eval.heat_map import heat_map
from eval.plot_style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    apart,
    canvas,
    lines,
    over_steps,
    smooth,
)
from tasks.action_text import SHORT
from tasks.atomic import write_bytes
from tasks.completion import ACTIONS
from train.metrics_log import METRICS, PLOTS, Record, records

COLOURS = dict(zip(ACTIONS, (BLUE, ORANGE, GREEN, PURPLE), strict=True))


def draw(history: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the pictures for which `history`, the records of a metrics file, has data; the files written."""
    pictures: dict[str, Callable[[Sequence[Record]], Figure | None]] = {
        "rewards.png": rewards,
        "actions.png": actions,
        "certainty.png": certainty,
        "confusion.png": confusion,
    }
    written = []
    for name, picture in pictures.items():
        figure = picture(history)
        if figure is not None:
            buffer = io.BytesIO()
            FigureCanvasAgg(figure).print_png(buffer)
            write_bytes(folder / name, buffer.getvalue())
            written.append(folder / name)
    return written


def rewards(history: Sequence[Record]) -> Figure | None:
    """The total reward over steps, and beside it its parts before weighting."""
    total = series(history, "reward/total")
    if not total[0]:
        return None
    keys = dict.fromkeys(key for record in history for key in record)
    names = [key[8:-5] for key in keys if key.startswith("rewards/") and key.endswith("/mean")]
    figure, (left, right) = canvas("Reward", 2)
    over_steps(left, "Total", "mean of the weighted sum")
    lines(left, [("total", total)], [BLACK])
    over_steps(right, "Parts, before weighting", "mean where the reward applies")
    parts = [(name.replace("_", " "), series(history, f"rewards/{name}/mean")) for name in names]
    lines(right, parts)
    return figure


def actions(history: Sequence[Record]) -> Figure | None:
    """Shares of the four actions over steps as a stack, with the mix of the labels beside it."""
    steps, _ = series(history, f"action/{ACTIONS[0]}")
    if not steps:
        return None
    figure, (left, right) = canvas("Action mix", 2, width=4.2, ratios=(8, 1))
    shares = [list(smooth(series(history, f"action/{name}")[1])) for name in ACTIONS]
    if len(steps) == 1:  # one log is a bar one step wide
        steps, shares = [steps[0] - 0.5, steps[0] + 0.5], [share * 2 for share in shares]
    over_steps(left, "What the policy does", "share of completions")
    left.stackplot(steps, *shares, colors=list(COLOURS.values()), edgecolor="white", linewidth=0.6)
    left.set_xlim(steps[0], steps[-1])
    right.set_title("Labels", loc="left", fontsize=11)
    gold = [fmean(series(history, f"gold/{name}")[1]) for name in ACTIONS]
    bottoms = [sum(gold[:i]) for i in range(len(gold))]
    colours = list(COLOURS.values())
    right.bar([0] * len(gold), gold, 0.8, bottoms, color=colours, edgecolor="white", linewidth=0.6)
    middles = apart([bottom + share / 2 for bottom, share in zip(bottoms, gold, strict=True)], 0.075)
    for name, share, middle in zip(ACTIONS, gold, middles, strict=True):
        right.text(0.5, middle, f"{SHORT[name]} {share:.0%}", va="center", fontsize=9)
    right.set_xlim(-0.4, 0.4)
    right.set_xticks([])
    right.spines[["left", "bottom"]].set_visible(False)
    for axes in (left, right):
        axes.set_ylim(0, 1)
        axes.grid(visible=False)
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    right.set_yticks([])
    return figure


def certainty(history: Sequence[Record]) -> Figure | None:
    """Certainty by gold class over steps, and what it is worth: calibration, and spread inside groups."""
    by_class = [(SHORT[name], series(history, f"certainty/{name}")) for name in ACTIONS]
    if not any(steps for _, (steps, _) in by_class):
        return None
    figure, (left, right) = canvas("Certainty", 2)
    readings = (
        ("AUROC (high is good)", "calibration/auroc"),
        ("Brier (low is good)", "calibration/brier"),
        ("ECE (low is good)", "calibration/ece"),
        ("spread in groups", "groups/certainty_spread"),
    )
    over_steps(left, "By gold class", "mean certainty")
    over_steps(right, "Of calls, against being right", "calibration and spread")
    for axes in (left, right):
        axes.set_ylim(-0.02, 1.02)
    lines(left, by_class, list(COLOURS.values()))
    lines(right, [(name, series(history, key)) for name, key in readings], [BLACK, RED, SKY, GREY])
    return figure


def confusion(history: Sequence[Record]) -> Figure | None:
    """Gold class by action, at the start of the run and at its end, as shares of each gold class."""
    tables = [(record["step"], record["confusion"]) for record in history if record.get("confusion")]
    if not tables:
        return None
    span = max(1, len(tables) // 10)
    shown = [tables[:span], tables[-span:]] if len(tables) > 1 else [tables]
    figure, all_axes = canvas("Gold class by action", len(shown), width=4.4, height=3.9)
    for axes, part in zip(all_axes, shown, strict=True):
        first, last = part[0][0], part[-1][0]
        title = f"Logged at step {first}" if first == last else f"Logged at steps {first} to {last}"
        counts = [
            [sum(table.get(gold, {}).get(action, 0) for _, table in part) for action in ACTIONS]
            for gold in ACTIONS
        ]
        heat_map(axes, counts, title)
    return figure


def series(history: Sequence[Record], key: str) -> tuple[list[float], list[float]]:
    """Steps and values of a metric where it is a number."""
    points = [(record["step"], record[key]) for record in history if isinstance(record.get(key), int | float)]
    return [step for step, _ in points], [value for _, value in points]


if __name__ == "__main__":
    for path in draw(records(Path(sys.argv[1]) / METRICS), Path(sys.argv[1]) / PLOTS):
        print(path)
