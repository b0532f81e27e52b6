"""A picture of gold class by action, of an evaluation or of a window of training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasks.action_text import ACTIONS, SHORT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def heat_map(axes: "Axes", counts: Sequence[Sequence[int]], title: str) -> None:
    """Draw `counts` by gold class and by action, both in the order of `ACTIONS`.

    One row a gold class that occurs: colour and text are shares of it, with counts; the right action is bold.
    """
    golds = [gold for gold, row in zip(ACTIONS, counts, strict=True) if any(row)]
    table = [row for row in counts if any(row)]
    shares = [[count / sum(row) for count in row] for row in table]
    axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(table):
        for x, count in enumerate(row):
            colour = "white" if shares[y][x] < 0.55 else "black"
            text = f"{shares[y][x]:.0%}\n{count:,}"
            weight = "bold" if ACTIONS[x] == golds[y] else "normal"
            axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9, fontweight=weight)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xticks(range(len(ACTIONS)), [SHORT[name] for name in ACTIONS])
    axes.set_yticks(range(len(golds)), [SHORT[name] for name in golds])
    axes.set_xlabel("action")
    axes.set_ylabel("gold class")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
