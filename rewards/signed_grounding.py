"""Grounded certainty that may also take reward away from a call (extension of arXiv 2511.08798).

    emitted call    pi * (r_tool + r_cls) - penalty * (1 - pi)
    other actions   r_tool + r_cls, unweighted

pi is the support of the emitted call by the user's text. Certainty in [0, 1] can only shrink what is right;
the signed form makes an invented call cost something even where the label calls it right. Stands in place of
`tool_match` and `action_class`.
"""

import math
from dataclasses import dataclass

from rewards import action_class, tool_match
from rewards.feasibility import EPSILON, Support, check_epsilon, support
from rewards.grounding import Rule
from rewards.score import Score
from tasks.completion import Completion
from tasks.errors import InputError
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class Config:
    """`support: product` falls to epsilon at one unsupported argument, `share` counts the supported ones."""

    penalty: float = 0.2
    support: Support = "product"
    grounding: Rule = "loose"
    epsilon: float = EPSILON
    credit: tool_match.Credit = "exact"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0.0 <= self.penalty < math.inf:
            raise InputError(f"penalty is {self.penalty}; it is subtracted, so it must be a number from 0 up")


def RANGE(config: Config) -> tuple[float, float]:
    """From a call without any support to the right call with all of it."""
    return -config.penalty, 2.0


def REPLACES(config: Config) -> tuple[str, ...]:
    """The rewards that this one stands in place of."""
    return "tool_match", "action_class"


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """Tool and class reward, weighted and charged by the support of an emitted call."""
    right = action_class.score(task, completion, action_class.Config())
    tool = tool_match.score(task, completion, tool_match.Config(config.credit))
    base = (right.value or 0.0) + (tool.value or 0.0)
    pi = emitted_support(task, completion, config.grounding, config.support, config.epsilon)
    if pi is None:
        return Score(base, {}, right.reason)
    return Score(
        pi * base - config.penalty * (1.0 - pi), {"support": pi}, f"{right.reason}, support {pi:.3g}"
    )


def emitted_support(
    task: ToolTask, completion: Completion, rule: Rule, form: Support, epsilon: float = EPSILON
) -> float | None:
    """Support of the call that the completion makes, of several the least one; None when it makes none."""
    if completion.action != "tool_call":
        return None
    return min((support(task, call, rule, form, epsilon) for call in completion.calls), default=0.0)
