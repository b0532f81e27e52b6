"""Answers by each suite's rule: worked numbers, a second implementation, and what models write instead."""

import re
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.answers import normalized, score, token_f1
from tasks.multi_hop import Gold
from tasks.need_graph import NeedGraph

GOLD = Gold("musique", "t", ("Eiffel Tower", "La dame de fer"), NeedGraph((), ()), "t")
YES = Gold("strategyqa", "t", ("yes", "true"), NeedGraph((), ()), "t")


def test_the_worked_f1() -> None:
    assert token_f1("the Eiffel Tower in Paris", "Eiffel Tower") == pytest.approx(0.6667, abs=5e-5)


@pytest.mark.parametrize(
    ("answer", "f1", "exact", "contains"),
    [
        ("The Eiffel Tower!", 1.0, 1.0, 1.0),
        ("la dame de fer", 1.0, 1.0, 1.0),
        ("the Eiffel Tower in Paris", 2 / 3, 0.0, 1.0),
        ("Tower Eiffel", 1.0, 0.0, 0.0),
        ("", 0.0, 0.0, 0.0),
    ],
)
def test_names(answer: str, f1: float, exact: float, contains: float) -> None:
    found = score(answer, GOLD)
    assert [found.f1, found.exact, found.contains] == pytest.approx([f1, exact, contains])


@pytest.mark.parametrize(
    ("answer", "exact", "contains"),
    [
        ("Yes, it is.", 1.0, 1.0),
        ("true", 1.0, 1.0),
        ("No.", 0.0, 0.0),
        ("No, that is not true.", 0.0, 0.0),
        ("yes and no", 0.0, None),
        ("true or false", 0.0, None),
        ("Yes, but the paragraphs do not say so.", 0.0, None),
    ],
)
def test_yes_or_no(answer: str, exact: float, contains: float | None) -> None:
    found = score(answer, YES)
    assert (found.f1, found.exact, found.contains) == (exact, exact, contains)


def test_a_hedge_is_no_no() -> None:
    found = score("There is no information on that.", replace(YES, answers=("no", "false")))
    assert (found.exact, found.contains, found.hedged) == (0.0, None, 1.0)


def test_2wiki_gives_yes_and_no_credit_for_equality_alone() -> None:
    gold = replace(GOLD, suite="2wiki", answers=("yes",))
    assert [score(answer, gold).f1 for answer in ("yes", "yes it is", "no")] == [1.0, 0.0, 0.0]
    assert score("yes it is", replace(gold, suite="musique")).f1 == pytest.approx(0.5)
    assert score("no", replace(gold, answers=("no one",))).f1 == 0.0


def test_frames_asks_whether_the_answer_is_in_it() -> None:
    gold = replace(GOLD, suite="frames")
    assert score("I believe it is the Eiffel Tower in Paris", gold).exact == 1.0


def test_a_task_without_an_answer_is_undefined() -> None:
    found = score("anything", replace(GOLD, answers=()))
    assert (found.f1, found.exact, found.contains) == (None, None, None)


@pytest.mark.parametrize(
    ("answer", "hedged"),
    [
        ("The answer is not in the paragraphs.", 1.0),
        ("It cannot be determined.", 1.0),
        ("I don't know", 1.0),
        ("I don\u2019t know", 1.0),
        ("There is not enough information", 1.0),
        ("There is no information about him.", 1.0),
        ("Unknown.", 1.0),
        ("The founder is unknown", 1.0),
        ("The evidence does not mention a date.", 1.0),
        ("His birthplace is not given.", 1.0),
        ("Unable to determine", 1.0),
        ("No, bananas do not contain seeds.", 0.0),
        ("No, polar bears cannot be found there.", 0.0),
        ("It is not in the United Kingdom.", 0.0),
        ("Tomb of the Unknown Soldier", 0.0),
        ("Knowle", 0.0),
        ("Not a Love Story", 0.0),
    ],
)
def test_hedges(answer: str, hedged: float) -> None:
    assert score(answer, GOLD).hedged == hedged


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ('{"action": "ASK", "question": "who?"}', 1.0),
        ('<tool_call>{"name": "f"}</tool_call>', 1.0),
        ('```json\n{"action": "STOP"}\n```', 1.0),
        ('[{"name": "f", "arguments": {}}]', 1.0),
        ('{"action": "ASK", "question": "wh', 1.0),
        ('{"answer": "Paris"}', 0.0),
        ('The "action": a film', 0.0),
        ("{Paris}", 0.0),
        ("[" * 5000, 0.0),
        ('{"a":' * 5000, 0.0),
        ("Paris", 0.0),
    ],
)
def test_calls_instead_of_answers(answer: str, call: float) -> None:
    assert score(answer, GOLD).is_call == call


def reference(answer: str, gold: str) -> float:
    """F1 in another way: each gold word is struck off the answer's words."""

    def clean(text: str) -> list[str]:
        kept = "".join(ch for ch in text.lower() if ch not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", kept).split()

    said, wanted = clean(answer), clean(gold)
    left, same = list(said), 0
    for word in wanted:
        if word in left:
            left.remove(word)
            same += 1
    if not said or not wanted:
        return float(said == wanted)
    if not same:
        return 0.0
    precision, recall = same / len(said), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


TEXT = st.lists(st.sampled_from(["the", "a", "Paris", "paris!", "of", "Of", "1,000", "x-y", "—"])).map(
    " ".join
)


@given(TEXT, TEXT)
def test_f1_against_another_implementation(answer: str, gold: str) -> None:
    assert token_f1(answer, gold) == pytest.approx(reference(answer, gold))
    assert token_f1(answer, gold) == token_f1(gold, answer)
    assert normalized(normalized(answer)) == normalized(answer)


@given(st.text())
def test_whatever_a_model_writes_is_scored(answer: str) -> None:
    for gold in (GOLD, YES, replace(GOLD, suite="2wiki"), replace(GOLD, suite="frames")):
        found = score(answer, gold)
        assert found.f1 is not None
        assert 0.0 <= found.f1 <= 1.0
