"""What a move was worth by everything that came of it: the reward of training on policy.

An ask earns the value of its own turn and, over the horizon of an episode, those of the turns that followed;
a STOP costs what is still missing, and nothing when all is in hand. No judge: evidence and graph alone.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewards.consequence.decision import Worth, redundancy, value_of
from rollout.episode import Turn
from tasks.errors import InputError
from tasks.need_graph import Uid


@dataclass(frozen=True, slots=True)
class Return:
    """How far a move's consequences are counted, and how much."""

    horizon: Literal["turn", "episode"] = "episode"
    """`turn` counts the move's own turn alone."""
    discount: float = 1.0
    missing: float = 1.0
    """What a STOP costs where nothing has been found; in proportion where something has."""
    malformed: float = 1.0
    """What a text that is no move costs beyond the STOP that it counts for."""
    worth: Worth = field(default_factory=Worth)

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount <= 1.0:
            raise InputError(f"discount is {self.discount:g}; it is a share, 0 to 1")
        if self.missing < 0.0 or self.malformed < 0.0:
            raise InputError("missing and malformed are costs; they are at least 0")


def return_of(
    turns: Sequence[Turn], stopped: bool, evidence: Collection[str], wanted: Collection[Uid], rule: Return
) -> float | None:
    """The return of a move: `turns` begin with its own, a STOP has none. None where nothing is required.

    `stopped` says that the questioner ended the run; where the harness did, its end was no decision.
    """
    if not wanted:
        return None
    in_hand = set(evidence)
    total, factor = 0.0, 1.0
    for turn in turns:
        before = _found(in_hand, wanted)
        rho = redundancy(turn.retrieved, in_hand)
        in_hand.update(turn.retrieved)
        total += factor * value_of(_found(in_hand, wanted) - before, rho, rule.worth)
        factor *= rule.discount
        if rule.horizon == "turn":
            return total
    if stopped:
        total -= factor * rule.missing * (1.0 - _found(in_hand, wanted))
    return total


def _found(in_hand: Collection[str], wanted: Collection[Uid]) -> float:
    return sum(uid in in_hand for uid in wanted) / len(wanted)
