"""The parser on arbitrary and mutated completions: no exception, a consistent answer, linear time."""

import gc
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from tasks.completion import ACTIONS, Completion, parse, render
from tests.tasks.completion_strategies import NASTY, TAGS, completions

parse_afresh: Callable[[str], Completion] = parse.__wrapped__


def check(text: str) -> None:
    completion = parse_afresh(text)
    assert completion.action in ACTIONS
    assert completion.well_formed == (completion.problem == "")
    assert not completion.calls or completion.action == "tool_call"
    assert completion.call is (completion.calls[0] if completion.calls else None)
    for call in completion.calls:  # what was read can be written as strict JSON and read again
        arguments = json.dumps(dict(call.arguments), default=str, allow_nan=False)
        if not any(tag in call.name + arguments for tag in TAGS):
            assert parse_afresh(render("", call)).call == call


@settings(max_examples=500, deadline=None)
@given(completions)
def test_any_completion(text: str) -> None:
    check(text)


@pytest.mark.soak
@settings(max_examples=100_000, deadline=None)
@given(completions)
def test_100_000_completions(text: str) -> None:
    check(text)


def seconds(text: str) -> float:
    gc.disable()
    try:
        times = []
        for _ in range(5):
            start = time.process_time()
            parse_afresh(text)
            times.append(time.process_time() - start)
        return min(times)
    finally:
        gc.enable()


@pytest.mark.parametrize("name", NASTY)
def test_linear_time(name: str) -> None:
    # Eight times the text: linear takes 8 times as long, quadratic 64 times; the bound leaves room for noise.
    short, long = NASTY[name](100_000), NASTY[name](800_000)
    ratio = seconds(long) / max(seconds(short), 1e-3)
    if ratio > 24:  # a busy machine deserves a second look
        ratio = seconds(long) / max(seconds(short), 1e-3)
    assert ratio < 24
