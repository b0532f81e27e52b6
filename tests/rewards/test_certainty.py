import pytest

from rewards import certainty, tool_match
from rewards.stack import build
from tasks.completion import parse
from tasks.errors import InputError
from tasks.tool_schema import ToolCall
from tests.rewards.worked import ASK, BOOK_TABLE, DECLINE, DIRECT, advantages, said, task

LEEDS = ToolCall("find_train", {"city": "Leeds"})
ASK_ROW = task("I need a train.", "request_for_info", LEEDS, held_out="city")
CALL_ROW = task("A train to Leeds, please.", "tool_call", LEEDS)
GOOD_ASK, INVENTED, REFUSAL = said(ASK), said(LEEDS), said(DECLINE)
BROKEN_ASK = parse(f"<answer>{ASK}</answer>")
OTHER_CITY = said(ToolCall("find_train", {"city": "York"}))


def stack(scope, **options):
    beside = [] if scope == "all" else [{"use": "format"}, {"use": "tool_match"}]
    return build([*beside, {"use": "certainty", "scope": scope, **options}])


def rewards(rewarded, row, completions):
    return [
        sum(scorer(row, completion).value or 0.0 for scorer in rewarded.scorers) for completion in completions
    ]


@pytest.mark.parametrize(
    ("belief", "scope", "expected", "scaled"),
    [
        ("reference", "class", [1.9999, 1, 1, 0.9999], [1.4997, -0.4998, -0.4998, -0.5000]),
        ("reference", "all", [1.9998, 0.0001, 1, 0.9999], [1.2246, -1.2246, 0.0001, -0.0001]),
        ("emitted", "class", [2, 1, 1, 1], [1.4997, -0.4999, -0.4999, -0.4999]),
        ("emitted", "all", [2, 1, 1, 1], [1.4997, -0.4999, -0.4999, -0.4999]),
        ("grounded", "all", [2, 0.0001, 1, 1], [1.2246, -1.2246, 0, 0]),
    ],
)
@pytest.mark.parametrize("grounding", ["whole", "half", "loose"])
def test_worked_rewards_and_advantages_of_an_ask_row(belief, scope, expected, scaled, grounding):
    """Good ask, call with an invented value, refusal, ask in a broken format."""
    rewarded = stack(scope, belief=belief, grounding=grounding)
    found = rewards(rewarded, ASK_ROW, [GOOD_ASK, INVENTED, REFUSAL, BROKEN_ASK])
    assert found == pytest.approx(expected, abs=1e-4)
    assert advantages(found) == pytest.approx(scaled, abs=1e-4)


@pytest.mark.parametrize(
    ("parameters", "scope", "expected", "scaled"),
    [
        ("all", "class", [2.5, 1.5, 1, 1], [1.4140, 0, -0.7070, -0.7070]),
        ("all", "all", [1.5, 1, 0.5, 1], [1.2244, 0, -1.2244, 0]),
        ("required", "class", [3, 2, 1, 1], [1.3054, 0.2611, -0.7833, -0.7833]),
        ("required", "all", [3, 2, 0, 1], [1.1618, 0.3873, -1.1618, -0.3873]),
    ],
)
def test_worked_rewards_and_advantages_of_a_call_row(parameters, scope, expected, scaled):
    """Right call, wrong argument, ask, refusal; the optional boolean halves `parameters: all`."""
    rewarded = stack(scope, belief="reference", parameters=parameters)
    found = rewards(rewarded, CALL_ROW, [said(LEEDS), OTHER_CITY, GOOD_ASK, REFUSAL])
    assert found == pytest.approx(expected, abs=1e-4)
    assert advantages(found) == pytest.approx(scaled, abs=1e-4)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (1.0, [1.2074, -0.7244]),
        (0.9999, [1.2074, -0.7244]),
        (0.5, [1.2071, -0.7243]),
        (1e-4, [0.4118, -0.2471]),
    ],
)
def test_group_scaling_cancels_a_certainty_that_the_group_shares(weight, expected):
    """Three of eight right: all that is left of the weight is the 1e-4 beside the deviation."""
    found = advantages([1 + weight] * 3 + [1.0] * 5)
    assert [found[0], found[-1]] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("completion", "belief", "expected"),
    [
        (said(LEEDS), "emitted", 1.0),
        (GOOD_ASK, "emitted", 1.0),
        (GOOD_ASK, "grounded", 1.0),
        (GOOD_ASK, "reference", 1 - 1e-4),
        (INVENTED, "reference", 1e-4),
        (INVENTED, "grounded", 1e-4),
        (REFUSAL, "reference", 1.0),
        (said(DIRECT), "grounded", 1.0),
        (said(ToolCall("teleport", {"city": "Leeds"})), "emitted", 0.0),
        (said("<tool_call>not json</tool_call>"), "emitted", 0.0),
        (parse(""), "emitted", 1.0),
    ],
)
def test_certainty_by_belief(completion, belief, expected):
    found = certainty.certainty(ASK_ROW, completion, certainty.Config(belief=belief))
    assert found.value == pytest.approx(expected, abs=1e-9)


def test_a_row_without_a_call_leaves_the_reference_belief_empty():
    row = task("Sing.", "cannot_answer")
    config = certainty.Config(belief="reference")
    assert certainty.certainty(row, GOOD_ASK, config).value == 1.0
    assert certainty.certainty(row, INVENTED, config).value == 0.0


def test_of_several_calls_the_least_certain_counts():
    both = parse(
        '<tool_call>{"name": "find_train", "arguments": {"city": "Leeds"}}</tool_call>'
        '<tool_call>{"name": "find_train", "arguments": {"city": "Rome"}}</tool_call>'
    )
    assert certainty.certainty(CALL_ROW, both, certainty.Config()).value == pytest.approx(1e-4)


def test_normalised_over_one_candidate_is_always_certain():
    config = certainty.Config(product="normalised")
    assert certainty.certainty(ASK_ROW, INVENTED, config).value == 1.0


@pytest.mark.parametrize("belief", ["emitted", "grounded"])
def test_what_tool_match_calls_right_is_in_its_domain(belief):
    dinner = ToolCall("book_table", {"cuisine": "thai", "city": "Leeds", "party_size": 4})
    row = task("Thai for 4 in Leeds", "tool_call", dinner, tools=(BOOK_TABLE,))
    spaced = said(ToolCall("book_table", {**dinner.arguments, "cuisine": " thai"}))
    assert tool_match.score(row, spaced, tool_match.Config()).value == 1.0
    assert certainty.certainty(row, spaced, certainty.Config(belief=belief)).value == 1.0


def test_the_reason_names_certainty_and_conflict():
    found = certainty.score(CALL_ROW, said(ToolCall("find_train", {"city": None})), certainty.Config())
    assert found.reason == "right action, certainty 0, 'city' in conflict"
    assert found.parts == {"certainty": 0.0}


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1.5])
def test_epsilon_outside_its_range_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        certainty.Config(epsilon=epsilon)
