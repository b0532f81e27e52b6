import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks import when2call
from tasks.errors import InputError
from tasks.prompt import SYSTEM, drop_long, messages, prompt_ids, render_prompt
from tasks.tool_task import TaskSet, ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TOOL = {
    "name": "book",
    "description": "Book a table.",
    "parameters": {"type": "dict", "required": ["size"], "properties": {"size": {"type": "int"}}},
}


def task(
    question: str = "A table, please.", tools: list[Any] | None = None, system: str | None = None
) -> ToolTask:
    turns = [{"role": "system", "content": system}] if system else []
    turns += [{"role": "user", "content": question}, {"role": "assistant", "content": "Done."}]
    return when2call.parse_row({"messages": turns, "tools": [TOOL] if tools is None else tools}, "row 1")


def test_the_instructions_come_first_and_name_every_tag() -> None:
    first, second = messages(task())
    assert first == {"role": "system", "content": SYSTEM}
    assert second == {"role": "user", "content": "A table, please."}
    for tag in ("<reasoning>", "</reasoning>", "<answer>", "</answer>", "<tool_call>", "</tool_call>"):
        assert tag in SYSTEM


def test_a_system_turn_of_the_row_is_kept_behind_them() -> None:
    first, second = messages(task(system="Today is Monday."))
    assert first["content"] == f"{SYSTEM}\n\nToday is Monday."
    assert second["role"] == "user"


def test_qwen_renders_the_tools_of_the_row(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    text = render_prompt(task(), qwen_tokenizer)
    listed = text.split("<tools>\n")[1].split("\n</tools>")[0].splitlines()
    assert [json.loads(line) for line in listed] == [
        {
            "type": "function",
            "function": {
                "name": "book",
                "description": "Book a table.",
                "parameters": {
                    "type": "object",
                    "properties": {"size": {"type": "integer"}},
                    "required": ["size"],
                },
            },
        }
    ]
    assert text.startswith(f"<|im_start|>system\n{SYSTEM}")
    assert "<|im_start|>user\nA table, please.<|im_end|>\n<|im_start|>assistant\n" in text
    assert "<tools>" not in render_prompt(task(tools=[]), qwen_tokenizer)


def test_ids_are_those_of_the_text(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    ids = prompt_ids(task(), qwen_tokenizer)
    assert qwen_tokenizer.decode(ids) == render_prompt(task(), qwen_tokenizer)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(min_size=1).filter(str.strip), name=st.text("abc_", min_size=1))
def test_the_prompt_is_a_pure_function_of_the_task(
    qwen_tokenizer: "PreTrainedTokenizerBase", question: str, name: str
) -> None:
    first, second = (task(question, [{**TOOL, "name": name}]) for _ in range(2))
    text = render_prompt(first, qwen_tokenizer)
    assert text == render_prompt(second, qwen_tokenizer)
    assert question in text


def test_a_tokenizer_without_a_template_is_an_input_error() -> None:
    class Bare:
        chat_template = None
        name_or_path = "some/base"

    with pytest.raises(InputError, match=r"some/base: .*no chat template"):
        render_prompt(task(), Bare())


def test_long_prompts_are_dropped_and_counted(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    short, long = task(), task("please " * 400)
    tasks = TaskSet((short, long), {"kept": 2}, {})
    limit = len(prompt_ids(short, qwen_tokenizer))
    kept = drop_long(tasks, qwen_tokenizer, limit)
    assert kept.tasks == (short,)
    assert kept.counts == {"kept": 1, "prompt_too_long": 1}
    assert drop_long(tasks, qwen_tokenizer, None) is tasks
    with pytest.raises(InputError, match=f"the shortest has {limit}"):
        drop_long(tasks, qwen_tokenizer, limit - 1)


def test_real_rows_render_with_all_of_their_tools(
    real_rows: Path, qwen_tokenizer: "PreTrainedTokenizerBase"
) -> None:
    tasks = when2call.load(when2call.Config(test=real_rows / "test_llm_judge.jsonl"), "test", seed=0).tasks
    for one in tasks:
        text = render_prompt(one, qwen_tokenizer)
        assert one.user_text in text
        assert all(f'"name": {json.dumps(tool.name)}' in text for tool in one.tools)
