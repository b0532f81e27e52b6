from typing import Any

import pytest

from tasks.errors import InputError
from train.overrides import apply


def changed(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = {"a": 1, "s": {"x": 1, "y": 2}, "l": [{"w": 1}, {"w": 2}], "n": None}
    apply(document, arguments)
    return document


def test_values_are_yaml() -> None:
    document = changed("a=1e-6", "s.x=true", "s.y=[1, 2]", "b={c: d}", "e=", "f=x=y")
    assert document["a"] == 1e-6
    assert document["s"] == {"x": True, "y": [1, 2]}
    assert (document["b"], document["e"], document["f"]) == ({"c": "d"}, None, "x=y")


def test_a_number_picks_an_item() -> None:
    assert changed("l.1.w=0.5")["l"] == [{"w": 1}, {"w": 0.5}]
    assert changed("l.0=x")["l"] == ["x", {"w": 2}]


def test_missing_and_null_sections_are_made() -> None:
    document = changed("new.deep.key=1", "n.r=8")
    assert document["new"] == {"deep": {"key": 1}}
    assert document["n"] == {"r": 8}


def test_the_last_one_counts_and_keys_are_reported() -> None:
    document: dict[str, Any] = {}
    assert apply(document, ["a.b=1", "a.b=2"]) == {"a.b"}
    assert document == {"a": {"b": 2}}


@pytest.mark.parametrize(
    ("argument", "fault"),
    [
        ("a", "not an override"),
        ("--steps=3", "not an override"),
        ("=3", "not an override"),
        ("a..b=3", "not an override"),
        ("launch=1", "not an override"),
        ("a.b=3", "'a' has no keys"),
        ("l.2.w=3", "'l' is a list of 2; pick one of 0 to 1"),
        ("l.w=3", "'l' is a list of 2"),
        ("l.-1=3", "'l' is a list of 2"),
        ("a=[1", "line 1"),
        ("a={b: 1, b: 2}", "appears twice"),
    ],
)
def test_what_leads_nowhere_is_named(argument: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        changed(argument)
    assert repr(argument) in str(caught.value)
    assert fault in str(caught.value)
