"""The hand-made tasks as a module that a recipe's `task: {use: ...}` can name."""

from dataclasses import dataclass

from tasks.multi_hop import MultiHopSet
from tests.rollout.hand_roles import task


@dataclass(frozen=True, slots=True)
class Config:
    """How many tasks."""

    tasks: int = 6


def load(config: Config, seed: int) -> MultiHopSet:
    """The tasks `t0`, `t1` and so on."""
    return MultiHopSet(tuple(task(f"t{number}") for number in range(config.tasks)), {}, {})
