"""Two arms side by side: the same tasks under the same rollout seeds, or a refusal that says what differs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eval.readings import Read
from rollout.episode import Episode
from rollout.graphs import Golds
from rollout.shards import files, placed
from tasks.errors import InputError
from tasks.strict import closest

Unit = tuple[str, int]
"""(task, rollout seed)."""


@dataclass(frozen=True, slots=True)
class Arm:
    """The episodes of one policy."""

    path: Path
    suite: str
    policy: str
    pins: Mapping[str, str]
    limits: Mapping[str, int]
    reads: Mapping[Unit, Read]

    @property
    def tasks(self) -> set[str]:
        """Ids."""
        return {task for task, _ in self.reads}

    @property
    def seeds(self) -> set[int]:
        """Rollout seeds."""
        return {seed for _, seed in self.reads}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs in canonical order. `told` says on what they were intersected; empty where nothing differed."""

    units: tuple[tuple[Read, Read], ...]
    told: str


def arm(path: Path, graphs: Path | None = None, policy: str | None = None) -> Arm:
    """Read an arm: the episodes of `policy`, which need not be named where there is one alone.

    Raises InputError for records of several policies, pins, limits or pools of a task, and for none.
    """
    files(path)  # a path without records is told before the graphs that it lacks
    golds = Golds.of(path, graphs)
    reads: dict[Unit, Read] = {}
    policies: dict[str, None] = {}
    first = None
    for where, episode in placed(path):
        policies[episode.policy] = None
        if policy not in (None, episode.policy):
            continue
        first = first or episode
        for name in ("suite", "policy", "pins", "limits"):
            if getattr(episode, name) != getattr(first, name):
                mend = "; choose one: --policy-a, --policy-b" if name == "policy" else ""
                raise InputError(
                    f"{where}: an arm is one policy under one setting, but {name} is {getattr(first, name)} "
                    f"and {getattr(episode, name)}{mend}"
                )
        unit = episode.task, episode.seed
        if unit in reads:  # an episode that is there twice is read once: this is another
            raise InputError(
                f"{where}: task {unit[0]!r} under seed {unit[1]} was played on another pool before; "
                "compare recordings of one pool"
            )
        reads[unit] = Read.of(_bare(episode), golds.of_task(episode.suite, episode.task, where))
    if first is None and policies:
        raise InputError(f"{path}: no policy {policy!r} is recorded there; {closest(str(policy), policies)}")
    if first is None:
        raise InputError(f"{path}: no episode is recorded there yet")
    limits = {name: getattr(first.limits, name) for name in ("cap", "max_turns", "k")}
    return Arm(path, first.suite, first.policy, first.pins, limits, reads)


def _bare(episode: Episode) -> Episode:
    """Without the long texts, which no reading reads: both arms are held in memory."""
    turns = (replace(turn, rationale="", answer="", draft="") for turn in episode.turns)
    return replace(episode, turns=tuple(turns), draft=replace(episode.draft, text=""))


def pair(a: Arm, b: Arm, *, intersect: bool = False) -> Pairs:
    """The units of both arms. Raises InputError for arms that differ, unless asked to intersect them.

    The questioner is what is compared: its pin may differ. Under `intersect` units that one side lacks, or
    whose pools or graphs differ, are left out; other differences are told.
    """
    if a.suite != b.suite:
        raise InputError(f"{a.path} is of {a.suite}, {b.path} of {b.suite}; compare arms of one suite")
    shared = sorted(a.reads.keys() & b.reads.keys())
    other_pool = [unit for unit in shared if a.reads[unit].episode.pool != b.reads[unit].episode.pool]
    other_gold = [unit for unit in shared if a.reads[unit].gold != b.reads[unit].gold]
    differing = list(_differences(a, b, other_pool, other_gold))
    if differing and not intersect:
        raise InputError(
            f"{a.path} and {b.path} differ in {'; '.join(differing)}. Record them alike, or compare what "
            "they share: --intersect"
        )
    kept = [unit for unit in shared if unit not in {*other_pool, *other_gold}]
    if not kept:
        raise InputError(f"{a.path} and {b.path} share no task and seed on one pool; nothing can be compared")
    units = tuple((a.reads[unit], b.reads[unit]) for unit in kept)
    if not differing:
        return Pairs(units, "")
    tasks, seeds = (len(set(ids)) for ids in zip(*kept, strict=True))
    shared_runs = f"{len(kept)} shared runs ({tasks} tasks, {seeds} seeds)"
    return Pairs(units, f"compared on {shared_runs}; the arms differ in {'; '.join(differing)}")


def _differences(a: Arm, b: Arm, other_pool: list[Unit], other_gold: list[Unit]) -> Iterable[str]:
    yield from _of_sets("tasks", a.tasks, b.tasks)
    yield from _of_sets("seeds", a.seeds, b.seeds)
    if a.tasks == b.tasks and a.seeds == b.seeds:
        yield from _of_sets("runs", set(a.reads), set(b.reads))
    for name, units in (("pools", other_pool), ("graphs", other_gold)):
        if units:
            yield f"the {name} of {len(units)} runs (task {units[0][0]!r})"
    for name in sorted((a.pins.keys() | b.pins.keys()) - {"questioner"}):
        if a.pins.get(name) != b.pins.get(name):
            yield f"{name} ({a.pins.get(name)} and {b.pins.get(name)})"
    for name, limit in a.limits.items():
        if limit != b.limits[name]:
            yield f"{name} ({limit} and {b.limits[name]})"


def _of_sets(name: str, a: set, b: set) -> Iterable[str]:  # type: ignore[type-arg]
    if a != b:
        only = [
            f"{len(one)} only in {which} ({min(one)!r})" for which, one in (("A", a - b), ("B", b - a)) if one
        ]
        yield f"{name}: {', '.join(only)}"


def charged(a: Read, b: Read) -> tuple[int, int]:
    """A's own end, and B's longest prefix whose questions cost no more tokens than all of A's."""
    budget = sum(turn.question_tokens for turn in a.episode.turns)
    spent = 0
    for asks, turn in enumerate(b.episode.turns):
        spent += turn.question_tokens
        if spent > budget:
            return a.course.asks, asks
    return a.course.asks, b.course.asks


def equal_spend(a: Read, b: Read) -> tuple[int, int]:
    """As many questions in both as the shorter run has."""
    asks = min(a.course.asks, b.course.asks)
    return asks, asks


def own_stop(a: Read, b: Read) -> tuple[int, int]:
    """Each at its own end."""
    return a.course.asks, b.course.asks


READINGS: Mapping[str, Callable[[Read, Read], tuple[int, int]]] = {
    "equal-spend": equal_spend,
    "own-stop": own_stop,
    "charged": charged,
}
"""How many questions of each run are read."""
