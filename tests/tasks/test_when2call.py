import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tasks import when2call
from tasks.errors import InputError
from tasks.tool_schema import UNKNOWN, ToolCall

TOOL = {
    "name": "get_weather",
    "description": "Weather of a city on a day.",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "str"}, "day": {"type": "str"}, "unit": {"type": "str, optional"}},
    },
    "required": ["city", "day"],
}
CALL = {"name": "get_weather", "arguments": {"city": "Leeds", "day": "Monday"}}


def test_row(**change: Any) -> dict[str, Any]:
    row = {
        "uuid": "u1",
        "source": "own",
        "question": "Weather in Leeds on Monday?",
        "correct_answer": "tool_call",
        "answers": {
            "direct": "Sunny.",
            "tool_call": json.dumps(CALL),
            "request_for_info": "Which day?",
            "cannot_answer": "Sorry, I cannot do that.",
        },
        "target_tool": json.dumps(TOOL),
        "tools": [json.dumps(TOOL)],
    }
    return {**row, **change}


test_row.__test__ = False  # type: ignore[attr-defined]


def preference(
    chosen: str, rejected: str, question: str = "Weather in Leeds?", **change: Any
) -> dict[str, Any]:
    row = {
        "tools": [TOOL],
        "messages": [{"role": "user", "content": question}],
        "chosen_response": {"role": "assistant", "content": chosen},
        "rejected_response": {"role": "assistant", "content": rejected},
    }
    return {**row, **change}


def supervised(answer: str, **change: Any) -> dict[str, Any]:
    turns = [
        {"role": "user", "content": "Weather in Leeds on Monday?"},
        {"role": "assistant", "content": answer},
    ]
    return {"tools": [TOOL], "messages": turns, **change}


def written(call: dict[str, Any] = CALL) -> str:
    return f"<TOOLCALL>[{json.dumps(call)}]</TOOLCALL>"


def save(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_a_call_row_of_the_test_file() -> None:
    task = when2call.parse_row(test_row(), "f, row 1")
    call = ToolCall("get_weather", {"city": "Leeds", "day": "Monday"})
    assert (task.id, task.gold, task.held_out) == ("u1", "tool_call", None)
    assert task.gold_call == task.reference_call == task.label_call == call
    assert task.messages == ({"role": "user", "content": "Weather in Leeds on Monday?"},)
    assert task.raw_tools == (json.dumps(TOOL),)
    assert [tool.name for tool in task.tools] == ["get_weather"]
    assert list(task.answers) == ["direct", "tool_call", "request_for_info", "cannot_answer"]


def test_an_ask_row_of_the_test_file_keeps_the_invented_value_apart_from_the_unknown_one() -> None:
    row = test_row(correct_answer="request_for_info", held_out_param="day", question="Weather in Leeds?")
    task = when2call.parse_row(row, "f, row 1")
    assert task.gold_call is None
    assert task.label_call == ToolCall("get_weather", {"city": "Leeds", "day": "Monday"})
    assert task.reference_call == ToolCall("get_weather", {"city": "Leeds", "day": UNKNOWN})
    assert task.held_out == "day"


def test_a_refusal_has_no_calls() -> None:
    task = when2call.parse_row(
        test_row(correct_answer="cannot_answer", tools=[], target_tool=None), "f, row 1"
    )
    assert (task.gold, task.tools, task.gold_call, task.reference_call, task.label_call) == (
        "cannot_answer", (), None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (written(), "tool_call"),
        ("Could you please specify the day?", "request_for_info"),
        ("Apologies, but I'm unable to look up the weather.", "cannot_answer"),
        ("It rains in Leeds on most days of the year.", "direct"),
    ],
)
def test_classes_of_training_rows_are_derived(answer: str, action: str) -> None:
    assert when2call.parse_row(supervised(answer), "f, row 1").gold == action
    assert when2call.parse_row(preference(answer, "Sunny."), "f, row 1").gold == action


def test_preference_ask_rows_take_their_call_from_the_rejected_answer() -> None:
    task = when2call.parse_row(preference("Could you tell me the day?", written()), "f, row 1")
    assert task.gold == "request_for_info"
    assert task.label_call == ToolCall("get_weather", {"city": "Leeds", "day": "Monday"})
    assert task.held_out == "day"
    assert task.reference_call == ToolCall("get_weather", {"city": "Leeds", "day": UNKNOWN})
    assert set(task.answers) == {"request_for_info", "tool_call"}


@pytest.mark.parametrize(
    ("question", "ask", "held_out"),
    [
        ("Weather in Leeds on Monday?", "Could you confirm that?", None),  # nothing is missing
        ("Some weather, please.", "Which day do you mean, please?", "day"),  # two are; the ask speaks of one
        ("Some weather, please.", "Could you please give me the city and the day?", None),  # and here of both
    ],
)
def test_the_held_out_parameter_is_derived_or_left_open(
    question: str, ask: str, held_out: str | None
) -> None:
    task = when2call.parse_row(preference(ask, written(), question), "f, row 1")
    assert task.gold == "request_for_info"
    assert task.held_out == held_out
    assert (task.reference_call is None) == (held_out is None)
    assert task.label_call is not None


def test_a_preference_ask_row_without_a_call_has_no_candidate() -> None:
    task = when2call.parse_row(preference("Could you tell me the day?", "Sunny."), "f, row 1")
    assert (task.label_call, task.reference_call, task.held_out) == (None, None, None)


def test_tools_may_be_objects_strings_or_one_string() -> None:
    forms: list[Any] = [[TOOL], [json.dumps(TOOL)], json.dumps([TOOL])]
    tasks = [when2call.parse_row(supervised("Sunny.", tools=tools), "f, row 1") for tools in forms]
    assert tasks[0].tools == tasks[1].tools == tasks[2].tools


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (supervised(""), "empty_answer"),
        (supervised("<TOOLCALL>[broken</TOOLCALL>"), "unreadable_call"),
        (supervised(f"<TOOLCALL>[{json.dumps(CALL)}, {json.dumps(CALL)}]</TOOLCALL>"), "several_calls"),
        (supervised(written({"name": "other", "arguments": {}})), "call_to_unknown_tool"),
        (test_row(answers={"tool_call": "get_weather(Leeds)"}), "unreadable_call"),
    ],
)
def test_unusable_rows_name_their_reason(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(when2call.UnusableRow) as caught:
        when2call.parse_row(row, "f, row 3")
    assert caught.value.reason == reason
    assert str(caught.value).startswith("f, row 3: ")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "empty"),
        ({"text": "hello"}, "not a When2Call row"),
        (supervised("Sunny.", messages=[]), "messages"),
        (supervised("Sunny.", messages=[{"role": "assistant", "content": "hi"}]), "no user turn"),
        (supervised("Sunny.", messages=[{"role": "user", "content": " "}]), "no user turn"),
        (supervised("Sunny.", messages=[{"role": "user", "content": "hi"}]), "assistant"),
        (supervised("Sunny.", messages=[{"role": "user", "content": None}]), "content"),
        (supervised("Sunny.", tools=["no JSON"]), "tool 1"),
        (supervised("Sunny.", tools=[3]), "tool 1"),
        (supervised("Sunny.", tools={"a": 1}), "list of schemas"),
        (supervised("Sunny.", tools="no JSON"), "not JSON"),
        (test_row(question="  "), "no user turn"),
        (test_row(question=None), "question"),
        (test_row(correct_answer="maybe"), "correct_answer"),
        (test_row(answers="yes"), "answers"),
        (test_row(answers={"direct": "x"}), "no text for the correct answer"),
        (test_row(correct_answer="request_for_info", held_out_param=3), "held_out_param"),
        (preference("Sunny.", "x", chosen_response=None), "chosen_response"),
    ],
)
def test_malformed_rows_are_named(row: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        when2call.parse_row(row, "rows.jsonl, row 7")
    assert not isinstance(caught.value, when2call.UnusableRow)
    assert str(caught.value).startswith("rows.jsonl, row 7")
    assert said in str(caught.value)


def test_loading_counts_what_was_kept_skipped_and_derived(tmp_path: Path) -> None:
    path = save(tmp_path / "train.jsonl", supervised(written()), supervised(""), supervised("Sunny."))
    tasks = when2call.load(when2call.Config(train=path), "train", seed=0)
    assert tasks.counts == {"kept": 2, "derived_tool_call": 1, "derived_direct": 1, "skipped_empty_answer": 1}
    assert list(tasks.hashes) == [str(path)]
    assert len(tasks.hashes[str(path)]) == 64
    first = when2call.load(when2call.Config(train=path, limit=1), "train", seed=0)
    assert first.tasks == tasks.tasks[:1]


def test_test_rows_of_bfcl_are_never_training_rows(tmp_path: Path) -> None:
    path = save(tmp_path / "x.jsonl", test_row(source="BFCL v2 Live Simple", source_id="live_simple_1-1-1"))
    with pytest.raises(InputError, match=r"row 1: .*BFCL live"):
        when2call.load(when2call.Config(train=path), "train", seed=0)
    assert len(when2call.load(when2call.Config(test=path), "test", seed=0).tasks) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "no rows"), ("{broken\n", "row 1"), ("[]\n", "row 1"), ('{"messages": []}\n', "row 1")],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        when2call.load(when2call.Config(train=path), "train", seed=0)
    with pytest.raises(InputError, match="no such file"):
        when2call.load(when2call.Config(train=tmp_path / "none.jsonl"), "train", seed=0)


def test_a_file_without_a_usable_row_is_an_error(tmp_path: Path) -> None:
    path = save(tmp_path / "x.jsonl", supervised(""))
    with pytest.raises(InputError, match="no usable row"):
        when2call.load(when2call.Config(train=path), "train", seed=0)


def test_a_hub_that_cannot_be_reached_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no route")

    monkeypatch.setattr("datasets.load_dataset", refuse)
    with pytest.raises(InputError, match=r"nvidia/When2Call, train_pref/train: .*no route.*task\.train"):
        when2call.load(when2call.Config(), "train", seed=0)


def test_hub_rows_lose_the_nulls_that_arrow_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import Dataset

    ask = test_row(correct_answer="request_for_info", held_out_param="day", source="BFCL v2 Live Simple")
    rows = Dataset.from_list([{**test_row(), "held_out_param": None}, ask])
    asked: list[Any] = []

    def load_dataset(name: str, part: str, **rest: Any) -> Any:
        asked.append((name, part, rest))
        return rows

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    tasks = when2call.load(when2call.Config(), "test", seed=0)
    assert asked == [("nvidia/When2Call", "test", {"split": "mcq", "revision": None})]
    assert [task.gold for task in tasks.tasks] == ["tool_call", "request_for_info"]
    assert "held_out_param" not in tasks.tasks[0].source


def test_real_rows(real_rows: Path) -> None:
    tasks = when2call.load(when2call.Config(test=real_rows / "test_llm_judge.jsonl"), "test", seed=0)
    assert Counter(task.gold for task in tasks.tasks) == {
        "tool_call": 67, "request_for_info": 67, "cannot_answer": 67,
    }  # fmt: skip
    for task in tasks.tasks:
        assert (task.gold_call is not None) == (task.gold == "tool_call")
        assert (task.reference_call is not None) == (task.gold != "cannot_answer")
        if task.held_out is not None:
            assert task.reference_call is not None
            assert task.reference_call.arguments[task.held_out] is UNKNOWN
    for name in ("train_pref_example", "train_sft_example"):
        (task,) = when2call.load(when2call.Config(train=real_rows / f"{name}.jsonl"), "train", seed=0).tasks
        assert (
            task.gold
            == {"train_pref_example": "request_for_info", "train_sft_example": "cannot_answer"}[name]
        )


def test_the_derived_held_out_parameter_agrees_with_the_published_one(real_rows: Path) -> None:
    """Measured on the judge rows (67 asks): 59 agree, 7 stay open, 1 differs."""
    from tasks.held_out import derive_held_out

    tasks = when2call.load(when2call.Config(test=real_rows / "test_llm_judge.jsonl"), "test", seed=0).tasks
    verdicts: Counter[str] = Counter()
    for task in tasks:
        if task.gold == "request_for_info" and task.label_call is not None:
            tool = task.tool(task.label_call.name)
            assert tool is not None
            derived = derive_held_out(tool, task.label_call, task.user_text, task.answers["request_for_info"])
            verdicts["right" if derived == task.held_out else "open" if derived is None else "wrong"] += 1
    assert verdicts["right"] >= 59
    assert verdicts["wrong"] <= 1
