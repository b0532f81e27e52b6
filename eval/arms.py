"""Several arms, each under several training seeds, in one table: readings, and every arm against others.

Readings are means over runs for each seed, then the mean and the spread over seeds. A comparison takes the
pairs of all seeds together: every seed has tasks of its own, so they are clusters of their own.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from eval.arm_readings import ArmReadings, figure
from eval.compare import Comparison, compare, interval_text
from eval.metrics import show
from eval.pairing import Arm, Pairs, arm, pair
from eval.report import png
from tasks.atomic import write_bytes, write_json, write_text
from tasks.errors import InputError

READ: Mapping[str, Callable[[ArmReadings], float | None]] = {
    "coverage": lambda one: one.mean("coverage"),
    "depth-weighted recall": lambda one: one.mean("depth_weighted_recall"),
    "breadth": lambda one: one.mean("breadth"),
    "P(stop given done)": lambda one: one.stops.stop_given_done,
    "P(ask given not done)": lambda one: one.stops.ask_given_not_done,
    "asks": lambda one: one.mean("asks"),
    "out of order": lambda one: one.mean("out_of_order"),
    "answers": lambda one: one.mean("answer_em"),
}
COMPARED = ("depth_weighted_recall", "breadth", "out_of_order")


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: eval.arms` recipe."""

    arms: Mapping[str, Any]
    """Name -> the run folder of its recording, or a list of folders, one for each training seed."""
    output_dir: Path
    against: tuple[tuple[str, str], ...] = ()
    """Comparisons (arm, other arm); by default each arm with the one before it."""

    def __post_init__(self) -> None:
        if not self.arms:
            raise InputError("arms: give at least one, name and folder")
        for name in (name for both in self.against for name in both):
            if name not in self.arms:
                raise InputError(f"against: {name!r} is none of the arms: {', '.join(self.arms)}")


@dataclass(frozen=True, slots=True)
class Found:
    """An arm under all seeds."""

    name: str
    recordings: tuple[Arm, ...]
    readings: tuple[ArmReadings, ...]


def run(config: Config) -> None:
    """Write table.md, arms.json and readings.png. Raises InputError for arms that cannot be compared."""
    found = {name: _found(name, folders) for name, folders in config.arms.items()}
    names = list(found)
    against = config.against or tuple(zip(names[1:], names, strict=False))
    pairs = {(a, b): _pairs(found[a], found[b]) for a, b in against}
    suite = found[names[0]].recordings[0].suite
    comparisons = [
        compare(both, suite, names, reading, secondaries=COMPARED)
        for names, both in pairs.items()
        for reading in ("equal-spend", "own-stop")
    ]
    text = "\n".join([*_table(list(found.values())), "", *_differences(comparisons), ""])
    write_text(config.output_dir / "table.md", text)
    write_json(
        config.output_dir / "arms.json",
        {
            "arms": {name: [one.to_dict() for one in arm.readings] for name, arm in found.items()},
            "comparisons": [one.to_dict() for one in comparisons],
        },
    )
    write_bytes(config.output_dir / "readings.png", png(figure([_together(one) for one in found.values()])))
    print(text)


def _found(name: str, folders: Any) -> Found:
    places = [folders] if isinstance(folders, str) else folders
    if not isinstance(places, Sequence) or not places or not all(isinstance(one, str) for one in places):
        raise InputError(f"arms.{name}: expected a folder or a list of folders, not {json.dumps(folders)}")
    recordings = tuple(arm(Path(place)) for place in places)
    return Found(name, recordings, tuple(_read(name, [one]) for one in recordings))


def _read(name: str, recordings: Sequence[Arm]) -> ArmReadings:
    readings = ArmReadings(recordings[0].suite, name)
    for recording in recordings:
        for one in recording.reads.values():
            readings.add(one)
    return readings


def _together(found: Found) -> ArmReadings:
    return _read(found.name, found.recordings)


def _pairs(a: Found, b: Found) -> Pairs:
    if len(a.recordings) != len(b.recordings):
        raise InputError(
            f"arms {a.name} and {b.name} have different numbers of folders; give as many of each"
        )
    units = [pair(one, other).units for one, other in zip(a.recordings, b.recordings, strict=True)]
    return Pairs(tuple(both for some in units for both in some), "")


def _table(arms: Sequence[Found]) -> Iterator[str]:
    seeds = len(arms[0].readings)
    runs = sum(one.runs for one in arms[0].readings)
    yield f"Mean ± standard deviation over {seeds} training seeds; {runs} episodes an arm, at own stop."
    yield ""
    yield f"| arm | {' | '.join(READ)} |"
    yield f"|---|{'---:|' * len(READ)}"
    for one in arms:
        yield f"| {one.name} | {' | '.join(_spread([of(r) for r in one.readings]) for of in READ.values())} |"


def _spread(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return show(None)
    spread = f" ± {stdev(known):.3f}" if len(known) > 1 else ""
    return show(fmean(known)) + spread


def _differences(comparisons: Sequence[Comparison]) -> Iterator[str]:
    yield "Paired differences, 95 % intervals over clusters of all seeds:"
    yield ""
    yield "| arm | against | read at | metric | difference | interval | verdict |"
    yield "|---|---|---|---|---:|---|---|"
    for one in comparisons:
        head = f"| {one.a} | {one.b} | {one.reading}"
        for row in one.rows:
            interval = interval_text(row.decision)
            yield f"{head} | {row.metric} | {row.difference:+.3f} | {interval} | {row.verdict} |"
        for stop in one.stops if one.reading == "own-stop" else ():
            interval = interval_text(stop.decision)
            yield f"{head} | {stop.name} | {stop.difference:+.3f} | {interval} | {stop.verdict} |"
