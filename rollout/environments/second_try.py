"""A reply that cannot be read is said to be so, and the model may try again."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.completion import parse
from tasks.tool_task import Message, ToolTask

SAID = "i cannot use that: {problem}. please do it as <reasoning>…</reasoning><answer>…</answer>"
"""In words that the miniature world's tokenizer knows."""


@dataclass(frozen=True, slots=True)
class Config:
    """Nothing to choose."""


def reply(task: ToolTask, turns: Sequence[str], config: Config) -> Sequence[Message] | None:
    """One user turn that names what was wrong with the last reply; None when nothing was."""
    last = parse(turns[-1])
    if last.well_formed:
        return None
    return ({"role": "user", "content": SAID.format(problem=last.problem)},)
