"""Readings of a window, against numbers worked by hand; merging ranks; the alarm of the action mix."""

from dataclasses import replace
from math import sqrt

import pytest

from rewards.score import Score
from tasks.completion import ACTIONS
from tests.train.scored import CALL_TEXTS, TRAIN, WEIGHTS, batch
from train.readings import MixAlarm, certainty_of, confusion, earned, mean, read, rows_of


@pytest.fixture(scope="module")
def rows():
    return rows_of(batch(), 0, WEIGHTS)


def test_rows_say_what_each_completion_did(rows):
    assert [row.action for row in rows] == [
        "tool_call", "tool_call", "request_for_info", "direct",
        "request_for_info", "tool_call", "tool_call", "cannot_answer",
    ]  # fmt: skip
    assert [row.right for row in rows] == [True, False, False, False, True, False, False, False]
    assert [row.called for row in rows] == [True, True, False, False, False, True, True, False]
    # An ungrounded city is as good as none: epsilon. No call at all: the ask is certain.
    assert [row.certainty for row in rows] == [1, 1e-4, 1, 1, 1, 1e-4, 1e-4, 1]
    # .5 format + tool match + certainty x class - .2 x 10/40 for a call without support
    assert [row.total for row in rows] == pytest.approx([2.5, 0.4501, 0.5, 0, 1.5, 0.45, 0.45, 0.5])


def test_readings_by_hand(rows):
    found = read(rows)
    expected = {
        "accuracy/action": 3 / 8,
        "accuracy/exact": 2 / 8,
        "well_formed": 7 / 8,
        "reward/total": (2.5 + 0.4501 + 0.5 + 0 + 1.5 + 0.45 + 0.45 + 0.5) / 8,
        "action/tool_call": 4 / 8,
        "action/request_for_info": 2 / 8,
        "action/cannot_answer": 1 / 8,
        "action/direct": 1 / 8,
        "gold/tool_call": 0.5,
        "gold/request_for_info": 0.5,
        "gold/direct": 0,
        "recall/tool_call": 2 / 4,
        "recall/request_for_info": 1 / 4,
        "recall/cannot_answer": None,
        "hallucinated/request_for_info": 2 / 4,
        "hallucinated/cannot_answer": None,
        "certainty/tool_call": (3 + 1e-4) / 4,
        "certainty/request_for_info": (2 + 2e-4) / 4,
        "rewards/format/mean": 7 / 8,
        "rewards/format/applies": 1,
        "rewards/tool_match/mean": 1 / 4,  # over the four rows whose label is a call
        "rewards/tool_match/applies": 0.5,
        "parts/certainty/certainty": (5 + 3e-4) / 8,
        "calibration/brier": 3e-8 / 4,  # certainties 1, e, e, e against 1, 0, 0, 0
        "calibration/ece": 3e-4 / 4,
        "calibration/auroc": 1,
        "groups/no_spread": 0,
        "groups/all_right": 0,
        "groups/none_right": 0,
        # unbiased deviations of (1, e, 1, 1) and (1, e, e, 1)
        "groups/certainty_spread": (1 - 1e-4) * (sqrt(1 / 4) + sqrt(1 / 3)) / 2,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert "hallucinated/tool_call" not in found


def test_confusion(rows):
    assert confusion(rows) == {
        "tool_call": {"tool_call": 2, "request_for_info": 1, "cannot_answer": 0, "direct": 1},
        "request_for_info": {"tool_call": 2, "request_for_info": 1, "cannot_answer": 1, "direct": 0},
    }


def test_nothing_observed_is_no_reading():
    assert read([]) == {}
    assert confusion([]) == {}
    assert mean([]) is None
    assert mean([None, 1.0, None, 0.0]) == 0.5


def test_a_group_that_spans_ranks_is_one_group(rows):
    # Each rank holds every other completion, so half of each group, under the same number of the scoring.
    merged = rows[::2] + rows[1::2]
    assert read(merged) == pytest.approx(read(rows))
    assert read(rows[::2])["groups/certainty_spread"] != read(rows)["groups/certainty_spread"]


def test_the_same_task_in_two_scorings_is_two_groups():
    alike = (CALL_TEXTS[0],) * 2
    later = rows_of(batch((TRAIN,) * 2, (CALL_TEXTS[1],) * 2), 1, WEIGHTS)
    found = read(rows_of(batch((TRAIN,) * 2, alike), 0, WEIGHTS) + later)
    assert found["groups/no_spread"] == 1
    assert found["groups/all_right"] == 0.5
    assert found["groups/none_right"] == 0.5


def test_lone_completions_have_no_groups():
    found = read(rows_of(batch((TRAIN,), CALL_TEXTS[:1]), 0, WEIGHTS))
    assert found["groups/no_spread"] is None
    assert found["groups/certainty_spread"] is None


def test_warm_up_scales_what_a_reward_adds():
    score = batch().scores[1]
    for step, factor in ((0, 0), (10, 0.25), (40, 1), (400, 1)):
        assert earned(score, WEIGHTS, step)["grounding_penalty"] == pytest.approx(-0.2 * factor)
    assert "tool_match" not in earned(batch().scores[4], WEIGHTS, 0)


@pytest.mark.parametrize("value", [float("nan"), -1.0, 1.5])
def test_a_certainty_that_is_none_falls_back_to_the_default(value):
    score = batch().scores[1]
    odd = replace(score, columns={"own": Score(1.0, {"certainty": value})})
    assert certainty_of(TRAIN, odd) == 1e-4
    assert certainty_of(TRAIN, replace(score, columns={"own": Score(1.0, {"certainty": 0.3})})) == 0.3


def mix(rows, counts):
    """Rows with these (gold, action) pairs, as many as said."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    return [replace(rows[0], gold=gold, action=action) for gold, action in pairs]


T, R, C, D = ACTIONS


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({(T, T): 50, (R, R): 50}, []),
        ({(T, T): 50, (R, T): 50}, ["tool_call takes over", "request_for_info is lost"]),
        ({(T, T): 50, (R, T): 44, (R, C): 4, (R, R): 2}, []),
        ({(T, T): 50, (R, T): 44, (R, C): 5, (R, R): 1}, ["request_for_info is lost"]),
        ({(T, T): 92, (D, T): 8}, ["tool_call takes over"]),  # direct is right on too few rows to be missed
        ({(T, T): 98, (R, T): 2}, []),  # the labels are as lopsided
        ({(T, T): 20, (R, T): 20}, []),  # too few completions to tell
    ],
)
def test_the_alarm_of_the_action_mix(rows, counts, expected):
    assert list(MixAlarm().update(mix(rows, counts))) == expected


def test_the_alarm_looks_at_a_window_of_scorings(rows):
    good, bad = mix(rows, {(T, T): 50, (R, R): 50}), mix(rows, {(T, T): 50, (R, T): 50})
    alarm = MixAlarm(window=2)
    assert alarm.update(good) == {}
    assert alarm.update([replace(row, scoring=1) for row in bad]) == {}
    told = alarm.update([replace(row, scoring=2) for row in bad])
    assert told["request_for_info is lost"] == (
        "request_for_info is 0.0% of the completions and right on 50.0% of the rows"
    )
    assert alarm.update([replace(row, scoring=3 + i) for i in range(2) for row in good]) == {}
