"""Imitation rows from forked states: STOP where all is in hand, else the best ask if it led somewhere."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.consequence.decision import EQUAL, Decision, done_before
from rewards.consequence.pairs import best
from rollout.forks import Fork
from tasks.answer_match import gives_away
from tasks.move import Stop, spell
from tasks.multi_hop import Gold

Gate = Literal["phi", "value"]
"""What has to clear the threshold: the gain in coverage (as released), or the value."""

Kind = Literal["ask", "stop"]


@dataclass(frozen=True, slots=True)
class Row:
    """A state and the move to imitate there. `id` is that of its content: equal rows are one."""

    id: str
    kind: Kind
    target: str


def row(
    fork: Fork,
    found: Sequence[Decision],
    gold: Gold,
    gate: Gate,
    threshold: float,
    dropped: Counter[str],
) -> Row | None:
    """The row of a state, or None, counted, where nothing that was tried there deserves imitation."""
    done = done_before(fork, gold)
    if done is None:
        dropped["nothing required"] += 1
        return None
    if done:
        return _row(fork, "stop", spell(Stop()))
    asks = [one for one in found if one.asks and not gives_away(one.question, gold.answers)]
    if not asks:
        dropped["no ask"] += 1
        return None
    chosen = best(asks)
    measured = chosen.phi if gate == "phi" else chosen.value
    if measured is None or measured <= threshold + EQUAL:
        dropped["best ask under the gate"] += 1
        return None
    return _row(fork, "ask", spell(chosen.move))


def weights(counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], float]:
    """Of the rows of each (task, kind): 1/sqrt(their number), scaled to a mean of 1 within the kind.

    A task with many states counts more than one with few, but not as many times more.
    """
    rows: Counter[str] = Counter()
    mass: dict[str, float] = {}
    for (_, kind), number in counts.items():
        rows[kind] += number
        mass[kind] = mass.get(kind, 0.0) + math.sqrt(number)
    return {
        (task, kind): rows[kind] / mass[kind] / math.sqrt(number) for (task, kind), number in counts.items()
    }


def _row(fork: Fork, kind: Kind, target: str) -> Row:
    content = "\x1f".join((fork.suite, fork.task, fork.prompt, target))
    return Row(hashlib.sha256(content.encode("utf-8", errors="replace")).hexdigest()[:32], kind, target)
