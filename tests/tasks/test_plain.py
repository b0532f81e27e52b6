"""Configurations and readings as plain values."""

from dataclasses import dataclass, field
from pathlib import Path

from tasks.plain import plain


@dataclass(frozen=True, slots=True)
class Inner:
    names: tuple[str, ...] = ("a",)
    derived: int = field(init=False, default=3)


def test_dataclasses_mappings_sequences_and_paths() -> None:
    value = {1: Inner(), "path": Path("x/y"), "list": (1, None, True)}
    assert plain(value) == {"1": {"names": ["a"]}, "path": "x/y", "list": [1, None, True]}


def test_scalars_go_through_the_function() -> None:
    assert plain({"a": [1, {"b": 2}]}, scalar=lambda x: x * 10) == {"a": [10, {"b": 20}]}


def test_hidden_keys_at_any_depth() -> None:
    assert plain({"a": [{"token": "t"}], "token": ""}, hide={"token"}) == {
        "a": [{"token": "<hidden>"}],
        "token": "",
    }
