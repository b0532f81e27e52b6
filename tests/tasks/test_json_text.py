import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.json_text import MAX_DEPTH, loads


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "nope", "NaN", "Infinity", "-Infinity", "1e999", "9" * 301, "-" + "9" * 5000,
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), '{"a":' * 3000 + "1" + "}" * 3000, "[" * 100_000,
        "{} {}",
    ],
)  # fmt: skip
def test_every_failure_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_depth_up_to_the_limit() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert loads(text) == json.loads(text)
    assert loads("[" + "[]," * 1000 + "[]]") == [[]] * 1001


def test_large_numbers_stay_floats_at_heart() -> None:
    assert float(loads("9" * 300)) == 1e300
    assert loads("1e300") == 1e300


numbers = st.integers(-(10**298), 10**298) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(values)
def test_reads_what_json_writes(value: Any) -> None:
    assert loads(json.dumps(value)) == value
