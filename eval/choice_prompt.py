"""The prompts of When2Call's multiple-choice protocol (arXiv 2504.18851) and the four answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rollout.generators import Item
from tasks.completion import ACTIONS
from tasks.errors import InputError
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def encode(tokenizer: "PreTrainedTokenizerBase", context: str, continuations: Sequence[str]) -> Item:
    """Tokens of a non-empty context and its continuations.

    White space at the end of the context moves to the continuations; both are tokenised as one text and cut
    at the length of the context's own tokens; a context that spells out its first special token gets no
    second one. All as lm-evaluation-harness does.
    """
    bare = context.rstrip()
    tail = context[len(bare) :]
    special = not (tokenizer.bos_token and bare.startswith(tokenizer.bos_token))
    head, *wholes = (
        tokenizer(text, add_special_tokens=special)["input_ids"]
        for text in (bare, *(bare + tail + continuation for continuation in continuations))
    )
    return Item(tuple(head), tuple(tuple(whole[len(head) :]) for whole in wholes))
