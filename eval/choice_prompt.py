"""The prompts of When2Call's multiple-choice protocol (arXiv 2504.18851) and the four answers."""

from collections.abc import Mapping
from typing import Literal

from tasks.completion import ACTIONS
from tasks.errors import InputError
from tasks.tool_task import ToolTask

Variant = Literal["qwen", "plain"]

_SENTENCE = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
_TOOLS = """

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
_PLAIN = (
    "You are given a question and the tools that you may use. Call a tool, ask for what is missing, say that "
    "the question cannot be answered, or answer it."
)


def answers(task: ToolTask) -> Mapping[str, str]:
    """The row's four candidate answers by class, in its own order. Raises InputError unless all are there."""
    if set(task.answers) != set(ACTIONS) or not all(task.answers.values()):
        raise InputError(
            f"row {task.id}: multiple choice needs the answers {', '.join(ACTIONS)}; it has "
            f"{', '.join(task.answers) or 'none'} (only test rows carry all four)"
        )
    return task.answers


def prompt(task: ToolTask, variant: Variant) -> str:
    """The text that the answers continue; tools stand in it exactly as they stand in the row.

    `qwen`: Qwen2.5's chat format with its default system sentence. `plain`: the same without chat markup.
    Raises InputError for a row without four answers.
    """
    answers(task)
    tools = [tool.strip() for tool in task.raw_tools]
    if variant == "plain":
        listed = "".join(f"<tool>{tool}</tool>\n" for tool in tools)
        return f"{_PLAIN}\n\n{listed}\nQuestion: {task.user_text}\nAnswer: "
    section = _TOOLS.format(tools="\n".join(tools)) if tools else ""
    return (
        f"<|im_start|>system\n{_SENTENCE}{section}<|im_end|>\n"
        f"<|im_start|>user\n{task.user_text}<|im_end|>\n<|im_start|>assistant\n"
    )
