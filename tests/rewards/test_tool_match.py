import pytest

from rewards import tool_match
from tasks.completion import parse
from tasks.tool_schema import ToolCall, parse_tool
from tests.rewards.worked import ASK, said, task

HOTEL = parse_tool(
    {
        "name": "hotel",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string"},
                "nights": {"type": "integer", "default": 1},
                "pool": {"type": "boolean", "default": False},
                "budget": {"type": "float"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["city", "budget"],
        },
    }
)
GOLD = {"city": "Leeds", "nights": 2, "budget": 100.0}
ROW = task("x", "tool_call", ToolCall("hotel", GOLD), tools=(HOTEL,))
EXACT, PARTIAL = tool_match.Config(), tool_match.Config("partial")


def value(arguments, config=EXACT, name="hotel", row=ROW):
    return tool_match.score(row, said(ToolCall(name, arguments)), config).value


@pytest.mark.parametrize(
    ("arguments", "exact", "partial"),
    [
        (GOLD, 1, 1),
        ({"city": " Leeds ", "nights": "2", "budget": "100"}, 1, 1),
        ({**GOLD, "pool": False}, 1, 1),  # the optional default, written out
        ({**GOLD, "pool": "false"}, 1, 1),
        ({**GOLD, "pool": True}, 0, 0.5 + 0.5 * 6 / 7),
        ({**GOLD, "nights": True}, 0, 0.5 + 0.5 * 4 / 6),
        ({"city": "Leeds", "budget": 100}, 0, 0.5 + 0.5 * 4 / 5),
        ({"city": "leeds", "nights": 2, "budget": 100}, 0, 0.5 + 0.5 * 4 / 6),
        ({**GOLD, "invented": 1}, 0, 0.5 + 0.5 * 6 / 7),
        ({}, 0, 0.5),
    ],
)
def test_credit_for_a_call_of_the_right_tool(arguments, exact, partial):
    assert value(arguments) == exact
    assert value(arguments, PARTIAL) == pytest.approx(partial)


def test_another_tool_earns_nothing():
    assert value(GOLD, name="motel") == value(GOLD, PARTIAL, name="motel") == 0.0


def test_no_call_earns_nothing_where_one_is_due():
    assert tool_match.score(ROW, said(ASK), EXACT).value == 0.0


@pytest.mark.parametrize("gold", ["request_for_info", "cannot_answer", "direct"])
def test_rows_whose_label_is_not_a_call_give_no_value(gold):
    row = task("x", gold, ToolCall("hotel", GOLD), tools=(HOTEL,))
    found = tool_match.score(row, said(ToolCall("hotel", GOLD)), EXACT)
    assert found.value is None
    assert not tool_match.is_exact(row, said(ToolCall("hotel", GOLD)))


def test_each_of_several_calls_is_worth_its_share():
    one = (
        '<tool_call>{"name": "hotel", "arguments": {"city": "Leeds", "nights": 2, "budget": 100}}</tool_call>'
    )
    twice = parse(f"<answer>{one}{one}</answer>")
    assert tool_match.score(ROW, twice, EXACT).value == 0.0
    assert tool_match.score(ROW, twice, PARTIAL).value == 0.5


def test_lists_compare_in_order_and_by_type():
    row = task("x", "tool_call", ToolCall("hotel", {**GOLD, "tags": ["a", "b"]}), tools=(HOTEL,))
    assert value({**GOLD, "tags": ["a", "b"]}, row=row) == 1.0
    assert value({**GOLD, "tags": ["b", "a"]}, row=row) == 0.0
    assert value({**GOLD, "tags": "a, b"}, row=row) == 0.0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({**GOLD, "nights": 3}, "wrong argument 'nights'"),
        ({**GOLD, "pool": True}, "unexpected argument 'pool'"),
        ({"city": "Leeds", "nights": 2}, "argument 'budget' is missing"),
    ],
)
def test_the_reason_says_what_is_wrong(arguments, reason):
    assert tool_match.score(ROW, said(ToolCall("hotel", arguments)), EXACT).reason == reason


def test_two_huge_numbers_and_deep_nesting_compare_without_error():
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    row = task("x", "tool_call", ToolCall("hotel", {"tags": deep, "budget": 10**400}), tools=())
    assert tool_match.score(row, said(ToolCall("hotel", {"budget": 1.0})), EXACT).value == 0.0
