"""One row of a data set as a typed task, and the set of tasks that a job reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from tasks.completion import Action
from tasks.tool_schema import ToolCall, ToolSchema


class Message(TypedDict):
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ToolTask:
    """A conversation, the tools at hand and the action that is right (arXiv 2504.18851).

    gold_call       the label's call; None unless `gold` is `tool_call`
    reference_call  what belief=reference and the certainty of the label are measured on: the gold call on
                    call rows; on ask rows the call with the held-out parameter UNKNOWN, if derivable
    label_call      the call exactly as the data gives it, on ask rows with its invented value
    held_out        the parameter that an ask row's question leaves out
    answers         candidate answers by class, where the data has them
    raw_tools       the tools as they stand in the row, for multiple choice
    source          the row itself
    """

    id: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    gold: Action
    gold_call: ToolCall | None = None
    reference_call: ToolCall | None = None
    label_call: ToolCall | None = None
    held_out: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    raw_tools: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict, repr=False)
    user_text: str = field(init=False, compare=False, repr=False)
    _tools_by_name: Mapping[str, ToolSchema] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Rewards ask for these on every completion.
        text = "\n".join(message["content"] for message in self.messages if message["role"] == "user")
        object.__setattr__(self, "user_text", text)
        # Of two tools with one name the first counts, as for a reader of the prompt.
        object.__setattr__(self, "_tools_by_name", {tool.name: tool for tool in reversed(self.tools)})

    def tool(self, name: str) -> ToolSchema | None:
        """Return the tool of this name, or None."""
        return self._tools_by_name.get(name)


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks in canonical order, counts of what was kept, skipped and derived, the SHA-256 of each source."""

    tasks: tuple[ToolTask, ...]
    counts: Mapping[str, int]
    hashes: Mapping[str, str]
