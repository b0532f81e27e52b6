import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from train.yaml_strict import read_yaml


@pytest.mark.parametrize("text", ["1e-6", "1.0e-6", "1E-6", "+1e-6", "0.000001", ".1e-5"])
def test_every_spelling_of_a_small_number_is_a_float(text: str) -> None:
    value = read_yaml(f"lr: {text}", "x.yaml")["lr"]
    assert isinstance(value, float)
    assert math.isclose(value, 1e-6)


def test_words_that_yaml_1_1_takes_for_something_else_stay_words() -> None:
    read = read_yaml("a: no\nb: on\nc: 2024-01-01\nd: e5\ne: true\nf: False\ng: null\nh: 10", "x.yaml")
    assert read == {
        "a": "no",
        "b": "on",
        "c": "2024-01-01",
        "d": "e5",
        "e": True,
        "f": False,
        "g": None,
        "h": 10,
    }


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("a: 1\na: 2", 2, "'a' appears twice"),
        ("t:\n  b: 1\n  c: 1\n  b: 2", 4, "'b' appears twice"),
        ("x: {a: 1, a: 1}", 1, "'a' appears twice"),
        ("1: a", 1, "1 is not text"),
        ("? [a]\n: 1", 1, "is not text"),
        ("a: !!python/object:os.system {}", 1, "tag"),
        ("a: [1", 1, "expected"),
        ("a: 1\n---\nb: 2", 2, "another document"),
    ],
)
def test_faults_name_file_and_line(text: str, line: int, fault: str) -> None:
    with pytest.raises(InputError, match=f"x.yaml, line {line}:") as caught:
        read_yaml(text, "x.yaml")
    assert fault in str(caught.value)


def test_merge_keys_may_repeat_a_key() -> None:
    assert read_yaml("base: &b {x: 1, y: 1}\nown: {<<: *b, x: 2}", "f")["own"] == {"x": 2, "y": 1}


@pytest.mark.parametrize("text", ["[" * 100_000, "a: \x00", "&a [*b]"])
def test_hostile_text_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        read_yaml(text, "f")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back(value: float) -> None:
    assert float(read_yaml(f"x: {value!r}", "f")["x"]) == value
