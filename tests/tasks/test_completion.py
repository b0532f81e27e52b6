import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.completion import ACTIONS, Action, Completion, parse, render
from tasks.json_lines import read_rows
from tasks.tool_schema import UNKNOWN, ToolCall

CALL = '{"name": "f", "arguments": {"a": 1}}'
F = ToolCall("f", {"a": 1})
R = "<reasoning>a</reasoning>"


def answer(text: str) -> str:
    return f"<reasoning>Why.</reasoning>\n<answer>{text}</answer>"


def tagged(call: str) -> str:
    return f"<tool_call>\n{call}\n</tool_call>"


def test_actions_are_in_their_order() -> None:
    assert ACTIONS == ("tool_call", "request_for_info", "cannot_answer", "direct")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (tagged(CALL), "tool_call"),
        ("Which city?", "request_for_info"),
        ("I'm sorry, I'm unable to do that.", "cannot_answer"),
        ("It is 15 degrees.", "direct"),
        ("", "direct"),
    ],
)
def test_well_formed_completions(text: str, action: Action) -> None:
    calls = (F,) if action == "tool_call" else ()
    assert parse(answer(text)) == Completion(action, calls, True, "Why.", text, "")


def test_white_space_around_the_blocks_is_well_formed() -> None:
    assert parse(" \n<reasoning></reasoning>\n\n<answer>Yes.</answer>\n").well_formed
    assert parse("<reasoning>a</reasoning><answer>Yes.</answer>").well_formed


@pytest.mark.parametrize(
    ("text", "action", "problem"),
    [
        ("", "direct", "no reasoning block"),
        (" \n ", "direct", "no reasoning block"),
        ("Which city?", "request_for_info", "no reasoning block"),
        ("<answer>Which city?</answer>", "request_for_info", "no reasoning block"),
        (f"{R}Which city?", "request_for_info", "no answer block"),
        (f"{R}<answer>Which city?", "request_for_info", "answer is not closed"),
        (f"{R}<answer>No.</answer><answer>Which?</answer>", "direct", "more than one answer block"),
        (f"{R}<answer>Which?<answer>No.</answer>", "request_for_info", "more than one answer block"),
        (f"{R}<reasoning>b</reasoning><answer>No.</answer>", "direct", "more than one reasoning block"),
        ("<answer>No.</answer><reasoning>Which?</reasoning>", "direct", "blocks out of order"),
        (f"Hm. {R}<answer>No.</answer>", "direct", "text outside the blocks"),
        (f"{R}<answer>No.</answer> Which?", "direct", "text outside the blocks"),
        (f"{R}</reasoning><answer>No.</answer>", "direct", "stray tags"),
        (f"<think>Which?</think>{R}<answer>No.</answer>", "direct", "stray tags"),
        ("<reasoning>Which? <answer>No.</answer>", "direct", "reasoning is not closed"),
    ],
)  # fmt: skip
def test_not_well_formed(text: str, action: Action, problem: str) -> None:
    completion = parse(text)
    assert (completion.action, completion.well_formed, completion.problem) == (action, False, problem)


@pytest.mark.parametrize(
    "text",
    [
        tagged(CALL),
        f"<tool_call>{CALL}",
        f"<TOOLCALL>[{CALL}]</TOOLCALL>",
        f"<TOOLCALL>{CALL}</TOOLCALL>",
        f"Let me look.\n{tagged(CALL)}",
        f"<think>Hm.</think>\n{tagged(CALL)}",
        f"Hm.</think>\n{tagged(CALL)}",
        f"<reasoning>a</reasoning>{tagged(CALL)}<answer>Which city?</answer>",
        f"<answer>{tagged(CALL)}",
    ],
)
def test_bare_calls_are_understood_and_not_well_formed(text: str) -> None:
    completion = parse(text)
    assert (completion.action, completion.calls, completion.well_formed) == ("tool_call", (F,), False)


def test_a_call_inside_a_refusal_is_a_call() -> None:
    assert parse(answer(f"I'm sorry, I'm unable to do that. {tagged(CALL)}")).action == "tool_call"


@pytest.mark.parametrize(
    "text",
    [
        f"<reasoning>{tagged(CALL)}</reasoning><answer>Done.</answer>",
        f"<think>{tagged(CALL)}</think>Done.",
        f"<think>{tagged(CALL)}",
        f"<reasoning>{tagged(CALL)}",
        f"<think><reasoning></reasoning>{tagged(CALL)}</think>",
        f"{tagged(CALL)}</think>Done.",
        f"<answer><think>{tagged(CALL)}</think>Done.</answer>",
        f"<reasoning>a</reasoning><answer>Done.</answer>{tagged(CALL)}",
        f"<tool_<think></think>call>{CALL}</tool_call>",
        f"<answer>{CALL}</answer>",
    ],
)
def test_what_is_never_a_call(text: str) -> None:
    completion = parse(text)
    assert (completion.action, completion.calls, completion.call) == ("direct", (), None)


@pytest.mark.parametrize(
    "call",
    [
        "", "{", "nope", "3", "null", "[1]", '{"arguments": {}}', '{"name": 3}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "nope"}', '{"name": "f", "arguments": {"a": NaN}}',
        '{"name": "f", "arguments": {"a": -Infinity}}', '{"name": "f", "arguments": {"a": 1e999}}',
        '{"name": "f", "arguments": {"a": ' + "9" * 5000 + "}}", "[" * 100_000, '{"a":' * 100_000,
        "[" * 500 + "]" * 500, f"{CALL} {CALL}", "{'name': 'f'}",
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_read_is_a_call_without_content(call: str) -> None:
    completion = parse(answer(tagged(call)))
    assert (completion.action, completion.calls, completion.well_formed) == ("tool_call", (), True)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('{"name": "f"}', ToolCall("f", {})),
        ('{"name": "f", "arguments": null}', ToolCall("f", {})),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', F),
        ('{"name": "f", "arguments": {"a": "<UNK>"}}', ToolCall("f", {"a": UNKNOWN})),
        ('{"name": "f", "arguments": {"b": ["<UNK>"]}}', ToolCall("f", {"b": ["<UNK>"]})),
        ('{"name": "f", "arguments": {"a": "\\ud800"}}', ToolCall("f", {"a": "\ud800"})),
        ('{"name": "f", "arguments": {"a": 0, "a": 1}, "id": "x"}', F),
    ],
)  # fmt: skip
def test_arguments(call: str, expected: ToolCall) -> None:
    found = parse(answer(tagged(call))).call
    assert found == expected
    assert found is not None
    assert [value is UNKNOWN for value in found.arguments.values()] == [
        value is UNKNOWN for value in expected.arguments.values()
    ]


def test_several_calls() -> None:
    other = ToolCall("g", {})
    assert parse(answer(tagged(CALL) + tagged('{"name": "g"}'))).calls == (F, other)
    assert parse(f'<TOOLCALL>[{CALL}, {{"name": "g"}}]</TOOLCALL>').calls == (F, other)
    assert parse(answer(tagged(CALL) + tagged("nope"))).calls == ()


def test_render_is_the_canonical_spelling() -> None:
    assert render("Why.", "Which city?") == "<reasoning>Why.</reasoning>\n<answer>Which city?</answer>"
    assert render("Why.", ToolCall("f", {"a": UNKNOWN, "b": "é"})) == (
        "<reasoning>Why.</reasoning>\n<answer><tool_call>\n"
        '{"name": "f", "arguments": {"a": "<UNK>", "b": "é"}}\n</tool_call></answer>'
    )


plain = st.text(st.characters(exclude_characters="<"), max_size=40)
numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
)


@given(plain, plain, st.dictionaries(plain, json_values | st.just(UNKNOWN), max_size=4))
def test_calls_survive_writing_and_reading(reasoning: str, name: str, arguments: dict[str, Any]) -> None:
    completion = parse(render(reasoning, ToolCall(name, arguments)))
    assert completion.calls == (ToolCall(name, arguments),)
    assert (completion.action, completion.well_formed) == ("tool_call", True)
    assert completion.reasoning == reasoning.strip()


@given(plain, plain)
def test_answers_survive_writing_and_reading(reasoning: str, text: str) -> None:
    completion = parse(render(reasoning, text))
    assert (completion.answer, completion.well_formed, completion.calls) == (text.strip(), True, ())


def test_candidate_answers_of_real_rows(real_rows: Path) -> None:
    rows = [row for _, row in read_rows(real_rows / "test_llm_judge.jsonl")]
    right = 0
    for row in rows:
        for kind, text in row["answers"].items():
            completion = parse(answer(tagged(text) if kind == "tool_call" else text))
            assert completion.well_formed
            right += completion.action == kind
        call = parse(answer(tagged(row["answers"]["tool_call"]))).call
        assert call is not None
        assert {"name": call.name, "arguments": call.arguments} == json.loads(row["answers"]["tool_call"])
    assert right / (4 * len(rows)) >= 0.97
