"""The prompt of a tool task: what the model is told, in its own chat template, with the row's own tools.

Completions follow one contract, `<reasoning>…</reasoning><answer>…</answer>` (arXiv 2511.08798 rewards it but
prints no prompt, so the words are ours); `tasks.completion` reads it back.
"""

from typing import TYPE_CHECKING

from tasks.errors import InputError
from tasks.tool_schema import to_openai
from tasks.tool_task import Message, TaskSet, ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SYSTEM = """\
You decide what to do with a request: use a tool, ask the user, decline, or answer. Write exactly two blocks:
<reasoning>which tool fits, which required values the user has given, which are missing</reasoning>
<answer>one of the four below, nothing else</answer>

In <answer>:
1. A tool fits and the user has given every required value: one call,
<tool_call>{"name": …, "arguments": {…}}</tool_call>
2. A tool fits but a required value is missing: one question that asks the user for it. Never make a value up.
3. No tool fits and you cannot do it without one: say so in one sentence.
4. No tool is needed: the answer itself."""


def messages(task: ToolTask) -> tuple[Message, ...]:
    """The conversation as it is sent: `SYSTEM` (before the row's own system text, if any), then the turns."""
    first, *rest = task.messages
    if first["role"] == "system":
        return ({"role": "system", "content": f"{SYSTEM}\n\n{first['content']}"}, *rest)
    return ({"role": "system", "content": SYSTEM}, *task.messages)


def render_prompt(task: ToolTask, tokenizer: "PreTrainedTokenizerBase") -> str:
    """The prompt up to and including the opened assistant turn: a pure function of (task, chat template).

    Native thinking is off where a template knows the switch: `<reasoning>` takes its place.
    Raises InputError when the tokenizer has no chat template.
    """
    if not tokenizer.chat_template:
        where = tokenizer.name_or_path or type(tokenizer).__name__
        raise InputError(f"{where}: the tokenizer has no chat template; use an instruct model, or add one")
    tools = [to_openai(tool) for tool in task.tools]
    turns = list(messages(task))
    switches = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
    return str(tokenizer.apply_chat_template(turns, tools=tools or None, **switches))


def prompt_ids(task: ToolTask, tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """Token ids of `render_prompt`; the template has already written every special token."""
    ids: list[int] = tokenizer(render_prompt(task, tokenizer), add_special_tokens=False)["input_ids"]
    return ids


def drop_long(tasks: TaskSet, tokenizer: "PreTrainedTokenizerBase", max_tokens: int | None) -> TaskSet:
    """Tasks whose prompt has at most `max_tokens` tokens (None: all); the rest counts as `prompt_too_long`.

    Raises InputError when nothing is left.
    """
    if max_tokens is None:
        return tasks
    lengths = [len(prompt_ids(task, tokenizer)) for task in tasks.tasks]
    kept = tuple(task for task, length in zip(tasks.tasks, lengths, strict=True) if length <= max_tokens)
    if lengths and not kept:
        raise InputError(f"no prompt has at most {max_tokens} tokens; the shortest has {min(lengths)}")
    counts = {**tasks.counts, "kept": len(kept), "prompt_too_long": len(lengths) - len(kept)}
    return TaskSet(kept, counts, tasks.hashes)
