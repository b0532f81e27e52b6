import json
from typing import Any

import pytest

from eval.choice_prompt import answers, encode, prompt
from rollout.generators import Item
from tasks.errors import InputError
from tasks.tool_task import ToolTask
from tasks.when2call import parse_row

# A spelling that no serialiser would give back: the prompt must not touch it.
TOOL = ' {"name":"f",  "parameters": {"type": "dict", "properties": {}, "required": []}}\n'
ANSWERS = {
    "direct": "d",
    "tool_call": '{"name": "f", "arguments": {}}',
    "request_for_info": "r?",
    "cannot_answer": "c",
}


def task(**change: Any) -> ToolTask:
    row = {
        "uuid": "u",
        "question": "Do {it}?",
        "correct_answer": "direct",
        "answers": ANSWERS,
        "tools": [TOOL, TOOL],
    }
    return parse_row({**row, **change}, "row 1")


def test_the_qwen_variant_is_qwens_own_chat_format() -> None:
    assert prompt(task(), "qwen") == (
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.\n\n"
        "# Tools\n\n"
        "You may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        f"{TOOL.strip()}\n{TOOL.strip()}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        "<tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nDo {it}?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_without_tools_it_has_no_tools_section() -> None:
    assert prompt(task(tools=[]), "qwen") == (
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nDo {it}?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_tools_section_is_the_one_of_the_tokenizers_template(qwen_tokenizer: Any) -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    system = {
        "role": "system",
        "content": "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
    }
    theirs = qwen_tokenizer.apply_chat_template(
        [system, {"role": "user", "content": "Do {it}?"}],
        tools=[tool],
        add_generation_prompt=True,
        tokenize=False,
    )
    assert prompt(task(tools=['{"name": "f"}']), "qwen") == theirs.replace(json.dumps(tool), '{"name": "f"}')


def test_the_plain_variant_has_no_markup_of_a_model() -> None:
    text = prompt(task(), "plain")
    assert text.count(f"<tool>{TOOL.strip()}</tool>\n") == 2
    assert text.endswith("Question: Do {it}?\nAnswer: ")
    assert "<|" not in text


@pytest.mark.parametrize("left", [{"direct": "d"}, {**ANSWERS, "cannot_answer": ""}])
def test_rows_without_four_answers_are_refused(left: dict[str, str]) -> None:
    with pytest.raises(InputError, match="row u: multiple choice needs the answers"):
        answers(task(answers=left))


def test_white_space_at_the_end_of_the_context_is_scored(qwen_tokenizer: Any) -> None:
    item = encode(qwen_tokenizer, "Answer: ", ["yes", "\nno"])
    assert qwen_tokenizer.decode(list(item.context)) == "Answer:"
    assert [qwen_tokenizer.decode(list(ids)) for ids in item.continuations] == [" yes", " \nno"]


def test_a_spelt_out_first_token_is_not_doubled() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2, "?": 3}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", unk_token="?")
    assert encode(tokenizer, "a ", ["b"]) == Item((0, 1), ((2,),))
    assert encode(tokenizer, "<s> a ", ["b"]) == Item((0, 1), ((2,),))
