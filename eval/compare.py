"""`askrl compare A B`: paired differences of two arms with intervals and verdicts (arXiv 2609.37236).

The unit is a task: its rollout seeds are averaged, tasks of one template are one cluster, and what is
estimated is the unweighted mean over clusters of the mean within each.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval import statistics, stop_difference
from eval.metrics import show
from eval.pairing import READINGS, Pairs, arm, pair
from eval.readings import METRICS, OF_THE_END
from eval.statistics import Decision, verdict
from eval.stop_difference import StopDifference
from tasks.errors import InputError
from tasks.strict import closest

PRIMARY = "coverage"
SECONDARIES = (
    "depth_weighted_recall",
    "deepest",
    "breadth",
    "out_of_order",
    "latent_discovery",
    "redundancy",
)
AT_THE_END = ("tokens", "answer_f1", "answer_em")
"""And these, where each arm is read at its own end."""
BINARY = ("answer_em", "answer_contains", "answer_node_coverage")
COLUMNS = (
    "metric", "A", "B", "A - B", "95 % interval", "verdict", "p", "adjusted p", "detectable",
    "tasks / clusters / dropped pairs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One metric: both arms, A minus B, and whether that is decided."""

    metric: str
    a: float
    b: float
    decision: Decision | None
    """None where no pair has both sides."""
    p: float
    """Two-sided, from flipping the signs of clusters."""
    adjusted: float | None
    """By Benjamini and Hochberg, of the secondaries."""
    mcnemar: float | None
    """Exact, of metrics that are yes or no under one rollout seed."""
    detectable: float
    """The least difference that so many clusters would show at a power of .8."""
    tasks: int
    clusters: int
    dropped: int
    """Pairs in which one side is undefined."""

    @property
    def difference(self) -> float:
        """A minus B; NaN where nothing is defined."""
        return self.decision.intervals[0].estimate if self.decision else math.nan

    @property
    def verdict(self) -> str:
        """In words."""
        return verdict(self.decision)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, how it was read, and what came of it."""

    suite: str
    a: str
    b: str
    reading: str
    cap: int | None
    told: str
    rows: tuple[Row, ...]
    """The primary metric, then the secondaries."""
    stops: tuple[StopDifference, ...]
    """Of the runs' own ends, whatever the reading."""

    def row(self, metric: str) -> Row:
        """The row of a metric."""
        return next(row for row in self.rows if row.metric == metric)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; NaN is null."""
        return {
            "suite": self.suite, "a": self.a, "b": self.b, "reading": self.reading, "cap": self.cap,
            "told": self.told, "rows": [_row_dict(row) for row in self.rows],
            "stops": [one.to_dict() for one in self.stops],
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """For a person: what was asked to be intersected first, then a table."""
        if self.told:
            yield self.told
        cap = "" if self.cap is None else f", at most {self.cap} questions"
        yield f"{self.suite}: A = {self.a}, B = {self.b}; read at {self.reading}{cap}; differences are A - B"
        yield f"| {' | '.join(COLUMNS)} |"
        yield f"|---|{'---:|' * 3}---|---|{'---:|' * 4}"
        for row in self.rows:
            adjusted = "primary" if row.adjusted is None else show(row.adjusted)
            mcnemar = "" if row.mcnemar is None else f" (McNemar {row.mcnemar:.3f})"
            yield (
                f"| {row.metric} | {_number(row.a)} | {_number(row.b)} | {_number(row.difference, '+')} | "
                f"{interval_text(row.decision)} | {row.verdict} | {_number(row.p)}{mcnemar} | {adjusted} | "
                f"{_number(row.detectable)} | {row.tasks} / {row.clusters} / {row.dropped} |"
            )
        for one in self.stops:
            yield (
                f"| {one.name}, own end | {show(one.a)} | {show(one.b)} | {_number(one.difference, '+')} | "
                f"{interval_text(one.decision)} | {one.verdict} | | | | / {one.clusters} / |"
            )


def run(
    a: Path, b: Path, *, reading: str, caps: Sequence[int | None], secondaries: Sequence[str] | None,
    intersect: bool, seed: int, graphs: Path | None, policies: tuple[str | None, str | None], as_json: bool,
) -> None:  # fmt: skip
    """Compare two recordings under each cap and print what came of it. Raises InputError."""
    first, second = arm(a, graphs, policies[0]), arm(b, graphs, policies[1])
    pairs = pair(first, second, intersect=intersect)
    names = (first.policy, second.policy)
    if first.policy == second.policy:
        names = (f"{first.policy} ({a})", f"{second.policy} ({b})")
    for cap in caps:
        found = compare(pairs, first.suite, names, reading, cap, secondaries, seed)
        print(json.dumps(found.to_dict()) if as_json else "\n".join([*found.lines(), ""]))


def compare(
    pairs: Pairs, suite: str, names: tuple[str, str], reading: str = "equal-spend", cap: int | None = None,
    secondaries: Sequence[str] | None = None, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Read every pair and decide. Raises InputError for a metric or reading that is none."""
    if secondaries is None:
        secondaries = _secondaries(reading, cap)
    _check(reading, cap, secondaries, seed)
    prefixes = READINGS[reading]
    read = []
    for one, other in pairs.units:
        k_one, k_other = (k if cap is None else min(k, cap) for k in prefixes(one, other))
        read.append((one.at(k_one), other.at(k_other)))
    rows = [_row(metric, pairs, read, seed) for metric in (PRIMARY, *secondaries)]
    known = [row.p for row in rows[1:] if not math.isnan(row.p)]
    adjusted = iter(statistics.benjamini_hochberg(known))
    rows[1:] = [replace(row, adjusted=1.0 if math.isnan(row.p) else next(adjusted)) for row in rows[1:]]
    stops = stop_difference.differences(pairs, seed)
    return Comparison(suite, *names, reading, cap, pairs.told, tuple(rows), stops)


def _secondaries(reading: str, cap: int | None) -> tuple[str, ...]:
    """Where the arms ask as they like, how much they asked belongs beside what they found."""
    asks = () if reading == "equal-spend" else ("asks",)
    return (*SECONDARIES, *asks, *(AT_THE_END if reading == "own-stop" and cap is None else ()))


def _check(reading: str, cap: int | None, secondaries: Sequence[str], seed: int) -> None:
    if reading not in READINGS:
        raise InputError(f"reading {reading!r} is none; {closest(reading, list(READINGS))}")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be at least 0")
    if cap is not None and cap < 1:
        raise InputError(f"cap is {cap}; it must be at least 1")
    for name in secondaries:
        if name not in METRICS:
            raise InputError(f"metric {name!r} is none; {closest(name, list(METRICS))}")
        if name in OF_THE_END and (reading != "own-stop" or cap is not None):
            raise InputError(f"metric {name} belongs to a run's own end: read it at own-stop, without a cap")
    if len({PRIMARY, *secondaries}) <= len(secondaries):
        raise InputError(f"secondaries: name each metric once; {PRIMARY} is the primary one")


Values = dict[str, float | None]


def _row(metric: str, pairs: Pairs, read: Sequence[tuple[Values, Values]], seed: int) -> Row:
    by_task: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    dropped = 0
    for (one, _), (left_read, right_read) in zip(pairs.units, read, strict=True):
        left, right = left_read[metric], right_read[metric]
        if left is None or right is None:
            dropped += 1
        else:
            by_task[one.gold.cluster, one.episode.task].append((left, right))
    tasks = {
        key: (math.fsum(a for a, _ in values) / len(values), math.fsum(b for _, b in values) / len(values))
        for key, values in by_task.items()
    }
    means = statistics.cluster_means((cluster, a - b) for (cluster, _), (a, b) in tasks.items())
    if not tasks:
        return Row(metric, math.nan, math.nan, None, math.nan, None, None, math.nan, 0, 0, dropped)
    a, b = (
        float(statistics.cluster_means((cluster, side[i]) for (cluster, _), side in tasks.items()).mean())
        for i in (0, 1)
    )
    return Row(
        metric, a, b, statistics.decide(means, seed), statistics.sign_flip(means, seed=seed), None,
        _mcnemar(metric, by_task), statistics.minimum_detectable(means), len(tasks), len(means), dropped,
    )  # fmt: skip


def _mcnemar(metric: str, by_task: dict[tuple[str, str], list[tuple[float, float]]]) -> float | None:
    if metric not in BINARY or any(len(values) > 1 for values in by_task.values()):
        return None
    only_a = sum(a > b for values in by_task.values() for a, b in values)
    only_b = sum(b > a for values in by_task.values() for a, b in values)
    return statistics.mcnemar(only_a, only_b)


def interval_text(decision: Decision | None) -> str:
    """The intervals; several were read where the first came close to zero."""
    if decision is None or decision.intervals[0].degenerate:
        return "–"
    return " ".join(f"[{one.low:+.3f}, {one.high:+.3f}]" for one in decision.intervals)


def _number(value: float, sign: str = "") -> str:
    return "–" if math.isnan(value) else f"{value:{sign}.3f}"


def _row_dict(row: Row) -> dict[str, Any]:
    known = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name in ("metric", "a", "b", "difference", "p", "adjusted", "mcnemar", "detectable", "tasks")
        for value in [getattr(row, name)]
    }
    intervals = [[one.low, one.high] for one in row.decision.intervals] if row.decision else []
    return {
        **known,
        "clusters": row.clusters,
        "dropped": row.dropped,
        "intervals": intervals,
        "decided": row.decision is not None and row.decision.decided,
        "verdict": row.verdict,
    }
