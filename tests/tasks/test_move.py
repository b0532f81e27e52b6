"""Moves have one spelling; whatever else a model writes is a STOP that says why."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.move import STOP_TEXT, Ask, Stop, parse, spell

LINES = st.text(st.characters(exclude_categories=["Cs"]))


def test_the_canonical_stop() -> None:
    assert STOP_TEXT == '{"action": "STOP"}'
    assert len(STOP_TEXT.encode()) == 18
    assert spell(Stop()) == spell(Stop("no JSON object")) == STOP_TEXT
    assert parse(STOP_TEXT) == Stop()


def test_the_canonical_ask() -> None:
    move = Ask('Who "owns" the café?', "a name\n", ("u1", "u2"))
    text = (
        '{"action": "ASK", "question": "Who \\"owns\\" the café?", "rationale": "a name\\n", '
        '"parents": ["u1", "u2"]}'
    )
    assert spell(move) == text
    assert parse(text) == move


@given(LINES.filter(str.strip), LINES, st.lists(LINES))
def test_what_is_spelled_is_parsed(question: str, rationale: str, parents: list[str]) -> None:
    move = Ask(" ".join(question.split()), rationale, tuple(parents))
    assert parse(spell(move)) == move
    assert json.loads(spell(move))["question"] == move.question
    assert parse(f"```json\n{spell(move)}\n```") == move


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("STOP", "no JSON object"),
        ('["STOP"]', "no JSON object"),
        ('{"action": "STOP"} and more', "no JSON object"),
        ('{"action": "STOP"}{"action": "STOP"}', "no JSON object"),
        ('{"action": "stop"}', "an action that is neither ASK nor STOP"),
        ('{"question": "who?"}', "an action that is neither ASK nor STOP"),
        ('{"action": "ASK"}', "ASK without a question"),
        ('{"action": "ASK", "question": " \\n"}', "ASK without a question"),
        ('{"action": "ASK", "question": 3}', "ASK without a question"),
        ('{"action": ' * 3000, "no JSON object"),
        ('{"action": "ASK", "question": NaN}', "no JSON object"),
    ],
)
def test_anything_else_is_a_stop_that_says_why(text: str, why: str) -> None:
    assert parse(text) == Stop(why)


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ('{"action":"STOP","rationale":"done"}', Stop()),
        (
            '{"action": "ASK", "question": "who\\n is it?", "rationale": 3, "parents": "u1"}',
            Ask("who is it?"),
        ),
        ('{"action": "ASK", "question": "who?", "parents": ["u1", 2, null]}', Ask("who?", "", ("u1",))),
        ('{"action": "ASK", "question": "\\ud800who?"}', Ask("?who?")),
    ],
)
def test_what_is_beside_the_move_never_spoils_it(text: str, move: Ask | Stop) -> None:
    assert parse(text) == move


@given(
    st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps)
)
def test_no_text_raises(text: str) -> None:
    assert isinstance(parse(text), Ask | Stop)
