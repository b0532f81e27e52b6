"""The reward self-test of `askrl check`: gold earns everything, and what no one should write not more.

Runs on a few dozen rows of our own (`tasks/data/self_test.jsonl`), without a model, in well under a second.
"""

import random
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tasks
from rewards.stack import RewardStack, StackScore, build
from tasks.completion import render
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.tool_schema import ToolCall
from tasks.tool_task import ToolTask
from tasks.when2call import parse_row

ROWS = Path(tasks.__file__).parent / "data" / "self_test.jsonl"
NOISE_BYTES = 100_000

_PLAIN = ("format", "tool_match", "action_class")
_CERTAINTIES = ("certainty", "support", "label_support")
_THOUGHT = "What the tools need, against what was said."
_REFUSAL = "I'm sorry, I am unable to help with that."
_TOLERANCE = 1e-9
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """`ok`: every demand is met. `lines`: what was found, for a person; failures first."""

    ok: bool
    lines: tuple[str, ...]


def self_test(stack: RewardStack) -> SelfTestReport:
    """Hold a stack against gold and adversarial completions; a reward that raises is a failure."""
    rows = own_rows()
    failures = list(_plain_failures(rows))
    golds: list[StackScore] = []
    calls: list[StackScore] = []
    count = 0
    for task in rows:
        gold = _try(stack, task, gold_completion(task), "gold", failures)
        if gold is None:
            continue
        golds.append(gold)
        for name, text in adversaries(task).items():
            count += 1
            found = _try(stack, task, text, name, failures)
            if found is None:
                continue
            if found.completion.calls and task.reference_call is not None:
                calls.append(found)
            if found.total > gold.total + _TOLERANCE:
                failures.append(f"{task.id}: {name} earns {found.total:.4g}, gold {gold.total:.4g}")
    lines = failures[:_SHOWN]
    if len(failures) > _SHOWN:
        lines.append(f"... and {len(failures) - _SHOWN} more")
    if not failures:
        lines.append(f"gold: on average over {len(rows)} rows {', '.join(_means(golds))}")
        lines.append(f"adversarial: none of {count} completions earns more than gold")
    lines += _certainty_lines(golds)
    lines += _constant_lines(calls)
    return SelfTestReport(not failures, tuple(lines))


def gold_completion(task: ToolTask) -> str:
    """What the label calls right, in its canonical spelling."""
    return render(_THOUGHT, task.gold_call or task.answers[task.gold])


def adversaries(task: ToolTask) -> Mapping[str, str]:
    """Completions by name that must not earn more than gold."""
    gold = gold_completion(task)
    call = task.label_call or _some_call(task)
    other = next((tool.name for tool in task.tools if tool.name != call.name), "no_such_tool")
    invented = ToolCall(call.name, {**call.arguments, "invented_argument": "invented value"})
    swapped = ToolCall(call.name, {name: _other_value(value) for name, value in call.arguments.items()})
    body = _body(gold)
    found = {
        "empty": "",
        "truncated before its end": gold.removesuffix("</answer>"),
        "truncated in the middle": gold[: len(gold) // 2],
        "wrong tool": render(_THOUGHT, ToolCall(other, call.arguments)),
        "invented argument": render(_THOUGHT, invented),
        "invented values": render(_THOUGHT, swapped),
        "invented call": render(_THOUGHT, call),
        "call without arguments": render(_THOUGHT, ToolCall(call.name)),
        "two answers": f"{gold}\n<answer>{body}</answer>",
        "two answers that differ": f"{gold}\n<answer>{_REFUSAL}</answer>",
        "two calls": render(_THOUGHT, [call, swapped]),
        "refusal plus call": render(_THOUGHT, f"{_REFUSAL} {_body(render('', call))}"),
        "call in the reasoning": render(render("", call), ""),
        "100 kB of noise": _noise(),
    }
    return {name: text for name, text in found.items() if text != gold}


def _body(completion: str) -> str:
    """What stands in the answer of a canonical completion."""
    return completion.partition("<answer>")[2].removesuffix("</answer>")


@cache
def own_rows() -> tuple[ToolTask, ...]:
    """The rows of the self-test."""
    return tuple(parse_row(row, f"{ROWS.name}, row {number}") for number, row in read_rows(ROWS))


def _plain_failures(rows: tuple[ToolTask, ...]) -> Iterator[str]:
    plain = build([{"use": name} for name in _PLAIN])
    for task in rows:
        for name, score in plain.score(task, gold_completion(task)).columns.items():
            if score.value not in (1.0, None):
                yield f"{task.id}: {name} is {score.value} on gold ({score.reason})"


def _try(stack: RewardStack, task: ToolTask, text: str, name: str, failures: list[str]) -> StackScore | None:
    try:
        found = stack.score(task, text)
    except InputError as error:  # a user's own reward has failed
        failures.append(f"{task.id}: {name}: {error}")
        return None
    except Exception as error:
        failures.append(f"{task.id}: {name}: {type(error).__name__}: {error}")
        return None
    low, high = stack.range
    if not low - _TOLERANCE <= found.total <= high + _TOLERANCE:
        failures.append(
            f"{task.id}: {name} earns {found.total:.4g}, outside the declared {low:.4g} to {high:.4g}"
        )
    return found


def _some_call(task: ToolTask) -> ToolCall:
    """A call that a row without one could provoke."""
    if not task.tools:
        return ToolCall("no_such_tool", {"query": task.user_text})
    tool = task.tools[0]
    return ToolCall(tool.name, dict.fromkeys(tool.required, "something"))


def _other_value(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 917
    return "quite another value"


@cache
def _noise() -> str:
    """The same 100 kB in every run: half of it random characters, half of it pieces of the output format."""
    draw = random.Random(0)
    pieces = [
        "<answer>",
        "</answer>",
        "<reasoning>",
        "<tool_call>",
        "</tool_call>",
        '{"name": ',
        "[",
        "?",
        "sorry ",
    ]
    characters = [chr(draw.randrange(32, 0x2000)) for _ in range(NOISE_BYTES // 6)]
    text = "".join(characters) + "".join(draw.choice(pieces) for _ in range(NOISE_BYTES // 12))
    return text.encode()[:NOISE_BYTES].decode(errors="ignore")


def _means(golds: list[StackScore]) -> Iterator[str]:
    """Each reward of the stack with its mean over the rows to which it applies."""
    for name in golds[0].columns:
        values = [gold.columns[name].value for gold in golds]
        found = [value for value in values if value is not None]
        yield f"{name} {statistics.fmean(found):.4g}" if found else f"{name} does not apply"


def _certainty_lines(golds: list[StackScore]) -> Iterator[str]:
    """How much of the gold a certainty in the stack would hold back."""
    for name in golds[0].columns if golds else ():
        found = [
            (gold.completion.action, gold.columns[name].parts[part])
            for gold in golds
            for part in _CERTAINTIES
            if part in gold.columns[name].parts
            # The support of the label's call holds back a call; to a question it only adds.
            and (part != "label_support" or gold.completion.action == "tool_call")
        ]
        for action in dict.fromkeys(action for action, _ in found):
            values = [value for acted, value in found if acted == action]
            below = [value for value in values if value < 1.0]
            line = f"{name}: gold {action} below full certainty on {len(below)} of {len(values)} rows"
            yield f"{line} ({len(below) / len(values):.0%}), mean {statistics.fmean(values):.4g}"


def _constant_lines(calls: list[StackScore]) -> Iterator[str]:
    """Which certainties are 1 for every wrong call on rows that have one, and so tell no two calls apart."""
    for name in calls[0].columns if calls else ():
        if all(call.columns[name].parts.get("certainty") == 1.0 for call in calls):
            yield f"{name}: 1 for every call, invented ones too, so it decides nothing (product: normalised?)"
