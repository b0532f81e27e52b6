"""Whether the call is the reference call: the same tool and typed arguments (arXiv 2511.08798 §4, r_tool)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rewards.per_task import per_task
from rewards.score import Score
from tasks.completion import Completion
from tasks.same_value import same
from tasks.tool_schema import MISMATCH, MISSING, Json, ToolCall, ToolSchema, coerce
from tasks.tool_task import ToolTask

Credit = Literal["exact", "partial"]


@dataclass(frozen=True, slots=True)
class Config:
    """`exact`: 1 or 0. `partial`: half name, half F1 of the arguments; nothing for another tool."""

    credit: Credit = "exact"


def RANGE(config: Config) -> tuple[float, float]:
    """0 to 1; rows whose label is not a call give no value."""
    return 0.0, 1.0


_NOT_APPLICABLE = Score(None, {}, "the label is not a call")
_NO_CALL = Score(0.0, {}, "no call")
_RIGHT = Score(1.0, {}, "right call")


def score(task: ToolTask, completion: Completion, config: Config) -> Score:
    """Compare the completion's call with the gold call; of several calls each is worth its share.

    Arguments are compared in their declared types; an optional argument equal to its schema default equals
    its absence.
    """
    if task.gold_call is None:
        return _NOT_APPLICABLE
    call = completion.call
    if call is None:
        return _NO_CALL
    if call.name != task.gold_call.name:
        return Score(0.0, {}, "another tool")
    gold, found = _gold_arguments(task), typed_arguments(task.tool(call.name), call)
    wrong = [name for name, value in found.items() if name not in gold or not same(value, gold[name])]
    several = len(completion.calls) > 1
    if len(found) == len(gold) and not wrong and not several:
        return _RIGHT
    reason = _reason(gold, found, wrong, several)
    if config.credit == "exact":
        return Score(0.0, {}, reason)
    agree = len(found) - len(wrong)
    f1 = 2 * agree / (len(found) + len(gold)) if found or gold else 1.0
    return Score((0.5 + 0.5 * f1) / len(completion.calls), {"argument_f1": f1}, reason)


def is_exact(task: ToolTask, completion: Completion) -> bool:
    """Whether the completion makes the gold call and no other; never on rows whose label is not a call."""
    return score(task, completion, _EXACT).value == 1.0


def typed_arguments(tool: ToolSchema | None, call: ToolCall) -> Mapping[str, Json]:
    """A call's arguments in declared types, without optional ones that say what their schema's default says.

    A value that cannot be of the declared type stays as written.
    """
    if tool is None:
        return call.arguments
    found = {}
    for name, value in call.arguments.items():
        parameter = tool.parameter(name)
        if parameter is not None:
            typed = coerce(value, parameter)
            value = value if typed is MISMATCH else typed
            if not parameter.required and parameter.default is not MISSING and same(value, parameter.default):
                continue
        found[name] = value
    return found


@per_task
def _gold_arguments(task: ToolTask) -> Mapping[str, Json]:
    assert task.gold_call is not None
    return typed_arguments(task.tool(task.gold_call.name), task.gold_call)


def _reason(gold: Mapping[str, Json], found: Mapping[str, Json], wrong: list[str], several: bool) -> str:
    if wrong:
        return f"{'wrong' if wrong[0] in gold else 'unexpected'} argument {wrong[0][:40]!r}"
    missing = next((name for name in gold if name not in found), None)
    if missing is not None:
        return f"argument {missing!r} is missing"
    return "more than one call" if several else "right call"


_EXACT = Config()
