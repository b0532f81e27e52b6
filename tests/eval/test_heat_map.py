"""The one picture of gold class by action."""

from matplotlib.figure import Figure

from eval.heat_map import heat_map
from tests.eval.test_report import REPORT


def test_rows_are_gold_classes_that_occur_with_shares_and_counts() -> None:
    axes = Figure().add_subplot()
    counts = [[0, 0, 0, 0], [3, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    heat_map(axes, counts, "now")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["ask"]
    assert [text.get_text() for text in axes.texts] == ["75%\n3", "25%\n1", "0%\n0", "0%\n0"]
    assert [text.get_fontweight() for text in axes.texts] == ["normal", "bold", "normal", "normal"]
    assert axes.get_title("left") == "now"


def test_a_report_is_drawn_by_it() -> None:
    from eval.report import confusion_figure

    (axes,) = confusion_figure(REPORT).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["call", "ask", "decline"]
    assert axes.texts[0].get_text() == "100%\n2"
    assert axes.get_title("left") == "Accuracy 0.571, n 7"
