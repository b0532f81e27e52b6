import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.strict import build, closest


@dataclass(frozen=True)
class Lora:
    r: int = 64
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.r < 1:
            raise ValueError("r must be at least 1")


@dataclass(frozen=True)
class Config:
    model: str
    learning_rate: float = 5e-6
    max_steps: int = 10
    bf16: bool = False
    belief: Literal["emitted", "reference", "grounded"] = "grounded"
    lora: Lora | None = None
    targets: tuple[str, ...] = ()
    window: tuple[int, int] = (0, 1)
    weights: list[float] = field(default_factory=list)
    names: Sequence[str] = ()
    trainer: dict[str, Any] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    stages: tuple[Lora, ...] = ()
    scale: float | str = 1.0
    data: Path | None = None


def made(text: str, base: Path | None = None) -> Config:
    return build(Config, yaml.safe_load(text), "r.yaml", base=base)


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        made(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_builds_every_kind_of_field() -> None:
    config = made("""
        {model: m, learning_rate: 1e-6, max_steps: 3, bf16: true, belief: emitted, lora: {r: 8, dropout: 0},
         targets: [q, k], window: [1, 2], weights: [1, 2.5], names: [a], trainer: {beta: 0.1, any: [1]},
         limits: {a: 1}, stages: [{r: 1}, {}], scale: group}
    """)
    assert config == Config(
        "m", 1e-6, 3, True, "emitted", Lora(8, 0.0), ("q", "k"), (1, 2), [1.0, 2.5], ("a",),
        {"beta": 0.1, "any": [1]}, {"a": 1}, (Lora(1), Lora()), "group",
    )  # fmt: skip
    assert isinstance(config.lora, Lora)
    assert type(config.lora.dropout) is float


@pytest.mark.parametrize("text", ["1e-6", "1.0e-6", "1E-6", "0.000001", "'1e-6'", "+1e-6"])
def test_floats_in_every_spelling(text: str) -> None:
    assert made(f"{{model: m, learning_rate: {text}}}").learning_rate == 1e-6


def test_an_int_is_a_float_and_null_is_none() -> None:
    config = made("{model: m, learning_rate: 1, lora: null}")
    assert (config.learning_rate, type(config.learning_rate), config.lora) == (1.0, float, None)


def test_paths_resolve_against_the_base() -> None:
    assert made("{model: m, data: rows.jsonl}", Path("/a/b")).data == Path("/a/b/rows.jsonl")
    assert made("{model: m, data: /rows.jsonl}", Path("/a/b")).data == Path("/rows.jsonl")
    assert made("{model: m, data: rows.jsonl}").data == Path("rows.jsonl")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{model: m, learning_rat: 1}", ["r.yaml", "'learning_rat'", "did you mean 'learning_rate'"]),
        ("{model: m, zzz: 1}", ["'zzz'", "known: belief, bf16"]),
        ("{model: m, 7: 1}", ["unknown key 7"]),
        ("{model: m, lora: {rr: 1}}", ["'rr' under 'lora'", "did you mean 'r'"]),
        ("{model: m, stages: [{}, {rr: 1}]}", ["'rr' under 'stages.1'"]),
        ("{max_steps: 1}", ["missing key 'model'", "str"]),
        ("{model: m, max_steps: ten}", ["'max_steps'", "'ten' (str)", "expected int"]),
        ("{model: m, max_steps: 1.5}", ["1.5 (float)", "expected int"]),
        ("{model: m, max_steps: true}", ["True (bool)", "expected int"]),
        ("{model: m, learning_rate: true}", ["True (bool)", "expected float"]),
        ("{model: m, learning_rate: fast}", ["'fast' (str)", "expected float"]),
        ("{model: m, learning_rate: .nan}", ["nan (float)", "expected float"]),
        ("{model: m, bf16: 1}", ["1 (int)", "expected bool"]),
        ("{model: 3}", ["'model'", "3 (int)", "expected str"]),
        ("{model: null}", ["null", "expected str"]),
        ("{model: m, belief: grunded}", ["one of 'emitted', 'reference', 'grounded'", "mean 'grounded'"]),
        ("{model: m, targets: q}", ["'q' (str)", "expected a list of str"]),
        ("{model: m, targets: [q, 1]}", ["'targets.1'", "expected str"]),
        ("{model: m, window: [1]}", ["expected a list of 2 values (int, int)"]),
        ("{model: m, trainer: 3}", ["expected a mapping"]),
        ("{model: m, limits: {a: x}}", ["'limits.a'", "expected int"]),
        ("{model: m, lora: 3}", ["'lora'", "expected a mapping or null"]),
        ("{model: m, lora: {r: 0}}", ["'lora'", "r must be at least 1"]),
        ("{model: m, data: 3}", ["expected a path or null"]),
        ("[1]", ["r.yaml", "[1] (list)", "expected a mapping"]),
        ("", ["r.yaml", "null", "expected a mapping"]),
    ],
)
def test_bad_input_names_key_value_and_mend(text: str, parts: list[str]) -> None:
    found = message(text)
    assert all(part in found for part in parts), found


def test_long_values_are_cut_in_messages() -> None:
    assert len(message("{model: m, max_steps: " + "x" * 10_000 + "}")) < 200


def test_closest() -> None:
    assert closest("certainity", ["certainty", "format"]) == "did you mean 'certainty'?"
    assert closest("qqq", ["b", "a"]) == "known: a, b"
    assert closest("qqq", []) == "none is known here"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.sampled_from(["model", "lora", "r", "x"]), s),
    )
)
def test_any_mapping_builds_or_is_an_input_error(value: Any) -> None:
    with contextlib.suppress(InputError):
        build(Config, value, "r.yaml")


@dataclass(frozen=True)
class Cat:
    kind: Literal["cat"] = "cat"
    lives: int = 9


@dataclass(frozen=True)
class Dog:
    kind: Literal["dog"]
    name: str


@dataclass(frozen=True)
class Owner:
    pet: Cat | Dog


def test_kind_picks_the_member_of_a_union() -> None:
    assert build(Owner, {"pet": {"kind": "dog", "name": "Rex"}}, "f") == Owner(Dog("dog", "Rex"))
    assert build(Owner, {"pet": {"lives": 3}}, "f") == Owner(Cat(lives=3))
    with pytest.raises(InputError, match=r"key 'pet.kind' is 'cow' .*expected one of 'cat', 'dog'"):
        build(Owner, {"pet": {"kind": "cow"}}, "f")
    with pytest.raises(InputError, match="unknown key 'name' under 'pet'"):
        build(Owner, {"pet": {"kind": "cat", "name": "Tom"}}, "f")
