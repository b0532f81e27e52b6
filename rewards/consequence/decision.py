"""What a question led to, and which of two questions asked at one state led further (arXiv 2609.37236).

No judge and no reward model: a decision is measured by the evidence that came after it. The order of two
decisions is the first of outcome, (repair,) quickness and gain that is known on both sides and differs.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from rollout.episode import Turn
from rollout.forks import Candidate, Fork
from tasks.answer_match import holds
from tasks.move import Ask, Move
from tasks.multi_hop import Gold
from tasks.need_graph import NeedGraph, Uid

DONE = 1.0 - 1e-12
EQUAL = 1e-9
"""Values are sums of three terms: a gap of exactly the margin must not pass by rounding."""

Key = Literal["outcome", "repair", "quickest", "gain"]


@dataclass(frozen=True, slots=True)
class Worth:
    """The weights of a decision's value: what it gained, what it fetched twice, what every ask costs."""

    gain: float = 0.5
    redundancy: float = 0.1
    ask: float = 0.05


@dataclass(frozen=True, slots=True)
class Decision:
    """A move at a state and what it led to. None is unknown, which is never taken for no."""

    index: int
    move: Move
    phi: float | None
    """Gain of required coverage in its own turn."""
    value: float | None
    to_complete: int
    """Turns from here on until all is covered; -1 if it never is."""
    correct: bool | None
    """Whether the final answer holds the gold answer."""
    repairs: bool = False
    """Whether it resolved a need that the run had passed over: one that builds on it was resolved before."""

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return isinstance(self.move, Ask)

    @property
    def question(self) -> str:
        """Its text; empty for STOP."""
        return self.move.question if isinstance(self.move, Ask) else ""


def done_before(fork: Fork, gold: Gold) -> bool | None:
    """Whether everything required was in hand at the state; None where nothing is required."""
    covered = gold.graph.coverage(fork.evidence)
    return None if covered is None else covered >= DONE


def decisions(fork: Fork, gold: Gold, worth: Worth | None = None, repair: bool = False) -> list[Decision]:
    """What each candidate of a state led to, in their order.

    `repair` marks those that mend the order of the run, which the paper does not ask for.
    """
    worth, evidence = worth or Worth(), frozenset(fork.evidence)
    passed_over = gold.graph.passed_over(evidence) if repair else frozenset()
    return [
        Decision(
            candidate.index,
            candidate.move,
            *_worth(candidate.turns, evidence, gold.graph.wanted, worth),
            holds(candidate.answer, gold.answers),
            _resolves(passed_over, candidate, evidence, gold.graph),
        )
        for candidate in fork.candidates
    ]


def _resolves(
    needs: frozenset[str], candidate: Candidate, evidence: frozenset[str], graph: NeedGraph
) -> bool:
    """Whether the move's own turn resolves one of these needs."""
    if not needs or not candidate.turns:
        return False
    return not needs.isdisjoint(graph.resolved(evidence.union(candidate.turns[0].retrieved)))


def _worth(
    turns: Sequence[Turn], evidence: frozenset[str], wanted: frozenset[Uid], worth: Worth
) -> tuple[float | None, float | None, int]:
    """phi, value and turns to completion of a move and what followed it."""
    if not wanted:
        return (None, None, -1) if turns else (0.0, 0.0, -1)
    have = set(wanted & evidence)
    before = len(have)
    complete = 0 if before == len(wanted) else -1
    phi = value = 0.0
    for number, turn in enumerate(turns, 1):
        have.update(wanted.intersection(turn.retrieved))
        if number == 1:
            phi = (len(have) - before) / len(wanted)
            value = value_of(phi, redundancy(turn.retrieved, evidence), worth)
        if complete < 0 and len(have) == len(wanted):
            complete = number
        if complete >= 0:
            break
    return phi, value, complete


def redundancy(retrieved: Sequence[str], in_hand: Collection[str]) -> float:
    """rho: the share of what a question fetched that was in hand already; 1 where it fetched nothing."""
    if not retrieved:
        return 1.0
    return sum(uid in in_hand for uid in retrieved) / len(retrieved)


def value_of(phi: float, rho: float, worth: Worth | None = None) -> float:
    """0.5 phi - 0.1 rho - 0.05; a STOP is worth 0."""
    worth = worth or Worth()
    return worth.gain * phi - worth.redundancy * rho - worth.ask


def better(a: Decision, b: Decision) -> tuple[Decision, Decision, Key] | None:
    """(the better, the worse, why), or None where no key that both know tells them apart."""
    if a.correct is not None and b.correct is not None and a.correct != b.correct:
        return (a, b, "outcome") if a.correct else (b, a, "outcome")
    if a.repairs != b.repairs:
        return (a, b, "repair") if a.repairs else (b, a, "repair")
    if a.to_complete >= 0 and b.to_complete >= 0 and a.to_complete != b.to_complete:
        return (a, b, "quickest") if a.to_complete < b.to_complete else (b, a, "quickest")
    if a.value is not None and b.value is not None and abs(a.value - b.value) > EQUAL:
        return (a, b, "gain") if a.value > b.value else (b, a, "gain")
    return None
