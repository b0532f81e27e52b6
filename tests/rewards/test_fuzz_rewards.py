"""Parser and rewards on arbitrary and mutated completions: no exception, scores in range, linear time."""

import gc
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewards.resolve import Reward, names, resolve
from tasks.completion import parse, render
from tasks.tool_schema import ToolCall, parse_tool
from tasks.tool_task import ToolTask
from tests.rewards.worked import task
from tests.tasks.completion_strategies import NASTY, completions, json_values, mutated
from train.self_test import gold_completion, own_rows

VARIANTS: dict[str, list[dict[str, object]]] = {
    "tool_match": [{"credit": "partial"}],
    "certainty": [
        {
            "belief": belief,
            "scope": scope,
            "parameters": parameters,
            "product": product,
            "grounding": grounding,
        }
        for belief, scope, parameters, product, grounding in [
            ("emitted", "all", "all", "raw", "loose"),
            ("reference", "all", "required", "normalised", "loose"),
            ("grounded", "all", "all", "raw", "whole"),
            ("grounded", "class", "all", "normalised", "half"),
        ]
    ],
    "signed_grounding": [{"support": "share", "credit": "partial", "penalty": 1.0}],
    "grounding_penalty": [{"support": "product", "grounding": "half"}],
    "proper_score": [{"support": "share"}],
    "certain_label": [{"trust": 1.0, "support": "share"}],
}
REWARDS: list[tuple[str, Reward]] = [
    (f"{name} {options}", resolve(name, options, "fuzz"))
    for name in names()
    for options in ({}, *VARIANTS.get(name, []))
]

# A tool whose name and parameters the strategies of completions use, with every kind of type.
TOOL = parse_tool(
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "number"}},
                "city": {"type": "string", "default": "Ghent"},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
                "b": {"type": "boolean"},
                "o": {"type": "object"},
                "any": {},
            },
            "required": ["a", "city", "days"],
        },
    }
)
CALL = ToolCall("f", {"a": [1, 2.5], "city": "Leeds", "days": 3})
SAID = "Leeds for three days from March 3rd 2027, 10:30 am, at 1,000 or 50 %; 日本"
ROWS: list[ToolTask] = [
    *own_rows()[::7],
    *(task(SAID, gold, CALL, "days", tools=(TOOL,)) for gold in ("tool_call", "request_for_info", "direct")),
]
gold_texts = st.sampled_from([gold_completion(row) for row in own_rows()])
called = st.dictionaries(
    st.sampled_from(["a", "city", "days", "b", "o", "any", "x"]), json_values, max_size=5
).map(lambda arguments: render("", ToolCall("f", arguments)))
texts = st.one_of(completions, mutated(gold_texts), called, mutated(called))


def check(row: ToolTask, text: str) -> None:
    completion = parse.__wrapped__(text)
    for name, reward in REWARDS:
        score = reward.scorer(row, completion)
        low, high = reward.range
        assert score.value is None or low - 1e-9 <= score.value <= high + 1e-9, (name, score)
        assert len(score.reason.splitlines()) <= 1, (name, score)


@example(ROWS[0], '<tool_call>{"name": "\\n\\u2028"}</tool_call>')
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ROWS), texts)
def test_any_completion(row: ToolTask, text: str) -> None:
    check(row, text)


@pytest.mark.soak
@pytest.mark.timeout(7200)  # about half an hour on a busy machine
@settings(max_examples=100_000, deadline=None)
@given(st.sampled_from(ROWS), texts)
def test_100_000_completions(row: ToolTask, text: str) -> None:
    check(row, text)


NASTY_VALUES = {
    "digits": lambda n: "9" * n,
    "digits and commas": lambda n: "1," * (n // 2),
    "digits and points": lambda n: "1." * (n // 2),
    "spaces": lambda n: " " * n,
    "capitals": lambda n: "A " * (n // 2),
    "names": lambda n: "Of the " * (n // 7),
    "dates": lambda n: "2027-03-03 " * (n // 11),
    "times": lambda n: "10:30 " * (n // 6),
    "signs": lambda n: "-/:.," * (n // 5),
    "one letter of the text": lambda n: "l" * n,
    "unspaced": lambda n: "日" * n,
    "accents": lambda n: "é" * n,
    "list": lambda n: ["Leeds"] * (n // 10),
}


def seconds(text: str) -> float:
    gc.disable()
    try:
        times = []
        for _ in range(3):
            start = time.process_time()
            check(ROWS[-3], text)
            times.append(time.process_time() - start)
        return min(times)
    finally:
        gc.enable()


def in_call(value: object) -> str:
    return render("", ToolCall("f", {"city": value, "any": value}))


@pytest.mark.parametrize("name", [*NASTY, *NASTY_VALUES])
def test_linear_time(name: str) -> None:
    # Eight times the text: linear takes 8 times as long, quadratic 64 times; the bound leaves room for noise.
    if name in NASTY:
        short, long = NASTY[name](5_000), NASTY[name](40_000)
    else:
        short, long = in_call(NASTY_VALUES[name](5_000)), in_call(NASTY_VALUES[name](40_000))
    ratio = seconds(long) / max(seconds(short), 1e-3)
    if ratio > 24:  # a busy machine deserves a second look
        ratio = seconds(long) / max(seconds(short), 1e-3)
    assert ratio < 24
