"""The worked pairs and weights of the guide (7.2, 7.4), and what must hold for any candidates."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.consequence import Rules, Worth, decisions, pairs, row, weights
from rewards.consequence.decision import Decision, better, redundancy, value_of
from rollout.agents import Spent
from rollout.episode import Limits, Turn
from rollout.forks import Candidate, Fork
from tasks.answer_match import gives_away, holds
from tasks.move import STOP_TEXT, Ask, Stop
from tests.rollout.hand_roles import task

TASK = task()
GOLD = TASK.gold
UIDS = [one.uid for one in TASK.pool]
FORK = Fork(
    "key", "hand", "t1", "pool", "prompted", 0, 0, {"drafter": "d"}, Limits(), "state", "prompt", (), ()
)  # fmt: skip


def decided(
    index: int,
    correct: bool | None,
    complete: int,
    phi: float,
    rho: float,
    characters: int,
    repairs: bool = False,
) -> Decision:
    question = f"{index} " + "x" * (characters - 2)
    return Decision(index, Ask(question), phi, value_of(phi, rho), complete, correct, repairs)


P = {
    number: decided(number, *rest)
    for number, rest in enumerate(
        [
            (True, 3, 0.4, 0.2, 62),
            (True, 2, 0.2, 0.0, 70),
            (False, -1, 0.0, 0.8, 58),
            (None, -1, 0.2, 0.6, 66),
            (True, 3, 0.4, 0.2, 120),
            (None, -1, 0.2, 0.4, 64),
        ],
        1,
    )
}


def test_values() -> None:
    assert value_of(0.4, 0.6) == pytest.approx(0.09)
    assert [P[i].value for i in range(1, 7)] == pytest.approx([0.13, 0.05, -0.13, -0.01, 0.13, 0.01])
    assert redundancy([], ["a"]) == 1.0
    assert redundancy(["a", "b"], ["a"]) == 0.5


def test_worked_pairs() -> None:
    dropped: Counter[str] = Counter()
    found = pairs(FORK, list(P.values()), GOLD, Rules(), dropped)
    ask_ask = {(one.chosen.index, one.rejected.index, one.reason) for one in found if one.kind == "ask_ask"}
    assert ask_ask == {
        (2, 1, "quickest"), (1, 3, "outcome"), (1, 4, "gain"), (1, 6, "gain"), (2, 3, "outcome"),
        (2, 4, "gain"), (4, 3, "gain"), (6, 3, "gain"),
    }  # fmt: skip
    assert dropped == {"tie": 1, "margin": 2, "length": 4}
    # Nothing was in hand and nobody stopped: the best ask over a STOP that nobody tried.
    (extra,) = [one for one in found if one.kind != "ask_ask"]
    assert (extra.kind, extra.chosen.index, extra.rejected.move) == ("not_done", 1, Stop())


def test_worked_weights() -> None:
    assert weights({("many", "ask"): 4, ("one", "ask"): 1}) == pytest.approx(
        {("many", "ask"): 0.8333, ("one", "ask"): 1.6667}, abs=1e-4
    )


def turn(question: str, *uids: str) -> Turn:
    return Turn(question, "", (), uids, "", "", "state", 5, Spent())


def candidate(index: int, *turns: Turn, answer: str = "no idea") -> Candidate:
    return Candidate(index, turns, "policy_stop", STOP_TEXT, answer, Spent())


def forked(*candidates: Candidate, evidence: Sequence[str] = ()) -> Fork:
    return dataclasses.replace(FORK, candidates=candidates, evidence=tuple(evidence))


def test_decisions_are_measured_from_the_state_on() -> None:
    fork = forked(
        candidate(0, turn("lake", UIDS[0], UIDS[3]), turn("orland", UIDS[1]), answer="it is Tom"),
        candidate(1, turn("orland", UIDS[1], UIDS[2])),
        candidate(2),
        evidence=(UIDS[0],),
    )
    first, second, stop = decisions(fork, GOLD)
    assert (first.phi, first.to_complete, first.correct) == (0.0, -1, True)
    assert first.value == pytest.approx(-0.1)  # half of what it fetched was in hand
    assert second.phi == pytest.approx(2 / 3)
    assert (second.to_complete, second.correct) == (1, False)
    assert (stop.asks, stop.value, stop.to_complete) == (False, 0.0, -1)
    assert decisions(fork, GOLD, Worth(ask=0.5))[1].value == pytest.approx(1 / 3 - 0.5)


def test_where_all_is_in_hand_stop_wins() -> None:
    asks = (candidate(0, turn("one more", UIDS[3])), candidate(1, turn("another", UIDS[0])))
    fork = forked(*asks, evidence=UIDS[:3])
    found = pairs(fork, decisions(fork, GOLD), GOLD, Rules(), Counter())
    synthetic = [one for one in found if one.kind == "stop_done"]
    assert [(one.chosen.move, one.rejected.index) for one in synthetic] == [(Stop(), 0)]
    target = row(fork, decisions(fork, GOLD), GOLD, "phi", 0.05, Counter())
    assert target is not None
    assert (target.kind, target.target) == ("stop", STOP_TEXT)
    tried = forked(*asks, candidate(2), evidence=UIDS[:3])
    found = pairs(tried, decisions(tried, GOLD), GOLD, Rules(), Counter())
    recorded = [(one.kind, one.reason, one.chosen.index) for one in found if one.kind != "ask_ask"]
    assert recorded == [("ask_stop", "stop_done", 2), ("ask_stop", "stop_done", 2)]


def test_beside_a_stop_an_ask_wins_by_gain_or_outcome() -> None:
    fork = forked(candidate(0, turn("lake", UIDS[0])), candidate(1, turn("bird", UIDS[3])), candidate(2))
    dropped: Counter[str] = Counter()
    found = pairs(fork, decisions(fork, GOLD), GOLD, Rules(), dropped)
    assert [(one.kind, one.reason, one.chosen.index) for one in found] == [
        ("ask_ask", "gain", 0), ("ask_stop", "not_done", 0)
    ]  # fmt: skip
    assert dropped["ask beside a stop that gained nothing"] == 1
    fork = forked(candidate(0, turn("bird", UIDS[3])), candidate(1, answer="Tom"))
    (pair,) = pairs(fork, decisions(fork, GOLD), GOLD, Rules(), Counter())
    assert (pair.kind, pair.reason, pair.chosen.index) == ("ask_stop", "outcome", 1)


def test_an_ask_that_mends_the_order_is_preferred_where_that_is_asked_for() -> None:
    # s2 is in hand, s1 on which it builds is not: of two asks that gain as much, the one for s1 is to be made
    fork = forked(
        candidate(0, turn("mira", UIDS[2])), candidate(1, turn("lake", UIDS[0])), evidence=(UIDS[1],)
    )
    assert GOLD.graph.passed_over(fork.evidence) == {"s1"}
    assert GOLD.graph.passed_over((UIDS[0], UIDS[1])) == set()
    dropped: Counter[str] = Counter()
    found = pairs(fork, decisions(fork, GOLD), GOLD, Rules(), dropped)
    assert [one.kind for one in found] == ["not_done"]
    assert found[0].chosen.index == 0
    assert dropped["tie"] == 1
    found = pairs(fork, decisions(fork, GOLD, repair=True), GOLD, Rules(), Counter())
    assert [(one.kind, one.reason, one.chosen.index) for one in found] == [
        ("ask_ask", "repair", 1), ("not_done", "not_done", 1)
    ]  # fmt: skip


def test_a_question_that_holds_the_answer_is_never_kept() -> None:
    gold = dataclasses.replace(GOLD, answers=("Thomas Miller",))
    fork = forked(
        candidate(0, turn("is thomas MILLER the mayor", *UIDS[:3])), candidate(1, turn("bird", UIDS[3]))
    )
    dropped: Counter[str] = Counter()
    found = pairs(fork, decisions(fork, gold), gold, Rules(), dropped)
    assert [(one.kind, one.chosen.index) for one in found] == [("not_done", 1)]
    assert dropped["holds the gold answer"] == 1
    assert row(fork, decisions(fork, gold), gold, "phi", 0.05, Counter()) is None
    assert not gives_away("is Tom the mayor", GOLD.answers)  # too short to be told from chance


@pytest.mark.parametrize(("gate", "kept"), [("phi", True), ("value", False)])
def test_the_gate_of_imitation_is_a_switch(gate: str, kept: bool) -> None:
    # phi 1/3, rho 2/3: value .05, which does not clear .05.
    fork = forked(candidate(0, turn("lake", UIDS[0], UIDS[3], UIDS[2])), evidence=UIDS[2:])
    found = decisions(fork, GOLD)
    assert found[0].value == pytest.approx(0.05)
    assert (row(fork, found, GOLD, gate, 0.05, Counter()) is not None) is kept  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "answer", "correct"),
    [
        (("Tom",), "The mayor is Tom.", True),
        (("Tom",), "Tomas", False),
        (("New York",), "in york, new", False),
        (("yes", "true"), "Yes.", True),
        (("yes", "true"), "yes and no", None),
        (("no", "false"), "that is false", True),
        (("no", "false"), "no information was found", None),
        (("Tom",), "Tom, but it is not known", True),
        ((), "Tom", None),
    ],
)
def test_answers(answers: tuple[str, ...], answer: str, correct: bool | None) -> None:
    assert holds(answer, answers) is correct


DECISIONS = st.builds(
    decided, st.integers(0, 9), st.sampled_from([True, False, None]), st.integers(-1, 4),
    st.sampled_from([0.0, 0.2, 0.4, 1.0]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(5, 120),
    st.booleans(),
)  # fmt: skip


@given(DECISIONS, DECISIONS)
def test_the_order_is_antisymmetric(a: Decision, b: Decision) -> None:
    order, turned = better(a, b), better(b, a)
    assert (order is None) == (turned is None)
    if order is not None and turned is not None:
        assert order[0] is turned[0]
        assert order[2] == turned[2]


@given(DECISIONS, DECISIONS, DECISIONS)
def test_the_order_is_transitive_on_each_key(a: Decision, b: Decision, c: Decision) -> None:
    first, second = better(a, b), better(b, c)
    if first and second and first[0] is a and second[0] is b and first[2] == second[2]:
        third = better(a, c)
        assert third is not None
        if third[2] == first[2]:
            assert third[0] is a


@given(st.lists(DECISIONS, max_size=8), st.integers(1, 12))
def test_a_state_gives_no_more_pairs_than_its_cap(found: list[Decision], most: int) -> None:
    numbered = [dataclasses.replace(one, index=i) for i, one in enumerate(found)]
    dropped: Counter[str] = Counter()
    kept = pairs(FORK, numbered, GOLD, Rules(max_pairs=most), dropped)
    assert sum(one.kind != "not_done" for one in kept) <= most
    assert len({one.id for one in kept}) == len(kept)
    again = pairs(FORK, numbered, GOLD, Rules(max_pairs=most), Counter())
    assert again == kept
