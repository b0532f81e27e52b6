import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.tool_schema import MISMATCH, UNKNOWN, Domain, Parameter, coerce

INTEGERS = Parameter("p", "array", items=Parameter("items", "integer"))


@pytest.mark.parametrize(
    ("type_name", "value", "expected"),
    [
        ("integer", "2012", 2012), ("integer", 2012, 2012), ("integer", 100.0, 100), ("integer", "7.0", 7),
        ("integer", " -7 ", -7), ("integer", "1e3", 1000), ("integer", 1.5, MISMATCH),
        ("integer", "1.5", MISMATCH), ("integer", True, MISMATCH), ("integer", "", MISMATCH),
        ("integer", "1_000", MISMATCH), ("integer", "93rd", MISMATCH), ("integer", "٣", MISMATCH),
        ("integer", [1], MISMATCH), ("integer", float("nan"), MISMATCH), ("integer", float("inf"), MISMATCH),
        ("integer", "9" * 5000, MISMATCH),
        ("number", "0.5", 0.5), ("number", 3, 3), ("number", 3.0, 3), ("number", "1e999", MISMATCH),
        ("number", "nan", MISMATCH), ("number", True, MISMATCH),
        ("string", "a", "a"), ("string", 2012, "2012"), ("string", 100.0, "100"), ("string", 1.5, "1.5"),
        ("string", True, "true"), ("string", ["a"], MISMATCH), ("string", {}, MISMATCH),
        ("boolean", True, True), ("boolean", "true", True), ("boolean", "False", False),
        ("boolean", 1, MISMATCH), ("boolean", "yes", MISMATCH),
        ("array", [1, "a"], [1, "a"]), ("array", (1,), [1]), ("array", "[1, 2]", [1, 2]),
        ("array", "a", MISMATCH), ("array", "[" * 9999, MISMATCH), ("array", {"a": 1}, MISMATCH),
        ("object", {"a": 1}, {"a": 1}), ("object", '{"a": 1}', {"a": 1}), ("object", "[1]", MISMATCH),
        ("object", [1], MISMATCH),
        ("any", [1], [1]), ("any", None, None), ("string", None, MISMATCH), ("integer", UNKNOWN, UNKNOWN),
    ],
)  # fmt: skip
def test_values_in_the_declared_type(type_name: Any, value: Any, expected: Any) -> None:
    found = coerce(value, Parameter("p", type_name))
    assert found == expected
    assert type(found) is type(expected)


def test_integers_beyond_what_python_prints() -> None:
    assert coerce(10**5000, Parameter("p", "integer")) == 10**5000
    assert coerce(10**5000, Parameter("p", "string")) is MISMATCH


def test_members_of_lists() -> None:
    assert coerce(["1", 2.0], INTEGERS) == [1, 2]
    assert coerce(["1", "x"], INTEGERS) is MISMATCH
    assert coerce('["1"]', INTEGERS) == [1]


def test_null_where_it_is_allowed() -> None:
    assert coerce(None, Parameter("p", "string", Domain("unbounded", nullable=True))) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
types = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "any"])


@given(json_values, types)
def test_never_raises_changes_nothing_and_is_stable(value: Any, type_name: Any) -> None:
    before = copy.deepcopy(value)
    parameter = Parameter("p", type_name)
    once = coerce(value, parameter)
    assert repr(value) == repr(before)
    if once is not MISMATCH:
        assert repr(coerce(once, parameter)) == repr(once)
