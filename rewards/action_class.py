"""Whether the action (call, ask, decline, answer) is the row's own (arXiv 2511.08798 §4, r_cls)."""

from dataclasses import dataclass

from rewards.score import Score
from tasks.completion import Completion
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class Config:
    """No switches."""


def RANGE(config: Config) -> tuple[float, float]:
    """0 or 1."""
    return 0.0, 1.0


_RIGHT = Score(1.0, {}, "right action")


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """1 when the completion acts as the label says, else 0."""
    if completion.action == task.gold:
        return _RIGHT
    return Score(0.0, {}, f"{completion.action} where {task.gold} is right")
