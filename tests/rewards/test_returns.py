"""Returns of moves, worked by hand on the chain lake, Orland, Mira."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.consequence.decision import Worth, decisions
from rewards.consequence.returns import Return, return_of
from rollout.agents import Spent
from rollout.episode import Limits, Turn
from rollout.forks import Candidate, Fork
from tasks.errors import InputError
from tests.rollout.hand_roles import task

GOLD = task().gold
LAKE, ORLAND, MIRA, OTHER = (one.uid for one in task().pool)
WANTED = GOLD.graph.wanted


def turns(*fetched: Sequence[str]) -> list[Turn]:
    return [Turn(f"q{i}", "", (), tuple(uids), "", "", "", 1, Spent()) for i, uids in enumerate(fetched)]


@pytest.mark.parametrize(
    ("fetched", "stopped", "evidence", "rule", "worth"),
    [
        ((), True, (), Return(), -1.0),  # a STOP with nothing in hand
        ((), True, (LAKE, ORLAND), Return(), -1 / 3),
        ((), True, (LAKE, ORLAND, MIRA), Return(), 0.0),
        ((), True, (LAKE, ORLAND), Return(missing=0.3), -0.1),
        (([LAKE],), False, (), Return(), 1 / 6 - 0.05),  # halted after one good question
        (([LAKE],), True, (), Return(), 1 / 6 - 0.05 - 2 / 3),  # the STOP after it came too early
        (([LAKE],), True, (), Return(horizon="turn"), 1 / 6 - 0.05),
        (([LAKE, OTHER],), False, (OTHER,), Return(), 1 / 6 - 0.05 - 0.05),  # half of it was in hand
        (([],), False, (), Return(), -0.15),  # fetched nothing
        (([LAKE], [ORLAND], [MIRA]), True, (), Return(), 0.5 - 0.15),
        (([LAKE], [ORLAND]), True, (), Return(discount=0.5), 1.5 * (1 / 6 - 0.05) - 0.25 / 3),
        (([OTHER],), False, (), Return(worth=Worth(ask=0.2)), -0.2),
    ],
)
def test_worked(
    fetched: Sequence[Sequence[str]], stopped: bool, evidence: Sequence[str], rule: Return, worth: float
) -> None:
    assert return_of(turns(*fetched), stopped, evidence, WANTED, rule) == pytest.approx(worth)


def test_nothing_required_is_unknown() -> None:
    assert return_of(turns([LAKE]), True, (), (), Return()) is None


def test_going_on_beats_stopping_exactly_while_something_is_missing() -> None:
    assert (return_of(turns([MIRA]), True, (LAKE, ORLAND), WANTED, Return()) or 0) > -1 / 3
    have = (LAKE, ORLAND, MIRA)
    assert (return_of(turns([MIRA]), True, have, WANTED, Return()) or 0) < 0.0


UIDS = st.lists(st.sampled_from([LAKE, ORLAND, MIRA, OTHER]), max_size=2, unique=True)


@given(
    st.lists(UIDS, min_size=2, max_size=6), st.lists(st.sampled_from([LAKE, OTHER]), max_size=2, unique=True)
)
def test_the_order_of_rewards_is_that_of_labels(fetched: list[list[str]], evidence: list[str]) -> None:
    """Over one turn the reward of an ask is its value, so both rank two asks alike."""
    candidates = tuple(
        Candidate(index, tuple(turns(uids)), "budget", "", "", Spent()) for index, uids in enumerate(fetched)
    )
    fork = Fork("k", "hand", "t1", "p", "p", 0, 0, {}, Limits(), "", "", tuple(evidence), candidates)
    rule = Return(horizon="turn")
    for one, candidate in zip(decisions(fork, GOLD), candidates, strict=True):
        found = return_of(candidate.turns, False, evidence, WANTED, rule)
        assert found == pytest.approx(one.value)


@pytest.mark.parametrize(
    ("wrong", "told"), [({"discount": 1.5}, "discount is 1.5"), ({"missing": -1.0}, "they are at least 0")]
)
def test_settings_out_of_range(wrong: dict[str, float], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Return(**wrong)  # type: ignore[arg-type]
