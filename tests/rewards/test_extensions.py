"""The named extensions: signed grounding, grounding penalty, proper score, label certainty."""

import pytest

from rewards import certain_label, grounding_penalty, proper_score, signed_grounding
from rewards.label_certainty import label_reliability, label_support
from tasks.completion import parse
from tasks.errors import InputError
from tasks.tool_schema import ToolCall, parse_tool
from tests.rewards.worked import ASK, DECLINE, DIRECT, said, task

TRIP = parse_tool(
    {
        "name": "trip",
        "parameters": {
            "type": "object",
            "properties": {
                "origin": {"type": "string"},
                "target": {"type": "string"},
                "seats": {"type": "integer"},
            },
            "required": ["origin", "target"],
        },
    }
)
FULL = ToolCall("trip", {"origin": "Ghent", "target": "Bruges"})
HALF = ToolCall("trip", {"origin": "Ghent", "target": "Lille"})
NONE = ToolCall("trip", {"origin": "Paris", "target": "Lille"})
CALL_ROW = task("From Ghent to Bruges", "tool_call", FULL, tools=(TRIP,))
NOISY_CALL_ROW = task("From Ghent", "tool_call", HALF, tools=(TRIP,))  # an ask row, labelled call
ASK_ROW = task("From Ghent", "request_for_info", HALF, "target", tools=(TRIP,))
NOISY_ASK_ROW = task("From Ghent to Bruges", "request_for_info", FULL, "target", tools=(TRIP,))
DECLINE_ROW = task("Sing", "cannot_answer", tools=(TRIP,))


@pytest.mark.parametrize(
    ("row", "answer", "support", "expected"),
    [
        (CALL_ROW, FULL, "product", 2.0),
        (CALL_ROW, HALF, "product", 1e-4 * 1 - 0.2 * (1 - 1e-4)),
        (CALL_ROW, HALF, "share", 0.5 * 1 - 0.2 * 0.5),
        (NOISY_CALL_ROW, HALF, "share", 0.5 * 2 - 0.2 * 0.5),
        (ASK_ROW, HALF, "share", -0.1),
        (ASK_ROW, NONE, "share", -0.2),
        (ASK_ROW, ToolCall("other"), "share", -0.2),
        (ASK_ROW, ASK, "share", 1.0),
        (CALL_ROW, ASK, "share", 0.0),
        (DECLINE_ROW, DECLINE, "product", 1.0),
    ],
)
def test_signed_grounding(row, answer, support, expected):
    config = signed_grounding.Config(support=support)
    assert signed_grounding.score(row, said(answer), config).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "share", "product"),
    [
        (FULL, 0.0, 0.0),
        (HALF, -0.5, -(1 - 1e-4)),
        (NONE, -1.0, -(1 - 1e-8)),
        (ASK, 0.0, 0.0),
        (DIRECT, 0.0, 0.0),
    ],
)
def test_grounding_penalty_charges_calls_alone(answer, share, product):
    found = [
        grounding_penalty.score(CALL_ROW, said(answer), grounding_penalty.Config(support=form)).value
        for form in ("share", "product")
    ]
    assert found == pytest.approx([share, product])


def test_a_call_that_cannot_be_read_has_no_support():
    broken = parse("<answer><tool_call>{</tool_call></answer>")
    assert grounding_penalty.score(CALL_ROW, broken, grounding_penalty.Config()).value == -1.0


def test_optional_arguments_neither_help_nor_harm_support():
    call = said(ToolCall("trip", {**FULL.arguments, "seats": 7}))
    assert grounding_penalty.score(CALL_ROW, call, grounding_penalty.Config()).value == 0.0


@pytest.mark.parametrize(
    ("row", "answer", "expected"),
    [
        (CALL_ROW, FULL, 1.0),  # pi 1, exact
        (CALL_ROW, HALF, 1 - 1e-8),  # pi 1e-4, not exact
        (NOISY_CALL_ROW, HALF, 1 - (1e-4 - 1) ** 2),  # exact by the label, without support
        (NOISY_ASK_ROW, FULL, 0.0),  # supported, and never exact where the label is an ask
        (CALL_ROW, ASK, 0.0),
        (ASK_ROW, ASK, 1.0),
        (DECLINE_ROW, DECLINE, 1.0),
    ],
)
def test_proper_score(row, answer, expected):
    assert proper_score.score(row, said(answer), proper_score.Config()).value == pytest.approx(expected)


def test_label_support_and_reliability_of_clean_and_noisy_rows():
    rows = [CALL_ROW, NOISY_CALL_ROW, ASK_ROW, NOISY_ASK_ROW, DECLINE_ROW]
    assert [label_support(row, "loose", "share") for row in rows] == [1.0, 0.5, 0.5, 1.0, None]
    assert [label_support(row, "loose", "product") for row in rows] == pytest.approx([1, 1e-4, 1e-4, 1, None])
    assert [label_reliability(row, "loose", "share") for row in rows] == [1.0, 0.5, 0.5, 0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "trust", "call", "ask"),
    [
        (CALL_ROW, 0.5, 1.0, 0.0),
        (NOISY_CALL_ROW, 0.5, 0.75, 0.25),
        (NOISY_CALL_ROW, 1.0, 0.5, 0.5),
        (ASK_ROW, 0.5, 0.25, 0.75),
        (NOISY_ASK_ROW, 0.5, 0.5, 0.5),
        (NOISY_ASK_ROW, 0.8, 0.8, 0.2),
        (NOISY_ASK_ROW, 0.0, 0.0, 1.0),
        (DECLINE_ROW, 0.5, 0.0, 0.0),
    ],
)
def test_certain_label(row, trust, call, ask):
    config = certain_label.Config(trust=trust, support="share")
    found = [certain_label.score(row, said(answer), config).value for answer in (FULL, ASK, DIRECT)]
    assert found == pytest.approx([call, ask, 0.0])


def test_certain_label_leaves_other_rows_as_they_are():
    assert certain_label.score(DECLINE_ROW, said(DECLINE), certain_label.Config()).value == 1.0


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (certain_label.Config, {"trust": 1.5}),
        (signed_grounding.Config, {"penalty": -0.1}),
        (signed_grounding.Config, {"penalty": float("inf")}),
        *(
            (module.Config, {"epsilon": epsilon})
            for module in (certain_label, grounding_penalty, proper_score, signed_grounding)
            for epsilon in (0.0, -1.0, 50.0, float("nan"))
        ),
    ],
)
def test_options_outside_their_range_are_refused(config, options):
    with pytest.raises(InputError, match=next(iter(options))):
        config(**options)
