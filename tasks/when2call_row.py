"""One row of When2Call (arXiv 2504.18851) as a task, in any of the three formats that the data set has.

* test rows: `question, correct_answer, answers{class: text}, tools`, on ask rows also `held_out_param`;
* preference rows: `messages, tools, chosen_response, rejected_response`;
* supervised rows: `messages` that end with the assistant's answer, `tools`.

Only test rows carry a class; for the others it is derived from the text of the good answer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tasks.completion import ACTIONS, parse
from tasks.errors import InputError
from tasks.held_out import derive_held_out
from tasks.json_text import loads
from tasks.tool_schema import UNKNOWN, ToolCall, ToolSchema, parse_tool
from tasks.tool_task import Message, ToolTask

Row = Mapping[str, Any]


class UnusableRow(InputError):
    """A well-formed row that cannot become a task; `reason` is the key it is counted under."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason.replace('_', ' ')}")
        self.reason = reason


def parse_row(row: Row, where: str) -> ToolTask:
    """One row of any of the three formats as a task.

    `where` (file and row number) opens every message. Raises InputError when the row is malformed or has no
    user turn, UnusableRow when it is well-formed and still cannot be used (an empty answer, a gold call that
    cannot be read, has company, or names a tool that the row does not offer).
    """
    if not isinstance(row, Mapping) or not row:
        raise InputError(f"{where}: the row is empty or not a JSON object")
    if "answers" in row or "correct_answer" in row:
        return _test_row(row, where)
    if "chosen_response" in row or "rejected_response" in row:
        return _preference_row(row, where)
    if "messages" in row:
        return _supervised_row(row, where)
    raise InputError(
        f"{where}: not a When2Call row; it needs answers and correct_answer (test), "
        f"messages and chosen_response (train_pref), or messages (train_sft); it has {sorted(row)[:8]}"
    )


def _test_row(row: Row, where: str) -> ToolTask:
    question = _text(row, "question", where)
    if not question.strip():
        raise InputError(f"{where}: no user turn (question is empty)")
    answers = {str(k): v for k, v in _mapping(row, "answers", where).items() if isinstance(v, str)}
    gold = row.get("correct_answer")
    if gold not in ACTIONS:
        raise InputError(f"{where}: correct_answer is {gold!r}; it must be one of {', '.join(ACTIONS)}")
    if gold not in answers:
        raise InputError(f"{where}: answers has no text for the correct answer {gold!r}")
    tools, raw = _tools(row, where)
    label = held_out = None
    if gold in ("tool_call", "request_for_info") and answers.get("tool_call"):
        label = _json_call(answers["tool_call"])
    if gold == "tool_call":
        label = _offered(label, tools, where)
    if gold == "request_for_info":
        held_out = row.get("held_out_param") or None
        if held_out is not None and not isinstance(held_out, str):
            raise InputError(f"{where}: held_out_param is {held_out!r}; it must be a parameter's name")
    identity = str(row.get("uuid") or _identity(row))
    user: tuple[Message, ...] = ({"role": "user", "content": question},)
    return _task(identity, user, tools, raw, gold, label, held_out, answers, row)


def _preference_row(row: Row, where: str) -> ToolTask:
    turns = _messages(row, where)
    chosen, rejected = (_response(row, key, where) for key in ("chosen_response", "rejected_response"))
    tools, raw = _tools(row, where)
    good, bad = parse(chosen), parse(rejected)
    if not chosen.strip():
        raise UnusableRow(where, "empty_answer")
    label = held_out = None
    if good.action == "tool_call":
        label = _only_call(good.calls, tools, where)
    elif good.action == "request_for_info" and bad.call is not None:
        label = bad.call  # the invented call that the chosen answer avoids
        tool = next((t for t in tools if t.name == label.name), None)
        if tool is not None:
            said = "\n".join(turn["content"] for turn in turns if turn["role"] == "user")
            held_out = derive_held_out(tool, label, said, chosen)
    answers: dict[str, str] = {bad.action: rejected}
    answers[good.action] = chosen  # last: it wins when both have one class
    return _task(_identity(row), turns, tools, raw, good.action, label, held_out, answers, row)


def _supervised_row(row: Row, where: str) -> ToolTask:
    *turns, last = _messages(row, where)
    if last["role"] != "assistant":
        raise InputError(f"{where}: messages must end with the assistant's answer, not with {last['role']}")
    tools, raw = _tools(row, where)
    answer = parse(last["content"])
    if not last["content"].strip():
        raise UnusableRow(where, "empty_answer")
    label = _only_call(answer.calls, tools, where) if answer.action == "tool_call" else None
    answers: dict[str, str] = {answer.action: last["content"]}
    return _task(_identity(row), tuple(turns), tools, raw, answer.action, label, None, answers, row)


def _task(
    identity: str, turns: Sequence[Message], tools: tuple[ToolSchema, ...], raw: tuple[str, ...], gold: Any,
    label: ToolCall | None, held_out: str | None, answers: Mapping[str, str], row: Row,
) -> ToolTask:  # fmt: skip
    reference = label
    if gold == "request_for_info":
        # Without a held-out parameter the call would pass for complete: better no candidate than a wrong one.
        reference = None
        if label is not None and held_out is not None:
            reference = ToolCall(label.name, {**label.arguments, held_out: UNKNOWN})
    return ToolTask(
        id=identity, messages=tuple(turns), tools=tools, gold=gold,
        gold_call=label if gold == "tool_call" else None, reference_call=reference, label_call=label,
        held_out=held_out, answers=answers, raw_tools=raw, source=row,
    )  # fmt: skip


def _only_call(calls: Sequence[ToolCall], tools: Sequence[ToolSchema], where: str) -> ToolCall:
    if len(calls) > 1:
        raise UnusableRow(where, "several_calls")
    return _offered(calls[0] if calls else None, tools, where)


def _offered(call: ToolCall | None, tools: Sequence[ToolSchema], where: str) -> ToolCall:
    if call is None:
        raise UnusableRow(where, "unreadable_call")
    if all(tool.name != call.name for tool in tools):
        raise UnusableRow(where, "call_to_unknown_tool")
    return call


def _json_call(text: str) -> ToolCall | None:
    try:
        call = loads(text)
        name, arguments = call["name"], call["arguments"]
        arguments = loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, TypeError, KeyError):
        return None
    return ToolCall(name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


def _messages(row: Row, where: str) -> tuple[Message, ...]:
    turns = row.get("messages")
    if not isinstance(turns, Sequence) or isinstance(turns, str) or not turns:
        raise InputError(f"{where}: messages must be a non-empty list of {{role, content}}")
    for turn in turns:
        texts = (turn.get("role"), turn.get("content")) if isinstance(turn, Mapping) else (None,)
        if not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"{where}: a turn in messages lacks the text role or content: {str(turn)[:50]!r}"
            )
    if not any(turn["role"] == "user" and turn["content"].strip() for turn in turns):
        raise InputError(f"{where}: no user turn in messages")
    return tuple(cast(Message, {"role": turn["role"], "content": turn["content"]}) for turn in turns)


def _tools(row: Row, where: str) -> tuple[tuple[ToolSchema, ...], tuple[str, ...]]:
    listed = row.get("tools")
    if isinstance(listed, str):
        try:
            listed = loads(listed)
        except ValueError as error:
            raise InputError(f"{where}: tools is text but not JSON ({error})") from None
    if listed is None:
        listed = []
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InputError(f"{where}: tools must be a list of schemas, not {type(listed).__name__}")
    raw = tuple(tool if isinstance(tool, str) else json.dumps(tool, ensure_ascii=False) for tool in listed)
    return tuple(parse_tool(tool, f"{where}, tool {i}") for i, tool in enumerate(listed, 1)), raw


def _response(row: Row, key: str, where: str) -> str:
    value = row.get(key)
    if isinstance(value, Mapping):
        return _text(value, "content", f"{where}, {key}")
    return _text(row, key, where)


def _text(row: Row, key: str, where: str) -> str:
    if not isinstance(row.get(key), str):
        raise InputError(f"{where}: {key} must be text, not {type(row.get(key)).__name__}")
    return str(row[key])


def _mapping(row: Row, key: str, where: str) -> Row:
    value = row.get(key)
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: {key} must be an object, not {type(value).__name__}")
    return value


def _identity(row: Row) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True, default=str).encode()).hexdigest()[:16]
