from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.grounding import supported
from rewards.measure_grounding import RULES, Cell, argument_support, certainties, main, report, tasks_of
from tasks.tool_schema import parse_tool
from tests.rewards.worked import task


def parameter(**schema):
    return parse_tool({"name": "f", "parameters": {"type": "object", "properties": {"x": schema}}}).parameter(
        "x"
    )


TEXT = parameter(type="string")


def rules(said, value, x=TEXT):
    return [supported(task(said, "tool_call"), x, value, rule) for rule in RULES]


@pytest.mark.parametrize(
    ("said", "value", "expected"),
    [
        ("Fly to New York", "New York", [True, True, True]),
        ("Fly to NEW YORK!", "new york", [True, True, True]),
        ("Fly to New York", "York New", [False, True, True]),  # a run, in order
        ("Fly to New York", "New York, NY", [False, True, True]),
        ("Fly to York", "New York", [False, True, True]),
        ("Fly to York", "New York City", [False, False, False]),
        ("Fly to Newark", "New", [False, False, False]),  # whole tokens
        ("Fly to New York", "Boston", [False, False, False]),
        ("我在北京", "北京", [False, False, True]),  # no token of the strict rules
        ("", "x", [False, False, False]),
        ("x", "", [False, False, False]),
        ("the 93rd one", 93, [False, False, True]),
        ("93 of them", 93, [True, True, True]),
        ("100 dollars", 100.0, [True, True, True]),
        ("a rate of 3.8", 3.8, [True, True, True]),
        ("three nights", 3, [True, True, True]),
        ("eleven nights", 11, [False, False, True]),
        ("three nights", 4, [False, False, False]),
        ("yes, with parking", True, [False, False, True]),
        ("parking", True, [False, False, False]),
        ("anything", None, [False, False, False]),
    ],
)
def test_what_each_rule_supports(said, value, expected):
    assert rules(said, value) == expected


def test_every_member_of_a_list_or_object_must_be_supported():
    assert rules("leeks and cream", ["leeks", "cream"]) == [True, True, True]
    assert rules("leeks and cream", ["leeks", "rice"]) == [False, False, False]
    assert rules("leeks and cream", {"a": ["leeks", {"b": "cream"}]}) == [True, True, True]
    assert rules("leeks and cream", []) == [True, True, True]


def test_a_value_equal_to_the_default_counts_as_given():
    x = parameter(type="string", default="Boston")
    assert rules("Fly", "Boston", x) == [True, True, True]
    assert rules("Fly", "York", x) == [False, False, False]


def test_a_switch_is_supported_by_its_name_or_a_word_of_its_description():
    guide = parse_tool(
        {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "audio_guide": {"type": "boolean"},
                    "flag": {"type": "boolean", "description": "Whether wheelchair access is needed."},
                },
            },
        }
    )
    row = task("I need wheelchair access and an audio tour", "tool_call")
    assert supported(row, guide.parameter("audio_guide"), True, "loose")
    assert supported(row, guide.parameter("flag"), "True", "loose")
    assert not supported(task("two tickets", "tool_call"), guide.parameter("flag"), True, "loose")
    assert not supported(row, None, True, "loose")


def test_only_what_the_user_says_counts():
    row = task("Fly", "tool_call")
    other = type(row)(
        id="1",
        messages=({"role": "assistant", "content": "To Boston?"}, {"role": "user", "content": "Yes"}),
        tools=(),
        gold="tool_call",
    )
    assert not supported(other, TEXT, "Boston", "loose")


def test_deep_nesting_and_huge_numbers_are_read_without_error():
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    assert rules("x", deep) == [True, True, True]
    assert rules("x", 10**400) == rules("x", 10**5000) == [False, False, False]
    assert rules("id 12345678901234567890", 12345678901234567890) == [True, True, True]
    assert rules("x", float("nan")) == [False, False, False]
    assert rules("x", float("inf")) == [False, False, False]


@given(st.text(), st.recursive(st.text() | st.integers() | st.floats() | st.booleans() | st.none(), st.lists))
def test_any_text_and_any_value_give_an_answer(said, value):
    for rule in RULES:
        assert supported(task(said, "tool_call"), TEXT, value, rule) in (True, False)


@given(st.lists(st.sampled_from(["new", "york", "two", "7", "x"]), min_size=1, max_size=6))
def test_what_the_strict_rules_support_the_forgiving_ones_do_too(words):
    said = "A new one in York for two, 7 in all"
    whole, half, loose = rules(said, " ".join(words))
    assert whole <= half <= loose


# --- the real rows: the measured table of the guide, whose 300 rows hold these 201

MEASURED = {
    # reading, parameters: mean of gold calls, of them below .01, mean of invented calls
    ("whole", "required"): (0.624, 0.35, 0.092),
    ("half", "required"): (0.779, 0.19, 0.132),
    ("whole", "all"): (0.290, 0.61, 0.020),
    ("reference", "required"): (0.980, 0.01, 0.033),
    ("emitted", "required"): (0.980, 0.01, 0.985),
    ("emitted", "all"): (0.496, 0.40, 0.507),
}


@pytest.mark.parametrize(("reading", "parameters"), MEASURED)
def test_the_measured_table_on_real_rows(real_rows, reading, parameters):
    tasks = tasks_of(str(real_rows / "test_llm_judge.jsonl"))
    gold = Cell.of(certainties(tasks, "tool_call", reading, parameters))
    invented = Cell.of(certainties(tasks, "request_for_info", reading, parameters))
    expected = MEASURED[reading, parameters]
    assert gold.count == invented.count == 67
    assert (gold.mean, gold.lost, invented.mean) == pytest.approx(expected, abs=0.075)


def test_loose_supports_more_of_what_was_said_and_hardly_more_of_what_was_not(real_rows):
    tasks = tasks_of(str(real_rows / "test_llm_judge.jsonl"))
    said, held = {}, {}
    for rule in RULES:
        call, ask = (
            argument_support(tasks, "tool_call", rule),
            argument_support(tasks, "request_for_info", rule),
        )
        said[rule], held[rule] = call[0] + ask[0], ask[2]
    assert said["whole"] < said["half"] < said["loose"]
    assert held["loose"] <= held["half"] + 2


def test_the_report_of_our_own_rows():
    rows = Path(__file__).parents[2] / "tasks" / "data" / "self_test.jsonl"
    text = report(tasks_of(str(rows)))
    assert "| loose | required | mean" in text


def test_the_command_names_what_is_wrong(tmp_path, capsys):
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert main([]) == 2
