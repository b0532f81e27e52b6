"""The tools, tasks and completions of the worked examples, and group advantages by hand."""

import statistics
from collections.abc import Sequence

from tasks.completion import Action, Completion, parse, render
from tasks.tool_schema import UNKNOWN, ToolCall, ToolSchema, parse_tool
from tasks.tool_task import ToolTask

CUISINES = ["thai", "italian", "indian", "greek"]

BOOK_TABLE = parse_tool(
    {
        "name": "book_table",
        "parameters": {
            "type": "object",
            "properties": {
                "cuisine": {"type": "string", "enum": CUISINES},
                "city": {"type": "string"},
                "party_size": {"type": "integer", "minimum": 1, "maximum": 8},
                "outdoor": {"type": "boolean"},
            },
            "required": ["cuisine", "city", "party_size"],
        },
    }
)
ORDER_DELIVERY = parse_tool(
    {
        "name": "order_delivery",
        "parameters": {
            "type": "object",
            "properties": {"cuisine": {"type": "string", "enum": CUISINES}, "address": {"type": "string"}},
            "required": ["cuisine", "address"],
        },
    }
)
C1 = ToolCall("book_table", {"city": "Leeds", "party_size": 4})
C2 = ToolCall("book_table", {"cuisine": "thai"})
C3 = ToolCall("order_delivery")

FIND_TRAIN = parse_tool(
    {
        "name": "find_train",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "sleeper": {"type": "boolean"}},
            "required": ["city"],
        },
    }
)


def task(
    user: str,
    gold: Action,
    call: ToolCall | None = None,
    held_out: str | None = None,
    tools: Sequence[ToolSchema] = (FIND_TRAIN,),
) -> ToolTask:
    """A row with this text, label and call; `held_out` is unknown in the reference call of an ask row."""
    reference = call
    if gold == "request_for_info":
        reference = ToolCall(call.name, {**call.arguments, held_out: UNKNOWN}) if call and held_out else None
    return ToolTask(
        id=user,
        messages=({"role": "user", "content": user},),
        tools=tuple(tools),
        gold=gold,
        gold_call=call if gold == "tool_call" else None,
        reference_call=reference,
        label_call=call,
        held_out=held_out,
    )


def said(answer: str | ToolCall) -> Completion:
    """A well-formed completion with this answer."""
    return parse(render("Checked.", answer))


ASK = "Which city do you want to go to?"
DECLINE = "I'm sorry, I am unable to do that."
DIRECT = "Trains are a pleasant way to travel."


def advantages(rewards: Sequence[float]) -> list[float]:
    """Group-scaled: minus the mean, by the unbiased standard deviation plus 1e-4."""
    mean, spread = statistics.fmean(rewards), statistics.stdev(rewards)
    return [(reward - mean) / (spread + 1e-4) for reward in rewards]
