"""Certainty as a proper score (extension of arXiv 2511.08798).

    emitted call    1 - (pi - exact)^2
    other actions   r_cls                 1 for the labelled action, else 0

pi is the grounded certainty of the emitted call; exact is 1 if it is the gold call, else 0.
The quadratic (Brier) score is largest in expectation where pi is the true chance that the call is exactly
right, so a policy gains by making calls whose grounding tells the truth. It says nothing about which action
is right: on an ask row a call without any support has pi = 0, exact = 0 and the full score, the same as
asking. Name it beside `action_class` and `tool_match`, which rank the actions; it stands in place of neither.
"""

from dataclasses import dataclass

from rewards import action_class, tool_match
from rewards.feasibility import EPSILON, Support, check_epsilon
from rewards.grounding import Rule
from rewards.score import Score
from rewards.signed_grounding import emitted_support
from tasks.completion import Completion
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class Config:
    """How pi is measured."""

    support: Support = "product"
    grounding: Rule = "loose"
    epsilon: float = EPSILON

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)


def RANGE(config: Config) -> tuple[float, float]:
    """0 to 1."""
    return 0.0, 1.0


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """One minus the squared error of pi as a forecast of exactness."""
    pi = emitted_support(task, completion, config.grounding, config.support, config.epsilon)
    if pi is None:
        return action_class.score(task, completion, action_class.Config())
    exact = tool_match.is_exact(task, completion)
    reason = f"support {pi:.3g} of {'the right' if exact else 'another'} call"
    return Score(1.0 - (pi - exact) ** 2, {"support": pi, "exact": float(exact)}, reason)
