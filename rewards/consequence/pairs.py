"""Preference pairs from forked states: which of two moves at one state is kept over the other, and why.

Each rule is a function of its own; what it leaves out is counted under its name.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.consequence.decision import EQUAL, Decision, better, done_before
from rollout.forks import Fork
from tasks.answer_match import gives_away
from tasks.errors import InputError
from tasks.move import Stop
from tasks.multi_hop import Gold

Kind = Literal["ask_ask", "ask_stop", "stop_done", "not_done"]
"""Two asks; an ask and a STOP that were both tried; and two kinds with a STOP that nobody tried: where all is
in hand over the best ask, where it is not under the best ask."""

Reason = Literal["outcome", "repair", "quickest", "gain", "stop_done", "not_done"]
"""What decided. `stop_done`: all was in hand, so STOP won; `not_done`: something was missing, so the ask."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When two asks are told apart well enough to be learned from."""

    margin: float = 0.05
    """Values must lie further apart than this."""
    max_length_gap: int = 40
    """In characters: or length would be learned."""
    max_pairs: int = 12
    """Of a state, chosen by hash; `not_done` pairs come on top."""

    def __post_init__(self) -> None:
        if self.margin < 0.0 or self.max_length_gap < 0 or self.max_pairs < 1:
            raise InputError("margin and max_length_gap must be at least 0, max_pairs at least 1")


@dataclass(frozen=True, slots=True)
class Pair:
    """Of two moves at one state the one to prefer."""

    id: str
    kind: Kind
    reason: Reason
    chosen: Decision
    rejected: Decision


def pairs(
    fork: Fork, found: Sequence[Decision], gold: Gold, rules: Rules, dropped: Counter[str]
) -> list[Pair]:
    """The pairs of a state; `dropped` counts what each rule left out."""
    done = done_before(fork, gold)
    asks = [one for one in distinct(found, dropped) if one.asks and not _gives_away(one, gold, dropped)]
    stops = [one for one in found if not one.asks][:1]
    kept = list(_ask_ask(fork, asks, rules, dropped))
    kept += _ask_stop(fork, asks, stops, done, rules, dropped)
    if not stops and asks and done:
        kept.append(_pair(fork, "stop_done", "stop_done", _stop(), best(asks)))
    kept = capped(kept, rules.max_pairs, dropped)
    if not stops and asks and done is False:
        kept.append(_pair(fork, "not_done", "not_done", best(asks), _stop()))
    return kept


def distinct(found: Sequence[Decision], dropped: Counter[str]) -> list[Decision]:
    """The first of those that ask the same but for case and spaces, and all stops."""
    seen: set[str] = set()
    kept = []
    for one in found:
        folded = " ".join(one.question.casefold().split())
        if one.asks and folded in seen:
            dropped["same question"] += 1
            continue
        seen.add(folded)
        kept.append(one)
    return kept


def best(asks: Sequence[Decision]) -> Decision:
    """The ask of the largest value, one that repairs before others; of equals the one tried first."""

    def rank(one: Decision) -> tuple[bool, float, int]:
        return one.repairs, one.value if one.value is not None else float("-inf"), -one.index

    return max(asks, key=rank)


def far_apart(a: Decision, b: Decision, margin: float) -> bool:
    """Whether two values differ by more than the margin."""
    return a.value is not None and b.value is not None and abs(a.value - b.value) > margin + EQUAL


def alike_in_length(a: Decision, b: Decision, gap: int) -> bool:
    """Whether two questions differ by at most so many characters."""
    return abs(len(a.question) - len(b.question)) <= gap


def capped(found: list[Pair], most: int, dropped: Counter[str]) -> list[Pair]:
    """At most so many pairs of a state, by hash: not by margin, which would favour extremes."""
    if len(found) <= most:
        return found
    dropped["over the cap of a state"] += len(found) - most
    kept = {pair.id for pair in sorted(found, key=lambda pair: pair.id)[:most]}
    return [pair for pair in found if pair.id in kept]


def _ask_ask(fork: Fork, asks: Sequence[Decision], rules: Rules, dropped: Counter[str]) -> Iterator[Pair]:
    for a, b in itertools.combinations(asks, 2):
        order = better(a, b)
        if order is None:
            dropped["tie"] += 1
        elif order[2] != "repair" and not far_apart(a, b, rules.margin):
            dropped["margin"] += 1
        elif not alike_in_length(a, b, rules.max_length_gap):
            dropped["length"] += 1
        else:
            winner, loser, reason = order
            yield _pair(fork, "ask_ask", reason, winner, loser)


def _ask_stop(
    fork: Fork,
    asks: Sequence[Decision],
    stops: Sequence[Decision],
    done: bool | None,
    rules: Rules,
    dropped: Counter[str],
) -> Iterator[Pair]:
    """Outcome first; else STOP where all was in hand, else the ask if it gained enough, else no pair."""
    for ask, stop in itertools.product(asks, stops):
        if ask.correct is not None and stop.correct is not None and ask.correct != stop.correct:
            winner, loser = (ask, stop) if ask.correct else (stop, ask)
            yield _pair(fork, "ask_stop", "outcome", winner, loser)
        elif done:
            yield _pair(fork, "ask_stop", "stop_done", stop, ask)
        elif done is False and ask.phi is not None and ask.phi > rules.margin + EQUAL:
            yield _pair(fork, "ask_stop", "not_done", ask, stop)
        else:
            dropped["ask beside a stop that gained nothing"] += 1


def _gives_away(one: Decision, gold: Gold, dropped: Counter[str]) -> bool:
    if gives_away(one.question, gold.answers):
        dropped["holds the gold answer"] += 1
        return True
    return False


def _stop() -> Decision:
    """A STOP that nobody tried."""
    return Decision(-1, Stop(), 0.0, 0.0, -1, None)


def _pair(fork: Fork, kind: Kind, reason: Reason, chosen: Decision, rejected: Decision) -> Pair:
    ends = sorted((chosen.index, rejected.index))
    name = hashlib.sha256(f"{fork.key}/{ends[0]}/{ends[1]}".encode()).hexdigest()[:32]
    return Pair(name, kind, reason, chosen, rejected)
