"""How our plots look: canvas, lines with labels at their ends, a palette for any common colour vision."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

# Okabe and Ito's palette without its yellow, which is too faint for lines on white.
BLACK, BLUE, ORANGE, GREEN, PURPLE = "#000000", "#0072B2", "#E69F00", "#009E73", "#CC79A7"
RED, SKY, GREY = "#D55E00", "#56B4E9", "#5A5A5A"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
DASHES = ("-", "--", ":")

Points = tuple[Sequence[float], Sequence[float]]


def canvas(
    title: str, columns: int, width: float = 5.2, height: float = 3.6, ratios: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure with a title and one row of axes; width and height of one of them in inches."""
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08, wspace=0.04)
    figure = Figure(figsize=(width * columns, height), dpi=150, layout=layout)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
    axes = figure.subplots(1, columns, squeeze=False, width_ratios=ratios)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(GREY)
        one.tick_params(colors=GREY, labelsize=9, labelcolor="black")
    return figure, list(axes)


def over_steps(axes: Axes, title: str, unit: str) -> None:
    """Title the axes of something over optimizer steps."""
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("optimizer step")
    axes.set_ylabel(unit)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
    axes.set_axisbelow(True)


def lines(axes: Axes, named: Sequence[tuple[str, Points]], colours: Sequence[str] = PALETTE) -> None:
    """Draw series, smoothed over their raw points, several with names at the right; leave out empty ones."""
    look = [(colour, dash) for dash in DASHES for colour in colours]
    ends: list[tuple[float, str, str, str]] = []
    for (name, (steps, values)), (colour, dash) in zip(named, cycle(look), strict=False):
        if not len(steps):
            continue
        smoothed = smooth(values)
        if len(steps) > 2:
            axes.plot(steps, values, color=colour, linewidth=0.8, alpha=0.3)
        marker = "o" if len(steps) <= 2 else None
        axes.plot(steps, smoothed, color=colour, linewidth=1.8, linestyle=dash, marker=marker, markersize=4)
        ends.append((float(smoothed[-1]), name, colour, dash))
        if len(steps) == 1:
            axes.set_xlim(steps[0] - 1, steps[0] + 1)
    if len(named) == 1:
        return
    low, high = axes.get_ylim()
    places = apart([(end - low) / (high - low) for end, *_ in ends], 0.075)
    for place, (_, name, colour, dash) in zip(places, ends, strict=True):
        inside = axes.transAxes
        key, at = [1.02, 1.06], [place, place]
        axes.plot(key, at, color=colour, linewidth=1.8, linestyle=dash, transform=inside, clip_on=False)
        axes.text(1.075, place, name, va="center", fontsize=9, transform=inside)
    axes.set_ylim(low, high)


def smooth(values: Sequence[float]) -> np.ndarray:
    """A centred running mean over a twentieth of the series; short series stay as they are."""
    array = np.asarray(values, dtype=float)
    half = len(array) // 40
    if not half:
        return array
    sums = np.concatenate([[0.0], np.cumsum(array)])
    place = np.arange(len(array))
    low, high = np.maximum(place - half, 0), np.minimum(place + half + 1, len(array))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def apart(places: Sequence[float], gap: float) -> list[float]:
    """The places moved as little as need be to lie `gap` apart and, while there is room, inside [0, 1]."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    if moved and moved[-1] > 1.0:
        moved[-1] = 1.0
        for i in range(len(moved) - 2, -1, -1):
            moved[i] = min(moved[i], moved[i + 1] - gap)
    found = [0.0] * len(places)
    for place, i in zip(moved, order, strict=True):
        found[i] = place
    return found
