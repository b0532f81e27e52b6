"""The readings of an arm: sums over its episodes, which are read one at a time."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.metrics import show
from eval.need_metrics import StopCounts
from eval.readings import METRICS, Read
from eval.report import png
from rollout.graphs import Golds
from rollout.shards import placed
from tasks.atomic import write_bytes
from tasks.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(slots=True)
class ArmReadings:
    """Sums over the episodes of one suite and policy."""

    suite: str
    policy: str
    runs: int = 0
    tasks: set[str] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(METRICS, 0.0))
    defined: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METRICS, 0))
    depths: dict[int, tuple[int, int]] = field(default_factory=dict)
    """(resolved, all) needs of each depth, at the runs' own ends."""
    curve: list[float] = field(default_factory=list)
    """Sums of coverage after 0, 1, … questions; a run that has ended stays where it was."""
    covered: int = 0
    """Runs whose coverage is defined."""
    stops: StopCounts = field(default_factory=StopCounts)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """For titles and keys."""
        return f"{self.suite} · {self.policy}"

    def add(self, one: Read) -> None:
        """Count an episode in."""
        episode, course = one.episode, one.course
        self.runs += 1
        self.tasks.add(episode.task)
        self.clusters.add(one.gold.cluster)
        for name, value in one.at().items():
            if value is not None:
                self.sums[name] += value
                self.defined[name] += 1
        for depth, (resolved, total) in course.by_depth(course.asks).items():
            before = self.depths.get(depth, (0, 0))
            self.depths[depth] = before[0] + resolved, before[1] + total
        self._extend(one)
        self.stops += one.stops()
        self.reasons[episode.stop] += 1

    def _extend(self, one: Read) -> None:
        course = one.course
        here = [covered for asks in range(course.asks + 1) if (covered := course.coverage(asks)) is not None]
        if not here:
            return
        self.covered += 1
        length = max(len(here), len(self.curve), one.episode.limits.cap + 1)
        self.curve += [self.curve[-1] if self.curve else 0.0] * (length - len(self.curve))
        for asks in range(length):
            self.curve[asks] += here[min(asks, len(here) - 1)]

    def mean(self, metric: str) -> float | None:
        """Over the runs in which it is defined."""
        return self.sums[metric] / self.defined[metric] if self.defined[metric] else None

    def to_dict(self) -> dict[str, Any]:
        """Every reading, as JSON values."""
        stops = self.stops
        return {
            "suite": self.suite,
            "policy": self.policy,
            "runs": self.runs,
            "tasks": len(self.tasks),
            "clusters": len(self.clusters),
            "mean": {name: self.mean(name) for name in METRICS},
            "defined": dict(self.defined),
            "by_depth": {
                str(depth): {"resolved": found, "needs": total, "share": found / total}
                for depth, (found, total) in sorted(self.depths.items())
            },
            "coverage_after": [total / self.covered for total in self.curve],
            "stop_given_done": stops.stop_given_done,
            "ask_given_not_done": stops.ask_given_not_done,
            "decisions": {name: getattr(stops, name) for name in StopCounts.__dataclass_fields__},
            "stop_reasons": dict(sorted(self.reasons.items())),
        }

    def lines(self) -> Iterator[str]:
        """The readings for a person; `n` is the number of runs that a mean is over."""
        yield f"{self.name}: {self.runs} runs, {len(self.tasks)} tasks, {len(self.clusters)} clusters"
        yield "| reading | mean | n |"
        yield "|---|---:|---:|"
        for name in METRICS:
            yield f"| {name} | {show(self.mean(name))} | {self.defined[name]} |"
        for depth, (found, total) in sorted(self.depths.items()):
            yield f"| needs of depth {depth} resolved | {show(found / total)} | {total} |"
        stops = self.stops
        yield f"| P(stop given done) | {show(stops.stop_given_done)} | {stops.done} |"
        yield f"| P(ask given not done) | {show(stops.ask_given_not_done)} | {stops.not_done} |"
        ends = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        yield f"ended by: {ends}; {stops.asks_after_done} questions when all was in hand"


def run(records: Sequence[Path], graphs: Path | None, as_json: bool, plot: Path | None) -> None:
    """Print the readings of each arm in these folders; `as_json` gives one object a line.

    Raises InputError for records that are none, a task without a graph, and for no records.
    """
    arms = [arm for folder in records for arm in arm_readings(folder, graphs)]
    if len({arm.name for arm in arms}) < len(arms):
        raise InputError("two arms of one suite and policy; give one of the recordings a name: name=...")
    for arm in arms:
        print(json.dumps(arm.to_dict()) if as_json else "\n".join([*arm.lines(), ""]))
    if plot is not None:
        write_bytes(plot, png(figure(arms)))


def arm_readings(records: Path, graphs: Path | None = None) -> list[ArmReadings]:
    """The readings of each suite and policy that is recorded there, in order of appearance."""
    from tqdm import tqdm

    golds = Golds.of(records, graphs)
    arms: dict[tuple[str, str], ArmReadings] = {}
    for where, episode in tqdm(placed(records), desc="readings", unit="episode", disable=None):
        gold = golds.of_task(episode.suite, episode.task, where)
        key = episode.suite, episode.policy
        arms.setdefault(key, ArmReadings(*key)).add(Read.of(episode, gold))
    if not arms:
        raise InputError(f"{records}: no episode is recorded there yet")
    return list(arms.values())


def figure(arms: list[ArmReadings]) -> "Figure":
    """Coverage by number of questions, and the pair of stop readings of each arm."""
    from eval.plot_style import PALETTE, canvas, lines

    drawn, (left, right) = canvas("What was asked, and when it stopped", 2)
    named = [
        (arm.name, (range(len(arm.curve)), [total / arm.covered for total in arm.curve])) for arm in arms
    ]
    lines(left, named)
    left.set_title("required coverage", loc="left", fontsize=11)
    left.set_xlabel("questions (a run that has ended stays where it was)")
    left.set_ylim(0, 1.02)
    right.set_title("decisions", loc="left", fontsize=11)
    for arm, colour in zip(arms, PALETTE * (1 + len(arms) // len(PALETTE)), strict=False):
        x, y = arm.stops.ask_given_not_done, arm.stops.stop_given_done
        if x is not None and y is not None:
            right.plot([x], [y], "o", color=colour, markersize=8, clip_on=False)
            right.annotate(
                arm.policy, (x, y), xytext=(-6, 8), textcoords="offset points", ha="right", fontsize=9
            )
    right.set_xlim(0, 1)
    right.set_ylim(0, 1)
    right.set_xlabel("P(ask | not done)")
    right.set_ylabel("P(stop | done)")
    right.grid(color="#E4E4E4", linewidth=0.8)
    return drawn
