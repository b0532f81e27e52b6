"""The one parser of what a policy writes: action class, calls, format; for rewards, agents and evaluation.

A completion is `<reasoning>...</reasoning><answer>...</answer>`; a call stands inside the answer as Qwen's
`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`. Completions without these blocks, bare calls and
`<TOOLCALL>[{...}]</TOOLCALL>` are understood too (arXiv 2504.18851), they are only not well formed.

Model output is untrusted: nothing here raises on it, and all of it takes linear time.
"""

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.action_text import ACTIONS, Action, classify
from tasks.json_text import loads
from tasks.tool_types import UNKNOWN, ToolCall

__all__ = ["ACTIONS", "Action", "Completion", "parse", "render"]

_TAG = re.compile(r"<(/?)(reasoning|think|answer)>")
_CALL_OPEN = re.compile(r"<(?:tool_call|TOOLCALL)>")
_CALL_CLOSE = re.compile(r"</(?:tool_call|TOOLCALL)>")
_ACTION_OPEN = re.compile(r"<(?:answer|tool_call|TOOLCALL)>")
_ANSWER_EDGE = re.compile(r"</?answer>")
_CANONICAL = ["<reasoning>", "</reasoning>", "<answer>", "</answer>"]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a completion does.

    `calls` is empty for a tool_call whose JSON cannot be read. `well_formed`: one reasoning block, then one
    answer block, both closed, nothing but white space around them; else `problem` says in a short phrase what
    is wrong.
    """

    action: Action
    calls: tuple[ToolCall, ...]
    well_formed: bool
    reasoning: str
    answer: str
    problem: str

    @property
    def call(self) -> ToolCall | None:
        """The first call, if there is one."""
        return self.calls[0] if self.calls else None


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Completion:
    """Read a completion; never raises.

    What stands in a thought (`<reasoning>`, `<think>`, closed or not) is never a call. The first answer or
    bare call outside of thoughts counts. An unclosed answer runs to the end. A call tag makes it a tool_call.
    """
    tags = list(_TAG.finditer(text))
    problem = _format_problem(text, tags)
    reasoning, rest = _split_thoughts(text, tags)
    answer = _first_answer(rest)
    segments = _CALL_OPEN.split(answer)[1:]
    action = "tool_call" if segments else classify(answer)
    return Completion(action, _read_calls(segments), not problem, reasoning, answer, problem)


def render(reasoning: str, answer_or_call: str | ToolCall | Sequence[ToolCall]) -> str:
    """Write a completion in its canonical spelling; unknown arguments are written `<UNK>`."""
    if isinstance(answer_or_call, str):
        body = answer_or_call
    else:
        calls = [answer_or_call] if isinstance(answer_or_call, ToolCall) else answer_or_call
        body = "\n".join(f"<tool_call>\n{_dumps(call)}\n</tool_call>" for call in calls)
    return f"<reasoning>{reasoning}</reasoning>\n<answer>{body}</answer>"


def _dumps(call: ToolCall) -> str:
    value = {"name": call.name, "arguments": dict(call.arguments)}
    return json.dumps(value, ensure_ascii=False, default=str)


def _format_problem(text: str, tags: list[re.Match[str]]) -> str:
    """Return what is wrong with the blocks, in a short phrase; "" if nothing is."""
    names = [tag[0] for tag in tags]
    if names == _CANONICAL:
        outside = text[: tags[0].start()] + text[tags[1].end() : tags[2].start()] + text[tags[3].end() :]
        return "text outside the blocks" if outside.strip() else ""
    for word in ("reasoning", "answer"):
        opened = names.count(f"<{word}>")
        if opened != 1:
            return f"more than one {word} block" if opened else f"no {word} block"
        if f"</{word}>" not in names:
            return f"{word} is not closed"
    return "blocks out of order" if len(names) == len(_CANONICAL) else "stray tags"


def _split_thoughts(text: str, tags: list[re.Match[str]]) -> tuple[str, str]:
    """Return what stands inside of thoughts, and the rest."""
    thoughts: list[str] = []
    rest: list[str] = []
    inside, start, answering = "", 0, False
    for tag in tags:
        closing, name = tag[1] == "/", tag[2]
        if inside:
            if closing and name == inside:
                thoughts.append(text[start : tag.start()])
                inside, start = "", tag.end()
        elif name == "answer":
            answering = True
        elif not closing:
            rest.append(text[start : tag.start()])
            inside, start = name, tag.end()
        elif not answering:
            # The prompt opened the block, as the templates of reasoning models do: all so far was thought.
            thoughts += [*rest, text[start : tag.start()]]
            rest, start = [], tag.end()
    (thoughts if inside else rest).append(text[start:])
    # Joined by a line break, so that no new tag arises where a thought stood.
    return "\n".join(thoughts).strip(), "\n".join(rest).strip()


def _first_answer(rest: str) -> str:
    """Return the first answer block or bare call outside of thoughts; where there is neither, all of it."""
    first = _ACTION_OPEN.search(rest)
    if first is None:
        return rest
    start = first.end() if first[0] == "<answer>" else first.start()
    edge = _ANSWER_EDGE.search(rest, start)
    return rest[start : edge.start() if edge else len(rest)].strip()


def _read_calls(segments: list[str]) -> tuple[ToolCall, ...]:
    """Read what follows each call tag; one that cannot be read voids them all, for it would not execute."""
    calls: list[ToolCall] = []
    for segment in segments:
        try:
            value = loads(_CALL_CLOSE.split(segment, maxsplit=1)[0].strip())
            calls += [_read_call(item) for item in (value if isinstance(value, list) else [value])]
        except ValueError:
            return ()
    return tuple(calls)


def _read_call(value: Any) -> ToolCall:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError("not a call")
    arguments = value.get("arguments")
    if isinstance(arguments, str):
        arguments = loads(arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ValueError("arguments are not an object")
    marker = UNKNOWN.text
    return ToolCall(
        value["name"], {key: UNKNOWN if item == marker else item for key, item in arguments.items()}
    )
