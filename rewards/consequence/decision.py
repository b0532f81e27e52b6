"""What a question led to, and which of two questions asked at one state led further (arXiv 2609.37236).

No judge and no reward model: a decision is measured by the evidence that came after it. The order of two
decisions is the first of outcome, quickness and gain that is known on both sides and differs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rollout.forks import Candidate, Fork
from tasks.move import Ask, Move
from tasks.multi_hop import Gold

DONE = 1.0 - 1e-12
EQUAL = 1e-9
"""Values are sums of three terms: a gap of exactly the margin must not pass by rounding."""

Key = Literal["outcome", "quickest", "gain"]


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


def decisions(fork: Fork, gold: Gold, worth: Worth | None = None) -> list[Decision]:
    """What each candidate of a state led to, in their order."""
    return [_decision(fork, candidate, gold, worth or Worth()) for candidate in fork.candidates]


def _decision(fork: Fork, candidate: Candidate, gold: Gold, worth: Worth) -> Decision:
    covered = [gold.graph.coverage(fork.evidence)]
    in_hand = set(fork.evidence)
    for turn in candidate.turns:
        in_hand.update(turn.retrieved)
        covered.append(gold.graph.coverage(in_hand))
    complete = next((t for t, share in enumerate(covered) if share is not None and share >= DONE), -1)
    phi: float | None = 0.0
    value: float | None = 0.0
    if candidate.turns:
        before, after = covered[0], covered[1]
        phi = None if before is None or after is None else after - before
        again = redundancy(candidate.turns[0].retrieved, fork.evidence)
        value = None if phi is None else value_of(phi, again, worth)
    correct = is_correct(candidate.answer, gold)
    return Decision(candidate.index, candidate.move, phi, value, complete, correct)


def redundancy(retrieved: Sequence[str], in_hand: Sequence[str]) -> float:
    """rho: the share of what a question fetched that was in hand already; 1 where it fetched nothing."""
    if not retrieved:
        return 1.0
    return sum(uid in in_hand for uid in retrieved) / len(retrieved)


def value_of(phi: float, rho: float, worth: Worth | None = None) -> float:
    """0.5 phi - 0.1 rho - 0.05; a STOP is worth 0."""
    worth = worth or Worth()
    return worth.gain * phi - worth.redundancy * rho - worth.ask


def is_correct(answer: str, gold: Gold) -> bool | None:
    """Whether the answer holds the gold answer or an alias as a run of words.

    None where there is no gold answer, and for an answer to a yes-or-no question that holds both words.
    """
    known = [words(one) for one in gold.answers if words(one)]
    if not known:
        return None
    found = words(answer)
    if {"yes", "no"} & {one[0] for one in known if len(one) == 1} and {"yes", "no"} <= set(found):
        return None
    return any(_holds(found, one) for one in known)


def gives_away(question: str, gold: Gold) -> bool:
    """Whether a question holds a gold answer of five characters or more, which it could only have seen."""
    asked = words(question)
    return any(
        len(" ".join(one)) >= 5 and _holds(asked, one) for one in (words(text) for text in gold.answers)
    )


def better(a: Decision, b: Decision) -> tuple[Decision, Decision, Key] | None:
    """(the better, the worse, why), or None where no key that both know tells them apart."""
    if a.correct is not None and b.correct is not None and a.correct != b.correct:
        return (a, b, "outcome") if a.correct else (b, a, "outcome")
    if a.to_complete >= 0 and b.to_complete >= 0 and a.to_complete != b.to_complete:
        return (a, b, "quickest") if a.to_complete < b.to_complete else (b, a, "quickest")
    if a.value is not None and b.value is not None and abs(a.value - b.value) > EQUAL:
        return (a, b, "gain") if a.value > b.value else (b, a, "gain")
    return None


def words(text: str) -> list[str]:
    """Letters and digits in lower case, without articles: as answers are compared."""
    return [word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in ("a", "an", "the")]


def _holds(text: Sequence[str], run: Sequence[str]) -> bool:
    return any(list(text[i : i + len(run)]) == list(run) for i in range(len(text) - len(run) + 1))
