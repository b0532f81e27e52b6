"""What an evaluation found: readings over samples, as JSON, as a table and as a picture."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import calibration, metrics
from eval.heat_map import heat_map
from eval.metrics import show
from tasks.atomic import write_bytes, write_json, write_text
from tasks.completion import ACTIONS, Action

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion against its task.

    exact       whether the call is the gold call; None when there is no readable call
    certainty   of that call; None when there is none
    tools       how many tools the row offers
    tokens      length of the completion
    """

    id: str
    gold: Action
    action: Action
    well_formed: bool
    problem: str
    exact: bool | None
    certainty: float | None
    tools: int
    tokens: int
    stop: str
    text: str


@dataclass(frozen=True)
class Report:
    """Readings over at least one sample; a share over nothing is None."""

    samples: tuple[Sample, ...]

    @cached_property
    def gold(self) -> list[str]:
        """Gold class of each sample."""
        return [sample.gold for sample in self.samples]

    @cached_property
    def predicted(self) -> list[str]:
        """Class of each completion."""
        return [sample.action for sample in self.samples]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes that occur as gold, in canonical order."""
        return tuple(action for action in ACTIONS if action in set(self.gold))

    @property
    def accuracy(self) -> float:
        """Share of right classes."""
        return metrics.accuracy(self.gold, self.predicted)

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the gold classes."""
        return metrics.macro_f1(self.gold, self.predicted, self.classes)

    @property
    def recall(self) -> dict[str, float | None]:
        """Recall of each gold class."""
        return metrics.recall(self.gold, self.predicted, self.classes)

    @property
    def confusion(self) -> list[list[int]]:
        """Gold (rows) by predicted (columns), both in the order of `ACTIONS`."""
        return metrics.confusion(self.gold, self.predicted, ACTIONS)

    @property
    def hallucinated_missing(self) -> float | None:
        """Share of calls on rows where a required argument is missing (gold: ask)."""
        return self._calls(lambda sample: sample.gold == "request_for_info")

    @property
    def hallucinated_unfit(self) -> float | None:
        """Share of calls on rows where no tool fits (gold: decline)."""
        return self._calls(lambda sample: sample.gold == "cannot_answer")

    @property
    def hallucinated_no_tool(self) -> float | None:
        """Share of calls on those that offer no tool at all (tool hallucination in arXiv 2504.18851)."""
        return self._calls(lambda sample: sample.gold == "cannot_answer" and not sample.tools)

    @property
    def exact_calls(self) -> float | None:
        """Share of call rows whose completion makes exactly the gold call."""
        return metrics.rate([bool(sample.exact) for sample in self.samples if sample.gold == "tool_call"])

    @property
    def calibration(self) -> calibration.Calibration:
        """Certainty of each call against whether it is exactly right."""
        calls = [(s.certainty, bool(s.exact)) for s in self.samples if s.certainty is not None]
        return calibration.measure([certainty for certainty, _ in calls], [exact for _, exact in calls])

    def to_dict(self) -> dict[str, Any]:
        """Every reading, as JSON values."""
        samples = self.samples
        return {
            "n": len(samples),
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "macro_f1_classes": list(self.classes),
            "recall": self.recall,
            "hallucinated_call_rate": {
                "missing_argument": self.hallucinated_missing,
                "no_fitting_tool": self.hallucinated_unfit,
                "no_tool": self.hallucinated_no_tool,
            },
            "exact_calls": self.exact_calls,
            "well_formed": metrics.rate([sample.well_formed for sample in samples]),
            "cut_at_budget": metrics.rate([sample.stop == "length" for sample in samples]),
            "mean_tokens": sum(sample.tokens for sample in samples) / len(samples),
            "calibration": dataclasses.asdict(self.calibration),
            "confusion": {"labels": list(ACTIONS), "gold_by_predicted": self.confusion},
        }

    def markdown(self) -> str:
        """The readings as tables for a person."""
        flat = {
            "n": str(len(self.samples)),
            "accuracy": show(self.accuracy),
            f"macro-F1 ({len(self.classes)} gold classes)": show(self.macro_f1),
            "calls on missing-argument rows": show(self.hallucinated_missing),
            "calls where no tool fits": show(self.hallucinated_unfit),
            "calls without any tool": show(self.hallucinated_no_tool),
            "exact calls": show(self.exact_calls),
            "Brier / ECE / AUROC of call certainty": self._calibration_text(),
        }
        readings = "\n".join(f"| {name} | {value} |" for name, value in flat.items())
        rows = "\n".join(
            f"| {label} | {' | '.join(map(str, counts))} | {show(self.recall.get(label))} |"
            for label, counts in zip(ACTIONS, self.confusion, strict=True)
            if label in self.classes
        )
        header = (
            f"| gold \\ predicted | {' | '.join(ACTIONS)} | recall |\n|---|{'---:|' * (len(ACTIONS) + 1)}"
        )
        return f"| reading | value |\n|---|---:|\n{readings}\n\n{header}\n{rows}\n"

    def _calls(self, chosen: Any) -> float | None:
        return metrics.rate([sample.action == "tool_call" for sample in self.samples if chosen(sample)])

    def _calibration_text(self) -> str:
        found = self.calibration
        return f"{show(found.brier)} / {show(found.ece)} / {show(found.auroc)} (n {found.n})"


def write(report: Report, folder: Path, settings: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Write results.json, results.md, samples.jsonl and confusion.png."""
    write_json(folder / "results.json", {"settings": settings, "data": data, "report": report.to_dict()})
    write_text(folder / "results.md", report.markdown())
    lines = (json.dumps(dataclasses.asdict(sample)) for sample in report.samples)
    write_text(folder / "samples.jsonl", "".join(f"{line}\n" for line in lines))
    write_bytes(folder / "confusion.png", png(confusion_figure(report)))


def confusion_figure(report: Report) -> "Figure":
    """Gold class by action, each row as shares, with the counts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    title = f"Accuracy {show(report.accuracy)}, n {len(report.samples)}"
    heat_map(figure.add_subplot(), report.confusion, title)
    return figure


def png(figure: "Figure") -> bytes:
    """The picture as PNG bytes."""
    from io import BytesIO

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
