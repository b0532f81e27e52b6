"""Plots are PNG files with something on them, from one logged step or many, with gaps and without data."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from eval.plot_style import apart, lines, smooth
from tests.train.scored import WEIGHTS, batch
from train.metrics_log import Record, append
from train.plots import actions, certainty, confusion, draw, rewards, series
from train.readings import confusion as table
from train.readings import read, rows_of

NAMES = {"rewards.png", "actions.png", "certainty.png", "confusion.png"}


def history(steps: int) -> list[Record]:
    """Records as the observer writes them, with a wave on the total reward."""
    rows = rows_of(batch(), 0, WEIGHTS)
    found: list[Record] = [
        {"step": step + 1, **read(rows), "confusion": table(rows)} for step in range(steps)
    ]
    for record in found:
        record["reward/total"] += math.sin(record["step"])
    return found


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def axes_of(figure: Figure | None) -> list[Axes]:
    assert figure is not None
    return figure.axes


@pytest.mark.parametrize("steps", [1, 2, 60])
def test_all_pictures_are_drawn(tmp_path: Path, steps: int) -> None:
    written = draw(history(steps), tmp_path / "plots")
    assert {path.name for path in written} == NAMES
    assert {path.name for path in (tmp_path / "plots").iterdir()} == NAMES
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        pixels = imread(path)[..., :3]
        assert pixels.shape[0] > 400
        assert pixels.shape[1] > 600
        colours = np.unique((pixels.reshape(-1, 3) * 255).astype(int), axis=0)
        assert len(colours) > 50, "text and lines have many shades"
        inked = float((pixels.min(axis=2) < 0.9).mean())
        assert 0.01 < inked < 0.9, path.name


def test_no_data_no_pictures(tmp_path: Path) -> None:
    assert draw([], tmp_path) == []
    assert draw([{"step": 1, "loss": 0.5}], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_gaps_are_left_out_not_drawn_as_zero() -> None:
    gap: list[Record] = [{"step": 1, "a": 1.0}, {"step": 2, "a": None}, {"step": 3}, {"step": 4, "a": 2}]
    assert series(gap, "a") == ([1, 4], [1.0, 2])


def test_titles_axes_and_names() -> None:
    left, right = axes_of(rewards(history(3)))
    assert (left.get_xlabel(), left.get_ylabel()) == ("optimizer step", "mean of the weighted sum")
    assert set(texts(right)) == {"format", "tool match", "certainty", "grounding penalty"}
    assert set(texts(axes_of(actions(history(3)))[1])) == {"call 50%", "ask 50%", "decline 0%", "answer 0%"}
    assert set(texts(axes_of(certainty(history(3)))[0])) == {"call", "ask"}
    heat = axes_of(confusion(history(3)))
    assert [axes.get_title("left") for axes in heat] == ["Logged at step 1", "Logged at step 3"]
    assert texts(heat[0])[:4] == ["50%\n2", "25%\n1", "0%\n0", "25%\n1"]
    assert heat[0].images[0].get_size()[0] == 2, "one row a gold class that occurs"


def test_more_rewards_than_colours_differ_in_their_dashes() -> None:
    from eval.plot_style import canvas

    _, (axes,) = canvas("many", 1)
    lines(axes, [(f"r{i}", ([1, 2, 3], [i, i, i])) for i in range(9)])
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines if line.get_linewidth() > 1}
    assert len(looks) == 9


def test_smoothing_keeps_short_series_and_means() -> None:
    assert list(smooth([1.0, 5.0])) == [1.0, 5.0]
    wave = [float(i % 2) for i in range(400)]
    assert np.allclose(smooth(wave)[20:-20], 0.5, atol=0.05)
    assert np.allclose(smooth([3.0] * 400), 3.0)


def test_labels_are_moved_apart() -> None:
    assert apart([], 0.1) == []
    assert apart([0.5], 0.1) == [0.5]
    assert apart([0.9, 0.1], 0.1) == [0.9, 0.1]
    assert apart([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.5, 0.6, 0.7])
    assert apart([1.0, 1.0, 0.95], 0.1) == pytest.approx([0.9, 1.0, 0.8])


def test_plots_can_be_drawn_again_from_a_run(tmp_path: Path) -> None:
    for record in history(2):
        append(tmp_path / "metrics.jsonl", record)
    done = subprocess.run(
        [sys.executable, "-m", "train.plots", str(tmp_path)],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {Path(line).name for line in done.stdout.split()} == NAMES
