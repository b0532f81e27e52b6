"""How far a run got on its need graph, at every number of questions (arXiv 2609.37236, section 5).

A `Course` is one run against one graph, worked out once; each metric is then read at a prefix of `asks`
questions. None is undefined: nothing was there to count. Optional needs never resolve and are not counted.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.need_graph import NeedGraph, Uid

DONE = 1.0 - 1e-12
WEIGHTS = (0.5, 1.0, 1.5, 2.0)
"""Of depths 0, 1, …; deeper ones weigh as much as the last."""
NEVER = 1 << 30
START = -1


@dataclass(frozen=True)
class Course:
    """What each question fetched. `start` was in hand before the first."""

    graph: NeedGraph
    turns: Sequence[Sequence[Uid]]
    start: Sequence[Uid] = ()

    @property
    def asks(self) -> int:
        """Questions of the whole run."""
        return len(self.turns)

    @functools.cached_property
    def first(self) -> dict[Uid, int]:
        """The turn that fetched each paragraph first."""
        found: dict[Uid, int] = dict.fromkeys(self.start, START)
        for turn, uids in enumerate(self.turns):
            for uid in uids:
                found.setdefault(uid, turn)
        return found

    @functools.cached_property
    def resolve_turns(self) -> dict[str, int]:
        """r(v): the turn that fetched the last of each required need's evidence; NEVER if none did."""
        first = self.first
        return {need.id: max(first.get(uid, NEVER) for uid in need.evidence) for need in self.graph.required}

    def resolved(self, asks: int) -> set[str]:
        """Needs that are resolved after so many questions."""
        return {name for name, turn in self.resolve_turns.items() if turn < asks}

    def frontier(self, asks: int) -> set[str]:
        """Needs that can be named after so many questions: open, all that comes before them resolved."""
        done = self.resolved(asks)
        before = self.graph.prerequisites
        return {name for name in self.resolve_turns if name not in done and before[name] <= done}

    @functools.cached_property
    def frontiers(self) -> list[set[str]]:
        """Before each question, and at the end."""
        return [self.frontier(asks) for asks in range(self.asks + 1)]

    def coverage(self, asks: int) -> float | None:
        """Q: the share of all required paragraphs that has been fetched."""
        wanted, first = self.graph.wanted, self.first
        if not wanted:
            return None
        return sum(first.get(uid, NEVER) < asks for uid in wanted) / len(wanted)

    def done(self, asks: int) -> bool | None:
        """Whether everything required is in hand."""
        covered = self.coverage(asks)
        return None if covered is None else covered >= DONE

    def by_depth(self, asks: int) -> dict[int, tuple[int, int]]:
        """(resolved, all) required needs of each depth that occurs."""
        depths, turns = self.graph.depths, self.resolve_turns
        counts: dict[int, tuple[int, int]] = {}
        for name, turn in turns.items():
            resolved, total = counts.get(depths[name], (0, 0))
            counts[depths[name]] = resolved + (turn < asks), total + 1
        return counts

    def depth_weighted_recall(self, asks: int) -> float | None:
        """The mean of the recalls at each depth; what lies deeper weighs more."""
        counts = self.by_depth(asks)
        weights = {depth: WEIGHTS[min(depth, len(WEIGHTS) - 1)] for depth in counts}
        if not counts:
            return None
        recalls = sum(weights[depth] * found / total for depth, (found, total) in counts.items())
        return recalls / sum(weights.values())

    def deepest(self, asks: int) -> int | None:
        """The largest depth of a resolved need, -1 for none."""
        depths = self.graph.depths
        if not self.resolve_turns:
            return None
        return max((depths[name] for name, turn in self.resolve_turns.items() if turn < asks), default=-1)

    def lines(self, asks: int, *, advanced: bool = False, optional: bool = False) -> float | None:
        """Breadth: the share of lines with a resolved need.

        `advanced` counts lines past their first need alone: two resolved needs, or one of depth 1 or more.
        `optional` lets optional needs join lines.
        """
        lines = self.graph.lines_of_all if optional else self.graph.lines
        if not lines:
            return None
        done, depths = self.resolved(asks), self.graph.depths
        found = [[depths[name] for name in line if name in done] for line in lines]
        counted = [(len(here) > 1 or any(here)) if advanced else bool(here) for here in found]
        return sum(counted) / len(lines)

    def out_of_order(self, asks: int) -> float | None:
        """Over edges with both ends resolved: the share whose later end came first; a tie is in order."""
        turns = self.resolve_turns
        found = [
            turns[v] < turns[u]
            for u, v in self.graph.edges
            if turns.get(u, NEVER) < asks and turns.get(v, NEVER) < asks
        ]
        return sum(found) / len(found) if found else None

    def repairs(self, asks: int, within: int = 2) -> tuple[int, int]:
        """(repaired, all) needs resolved before one of their parents.

        A repair resolves all parents within so many turns after the need.
        """
        turns = self.resolve_turns
        early = repaired = 0
        for name, turn in turns.items():
            parents = [turns[u] for u in self.graph.parents[name] if u in turns]
            if turn < asks and parents and max(parents) > turn:
                early += 1
                repaired += max(parents) <= min(turn + within, asks - 1)
        return repaired, early

    def timely(self, asks: int) -> tuple[int, int]:
        """(timely, all) turns that resolved a need of depth 1 or more; timely: one could just be named."""
        depths = self.graph.depths
        late: dict[int, list[str]] = {}
        for name, turn in self.resolve_turns.items():
            if START < turn < asks and depths[name] > 0:
                late.setdefault(turn, []).append(name)
        before = [set[str](), *self.frontiers]
        just = sum(
            any(name in before[turn + 1] and name not in before[turn] for name in names)
            for turn, names in late.items()
        )
        return just, len(late)

    def latent(self, asks: int) -> tuple[int, int]:
        """(resolved, all) needs of depth 1 or more among those that could be named at some time."""
        depths, turns = self.graph.depths, self.resolve_turns
        entered = set[str]().union(*self.frontiers[: asks + 1])
        entered = {name for name in entered if depths[name] > 0}
        return sum(turns[name] < asks for name in entered), len(entered)

    def redundancy(self, asks: int) -> float | None:
        """Mean rho over questions: the share of what each fetched that was in hand; 1 for nothing fetched."""
        if not asks:
            return None
        return sum(map(self.rho, range(asks))) / asks

    def rho(self, turn: int) -> float:
        """The share of what a question fetched that was in hand before."""
        uids = self.turns[turn]
        return sum(self.first[uid] < turn for uid in uids) / len(uids) if uids else 1.0


@dataclass(frozen=True, slots=True)
class StopCounts:
    """Decisions to ask and to stop, by whether all was in hand. Add them up over runs, then divide."""

    done_stop: int = 0
    done: int = 0
    not_done_ask: int = 0
    not_done: int = 0
    halts: int = 0
    """Runs that the harness ended: their end is no decision."""
    asks_after_done: int = 0
    malformed: int = 0
    """STOPs, counted above, that were no move at all."""

    def __add__(self, other: "StopCounts") -> "StopCounts":
        return StopCounts(*(getattr(self, n) + getattr(other, n) for n in self.__dataclass_fields__))

    @property
    def stop_given_done(self) -> float | None:
        """P(stop | done)."""
        return self.done_stop / self.done if self.done else None

    @property
    def ask_given_not_done(self) -> float | None:
        """P(ask | not done)."""
        return self.not_done_ask / self.not_done if self.not_done else None


def stop_counts(course: Course, stop: str) -> StopCounts:
    """The decisions of a run that ended for the reason `stop`; those without a coverage are left out."""
    done_before = [course.done(asks) for asks in range(course.asks + 1)]
    stopped = stop in ("policy_stop", "malformed")
    asked_done = done_before[:-1].count(True)
    asked_open = done_before[:-1].count(False)
    done_stop = stopped and done_before[-1] is True
    open_stop = stopped and done_before[-1] is False
    return StopCounts(
        done_stop=int(done_stop),
        done=asked_done + done_stop,
        not_done_ask=asked_open,
        not_done=asked_open + open_stop,
        halts=int(not stopped),
        asks_after_done=asked_done,
        malformed=int(stop == "malformed"),
    )
