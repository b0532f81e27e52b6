"""The class reward times the certainty of the action (arXiv 2511.08798 §4, Eq. 12).

    Cert = max_c pi_c        for a tool call
         = 1 - max_c pi_c    for an ask
         = 1                 for a refusal and a direct answer

    scope: class    r = Cert * r_cls, in place of `action_class`
    scope: all      r = Cert * (r_fmt + r_tool + r_cls), in place of all three

The paper does not say which candidate calls define max_c pi_c in training; `belief` chooses:

    emitted      the call that the completion makes; none: max over the empty set is 0
    reference    the row's own call, with its held-out parameter unknown on ask rows
    grounded     the emitted call, in which an argument counts as given only if the user's text supports it

Certainty measures completeness. No term is negative, so the weight can only shrink what is right, and group
scaling cancels a factor that all completions of a prompt share.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rewards import action_class, format, tool_match
from rewards.feasibility import (
    EPSILON,
    Feasibility,
    Product,
    Which,
    check_epsilon,
    feasibility,
    grounded_feasibility,
    strongest,
)
from rewards.grounding import Rule
from rewards.score import Score
from tasks.completion import Completion
from tasks.tool_schema import ToolCall
from tasks.tool_task import ToolTask

Belief = Literal["emitted", "reference", "grounded"]


@dataclass(frozen=True, slots=True)
class Config:
    """Readings of the paper's formula; see the module's text and `docs/`."""

    belief: Belief = "grounded"
    parameters: Which = "required"
    scope: Literal["class", "all"] = "class"
    epsilon: float = EPSILON
    product: Product = "raw"
    """`normalised` divides by the sum over rival candidates. In training there is at most one, and one alone
    is certain whatever it leaves out: every call that can be read has certainty 1, every ask beside a
    reference call 0. It has a meaning for several candidates only."""
    grounding: Rule = "loose"
    credit: tool_match.Credit = "exact"
    """How `scope: all` counts the tool part."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)


def RANGE(config: Config) -> tuple[float, float]:
    """0 to 1 for `scope: class`, 0 to 3 for `scope: all`."""
    return 0.0, 3.0 if config.scope == "all" else 1.0


def REPLACES(config: Config) -> tuple[str, ...]:
    """The rewards that this one stands in place of."""
    return ("format", "tool_match", "action_class") if config.scope == "all" else ("action_class",)


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """Certainty times the class reward (or all three); the parts carry the certainty itself."""
    cert = certainty(task, completion, config)
    right = action_class.score(task, completion, _CLASS)
    base = right.value or 0.0
    if config.scope == "all":
        base += format.score(task, completion, _FORMAT).value or 0.0
        base += tool_match.score(task, completion, tool_match.Config(config.credit)).value or 0.0
    return Score(cert.value * base, {"certainty": cert.value}, _reason(cert, right))


def certainty(task: ToolTask, completion: Completion, config: Config) -> Feasibility:
    """Cert of the completion's action, in [0, 1], and the parameter in conflict if there is one."""
    if completion.action == "tool_call":
        return _strongest(task, completion, config)
    if completion.action == "request_for_info":
        best = _strongest(task, completion, config)
        return Feasibility(1.0 - best.value)
    return Feasibility(1.0)


def _strongest(task: ToolTask, completion: Completion, config: Config) -> Feasibility:
    """max_c pi_c over the candidates of `config.belief`: one, or none and then 0.

    Several calls emitted at once are not rival candidates (all would be executed): the least certain one
    stands for them.
    """
    calls: Iterable[ToolCall] = completion.calls
    if config.belief == "reference":
        calls = () if task.reference_call is None else (task.reference_call,)
    if config.belief == "grounded":
        found = [
            grounded_feasibility(task, c, config.grounding, config.parameters, config.epsilon) for c in calls
        ]
    else:
        found = [feasibility(task.tool(c.name), c, config.parameters, config.epsilon) for c in calls]
    if not found:
        return Feasibility(0.0)
    weakest = min(found, key=lambda one: one.value)
    return Feasibility(strongest([weakest.value], config.product), weakest.conflict)


def _reason(cert: Feasibility, right: Score) -> str:
    if not right.value:
        return right.reason
    # Quoted, for a model may call its tool anything, line breaks included.
    conflict = f", {cert.conflict[:40]!r} in conflict" if cert.conflict else ""
    return f"{right.reason}, certainty {cert.value:.3g}{conflict}"


_CLASS = action_class.Config()
_FORMAT = format.Config()
