"""How certain a call is: parameter certainty, feasibility and belief (arXiv 2511.08798 §3).

    p(theta) = 1          the value is given, or one value remains in the domain
             = 1 / |D|    not given, finite domain of size |D|
             = epsilon    not given, unbounded domain
    pi       = product of p over the tool's parameters

A given value outside the domain after coercion to the declared type, or an empty domain, is a conflict: p =
0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.grounding import Rule, is_default, supported
from tasks.errors import InputError
from tasks.tool_schema import MISMATCH, UNKNOWN, Json, Parameter, ToolCall, ToolSchema, coerce
from tasks.tool_task import ToolTask

Which = Literal["required", "all"]
Product = Literal["raw", "normalised"]
Support = Literal["product", "share"]

EPSILON = 1e-4


def check_epsilon(epsilon: float) -> None:
    """Raise `InputError` unless it can be a certainty: above 0, which means conflict, and at most 1."""
    if not 0.0 < epsilon <= 1.0:
        raise InputError(f"epsilon is {epsilon}; it must lie in (0, 1]")


@dataclass(frozen=True, slots=True)
class Feasibility:
    """The product of a call's parameter certainties, in [0, 1], and what is in conflict ("" if nothing)."""

    value: float
    conflict: str = ""


def parameter_certainty(
    parameter: Parameter, value: Json = UNKNOWN, epsilon: float = EPSILON, *, given: bool = True
) -> float:
    """p(theta) of one argument; `given=False` treats a value that is there as not given (it is not grounded).

    0 means conflict: no p of a consistent call is 0.
    """
    size = parameter.domain.size
    if size == 0:
        return 0.0
    if value is not UNKNOWN:
        if is_default(value, parameter):
            return 1.0
        typed = coerce(value, parameter)
        if typed is MISMATCH or not parameter.domain.contains(typed):
            return 0.0
        if given:
            return 1.0
    return epsilon if size is None else 1.0 / size


def feasibility(
    tool: ToolSchema | None,
    call: ToolCall,
    parameters: Which = "required",
    epsilon: float = EPSILON,
    given: Callable[[Parameter, Json], bool] | None = None,
) -> Feasibility:
    """Feasibility of a candidate call; `given` says which written values count as given (None: all of them).

    A call to a tool that is not offered (None) has no belief at all: 0, in conflict with the tool's name.
    """
    if tool is None:
        return Feasibility(0.0, call.name)
    product = 1.0
    for parameter in tool.parameters:
        if parameters == "required" and not parameter.required:
            continue
        value = call.arguments.get(parameter.name, UNKNOWN)
        counts = value is UNKNOWN or given is None or given(parameter, value)
        certainty = parameter_certainty(parameter, value, epsilon, given=counts)
        if certainty == 0.0:
            return Feasibility(0.0, parameter.name)
        product *= certainty
    return Feasibility(product)


def grounded_feasibility(
    task: ToolTask, call: ToolCall, rule: Rule, parameters: Which = "required", epsilon: float = EPSILON
) -> Feasibility:
    """Feasibility of a call whose arguments count as given only if the user's text supports them."""

    def given(parameter: Parameter, value: Json) -> bool:
        return supported(task, parameter, value, rule)

    return feasibility(task.tool(call.name), call, parameters, epsilon, given)


def support(task: ToolTask, call: ToolCall, rule: Rule, form: Support, epsilon: float = EPSILON) -> float:
    """How far the user's text supports a call, in [0, 1].

    `product` is the grounded feasibility. `share` is the share of required arguments that are written, fit
    their domain and are supported (1 when the tool requires none): forgiving where the product falls to
    epsilon at one slip. A tool that is not offered has none.
    """
    if form == "product":
        return grounded_feasibility(task, call, rule, epsilon=epsilon).value
    tool = task.tool(call.name)
    if tool is None:
        return 0.0
    required = [parameter for parameter in tool.parameters if parameter.required]
    if not required:
        return 1.0
    return sum(_is_supported(task, parameter, call, rule) for parameter in required) / len(required)


def _is_supported(task: ToolTask, parameter: Parameter, call: ToolCall, rule: Rule) -> bool:
    value = call.arguments.get(parameter.name, UNKNOWN)
    return (
        value is not UNKNOWN
        and parameter_certainty(parameter, value) == 1.0
        and supported(task, parameter, value, rule)
    )


def belief(feasibilities: Sequence[float], product: Product = "raw") -> tuple[float, ...]:
    """The candidates' beliefs: their feasibilities, or those divided by their sum (all zero: uniform)."""
    if product == "raw":
        return tuple(feasibilities)
    total = sum(feasibilities)
    if total > 0.0:
        return tuple(value / total for value in feasibilities)
    return tuple(1.0 / len(feasibilities) for _ in feasibilities)


def strongest(feasibilities: Sequence[float], product: Product = "raw") -> float:
    """max_c pi_c; 0 for no candidates (project choice)."""
    return max(belief(feasibilities, product), default=0.0)
