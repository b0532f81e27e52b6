import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.feasibility import belief, feasibility, parameter_certainty, strongest
from tasks.tool_schema import UNKNOWN, ToolCall, parse_tool
from tests.rewards.worked import BOOK_TABLE, C1, C2, C3, ORDER_DELIVERY

CANDIDATES = [(BOOK_TABLE, C1), (BOOK_TABLE, C2), (ORDER_DELIVERY, C3)]


def tool(required, **properties):
    return parse_tool(
        {"name": "f", "parameters": {"type": "object", "properties": properties, "required": list(required)}}
    )


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [("required", [0.25, 1.25e-5, 2.5e-5]), ("all", [0.125, 6.25e-6, 2.5e-5])],
)
def test_feasibility_of_the_worked_candidates(parameters, expected):
    found = [feasibility(schema, call, parameters).value for schema, call in CANDIDATES]
    assert found == pytest.approx(expected, rel=1e-9)


def test_normalised_belief_of_the_worked_candidates():
    raw = [feasibility(schema, call).value for schema, call in CANDIDATES]
    assert belief(raw, "normalised") == pytest.approx([0.99985, 5.0e-5, 1.0e-4], abs=1e-6)
    assert belief(raw) == tuple(raw)


def test_normalising_nothing_is_uniform():
    assert belief([0.0, 0.0], "normalised") == (0.5, 0.5)


def test_the_strongest_of_no_candidates_is_zero():
    assert strongest([]) == 0.0
    assert strongest([], "normalised") == 0.0


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "enum": ["work", "home"]}, 0.5),
        ({"type": "integer", "minimum": 0, "maximum": 50}, 1 / 51),
        ({"type": "number", "minimum": 0, "maximum": 50}, 1e-4),
        ({"type": "integer", "minimum": 0}, 1e-4),
        ({"type": "boolean"}, 0.5),
        ({"type": "string"}, 1e-4),
        ({"type": "string", "enum": ["only"]}, 1.0),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, 1e-4),
    ],
)
def test_certainty_of_an_unknown_argument(schema, expected):
    parameter = tool(["x"], x=schema).parameter("x")
    assert parameter_certainty(parameter) == pytest.approx(expected, rel=1e-9)
    assert parameter_certainty(parameter, UNKNOWN) == parameter_certainty(parameter)


def test_two_unknown_strings():
    two = tool(["a", "b"], a={"type": "string"}, b={"type": "string"})
    assert feasibility(two, ToolCall("f")).value == pytest.approx(1e-8)
    assert feasibility(two, ToolCall("f"), epsilon=1e-2).value == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer", "enum": [2012, 2013]}, "2012", 1.0),
        ({"type": "string", "enum": ["2012", "2013"]}, 2012, 1.0),
        ({"type": "integer", "enum": [2012, 2013]}, 2014, 0.0),
        ({"type": "integer", "minimum": 1, "maximum": 8}, 9, 0.0),
        ({"type": "integer"}, "many", 0.0),
        ({"type": "string", "default": None}, None, 1.0),
        ({"type": "string"}, None, 0.0),
    ],
)
def test_a_given_value_counts_unless_it_conflicts_with_its_domain(schema, value, expected):
    parameter = tool(["x"], x=schema).parameter("x")
    assert parameter_certainty(parameter, value) == expected


def test_a_conflict_is_named_and_makes_the_call_impossible():
    found = feasibility(
        BOOK_TABLE, ToolCall("book_table", {"cuisine": "sushi", "city": "Leeds", "party_size": 4})
    )
    assert (found.value, found.conflict) == (0.0, "cuisine")


def test_a_tool_that_is_not_offered_is_impossible():
    assert feasibility(None, ToolCall("teleport")).value == 0.0


def test_no_required_parameter_means_full_certainty():
    assert feasibility(tool([], x={"type": "string"}), ToolCall("f")).value == 1.0


@given(
    st.dictionaries(st.sampled_from(["cuisine", "city", "party_size", "outdoor"]), st.integers() | st.text())
)
def test_feasibility_stays_within_its_bounds_and_all_is_never_above_required(arguments):
    call = ToolCall("book_table", arguments)
    required, everything = (feasibility(BOOK_TABLE, call, which).value for which in ("required", "all"))
    assert 0.0 <= everything <= required <= 1.0
