"""How far a row's own call speaks for its label: the quantity behind `certain_label` and the row weight.

On a row labelled call, a label call whose values stand in the user's text confirms the label; on a row
labelled ask, it contradicts it (nothing was missing). Rows labelled otherwise, or without a call, say
nothing.
"""

from rewards.feasibility import EPSILON, Support, support
from rewards.grounding import Rule
from rewards.per_task import per_task
from tasks.tool_task import ToolTask


def label_support(
    task: ToolTask, grounding: Rule = "loose", form: Support = "share", epsilon: float = EPSILON
) -> float | None:
    """Support s in [0, 1] of the row's call by the user's text; None where the row says nothing."""
    return _label_support(task, grounding, form, epsilon)


@per_task
def _label_support(task: ToolTask, grounding: Rule, form: Support, epsilon: float) -> float | None:
    if task.label_call is None or task.gold not in ("tool_call", "request_for_info"):
        return None
    return support(task, task.label_call, grounding, form, epsilon)


def label_reliability(
    task: ToolTask, grounding: Rule = "loose", form: Support = "share", epsilon: float = EPSILON
) -> float:
    """Weight of a row in [0, 1]: s on rows labelled call, 1 - s on rows labelled ask, 1 elsewhere."""
    s = label_support(task, grounding, form, epsilon)
    if s is None:
        return 1.0
    return s if task.gold == "tool_call" else 1.0 - s
