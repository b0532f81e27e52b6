"""The class reward against a label corrected by its own call's certainty (extension of arXiv 2511.08798).

On rows labelled call or ask that carry a call, with s the support of that call by the user's text:

    P(call) = (1 - trust) * [label is call] + trust * s
    P(ask)  = (1 - trust) * [label is ask]  + trust * (1 - s)

and the completion earns P of its action, 0 for another one. Other rows earn the plain class reward. `trust` 0
is the label as it stands, 1 the text alone. Stands in place of `action_class`; with `scope: all` it adds s
times the tool reward and stands in place of `tool_match` too, so that a call that happens to match an
invented value earns nothing for it.
"""

from dataclasses import dataclass
from typing import Literal

from rewards import action_class, tool_match
from rewards.feasibility import EPSILON, Support, check_epsilon
from rewards.grounding import Rule
from rewards.label_certainty import label_support
from rewards.score import Score
from tasks.completion import Completion
from tasks.errors import InputError
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class Config:
    """How much the text may overrule the label, and how the text is read.

    `product` reads s as the chance that the call is complete; under `share` a call with one of two arguments
    unsaid still has s = 1/2, which favours asking too little.
    """

    trust: float = 0.5
    scope: Literal["class", "all"] = "class"
    support: Support = "product"
    grounding: Rule = "loose"
    epsilon: float = EPSILON

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0.0 <= self.trust <= 1.0:
            raise InputError(f"trust is {self.trust}; it must lie in [0, 1]")


def RANGE(config: Config) -> tuple[float, float]:
    """0 to 1; with `scope: all` 0 to 2."""
    return 0.0, 2.0 if config.scope == "all" else 1.0


def REPLACES(config: Config) -> tuple[str, ...]:
    """The rewards that this one stands in place of."""
    return ("action_class", "tool_match") if config.scope == "all" else ("action_class",)


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """The probability that the completion's action is right, given the label and the text."""
    s = label_support(task, config.grounding, config.support, config.epsilon)
    if s is None:
        plain = action_class.score(task, completion, action_class.Config())
        return plain if config.scope == "class" else _with_tool(plain, 1.0, task, completion)
    called = (1.0 - config.trust) * (task.gold == "tool_call") + config.trust * s
    earned = {"tool_call": called, "request_for_info": 1.0 - called}.get(completion.action, 0.0)
    by_class = Score(earned, {"label_support": s}, f"{completion.action} is right with chance {earned:.3g}")
    return by_class if config.scope == "class" else _with_tool(by_class, s, task, completion)


def _with_tool(by_class: Score, s: float, task: ToolTask, completion: Completion) -> Score:
    tool = tool_match.score(task, completion, tool_match.Config())
    if tool.value is None or by_class.value is None:
        return by_class
    earned = {**by_class.parts, "class": by_class.value, "tool": s * tool.value}
    return Score(by_class.value + s * tool.value, earned, f"{by_class.reason}; {tool.reason}")
