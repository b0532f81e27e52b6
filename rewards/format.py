"""Whether the completion is one reasoning block, then one answer block (arXiv 2511.08798 §4, r_fmt)."""

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


_GOOD = Score(1.0, {}, "well formed")


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """1 when the parser found the form that the prompt asks for, else 0 with the parser's own words."""
    return _GOOD if completion.well_formed else Score(0.0, {}, completion.problem)
