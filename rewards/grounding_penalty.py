"""A charge for what a call says beyond the user's text (extension of arXiv 2511.08798).

    emitted call    -(1 - support)
    other actions   0

Used beside the unweighted rewards with a small weight and a warm-up (`weight: 0.2, warmup_steps: 40`): a
policy that still copies arguments badly is not driven away from calling before it has learned to copy.
"""

from dataclasses import dataclass

from rewards.feasibility import EPSILON, Support, check_epsilon
from rewards.grounding import Rule
from rewards.score import Score
from rewards.signed_grounding import emitted_support
from tasks.completion import Completion
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class Config:
    """`support: share` counts supported required arguments, `product` falls to epsilon at one slip."""

    support: Support = "share"
    grounding: Rule = "loose"
    epsilon: float = EPSILON

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)


def RANGE(config: Config) -> tuple[float, float]:
    """A penalty: -1 to 0."""
    return -1.0, 0.0


_NO_CALL = Score(0.0, {}, "no call")


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """Minus the unsupported part of an emitted call."""
    found = emitted_support(task, completion, config.grounding, config.support, config.epsilon)
    if found is None:
        return _NO_CALL
    return Score(found - 1.0, {"support": found}, f"support {found:.3g}")
