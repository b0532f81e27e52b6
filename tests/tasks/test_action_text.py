import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.action_text import ACTIONS, classify
from tasks.json_lines import read_rows


@pytest.mark.parametrize(
    "text",
    [
        "Which city do you mean?",
        "How many seats would you like?",
        "Could you please specify the departure date?",
        "Could you tell me your account number",
        "Can you please confirm that order?",
        "To proceed, I'll need the audio file. ",
        "I need to know the size of the room.",
        "Please provide the name of the server.",
        "Please let me know which of the two you prefer.",
        "I'm sorry, I need the product number. Could you please provide it?",
        "I can't search without a date; could you provide one?",
        "Would you prefer a window seat?",
        "Should I add it, or delete it?",
        "Would you like to book a single or a double room?",
        "Which song would you like me to play?",
        "¿En qué ciudad?",
        "哪个城市？",
    ],
)
def test_asks(text: str) -> None:
    assert classify(text) == "request_for_info"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I'm unable to play music.",
        "Apologies, but I can’t access your files.",
        "I cannot help with that. Is there anything else?",
        "Sorry , i cannot book a hotel",
        "I don't have access to real-time data. Please check a weather service.",
        "None of the available tools can do that.",
        "There is no suitable function for this request.",
        "That is beyond my capabilities.",
        "I was not designed to trade stocks.",
        "I am not able to do this. How can I assist you further?",
    ],
)
def test_refusals(text: str) -> None:
    assert classify(text) == "cannot_answer"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "The sum is 167.",
        "I'm sorry, there are no films by that director.",
        "I found a table for two at eight. Shall I proceed with the booking?",
        "Sure, it is done. How can I help you further?",
        "It is sunny. Would you like more details?",
        "It rains; please dress warmly and check the forecast.",
        "Let me know if you need anything else.",
        "You can't go wrong with either of them.",
        "You'll need to install it first: run the command.",
    ],
)
def test_direct_answers(text: str) -> None:
    assert classify(text) == "direct"


def test_the_ends_of_a_long_answer_count() -> None:
    assert classify("a" * 100_000 + " Which city?") == "request_for_info"
    assert classify("I'm unable to do that. " + "a" * 100_000) == "cannot_answer"


@given(st.text(st.characters()))
def test_any_text_has_a_class(text: str) -> None:
    assert classify(text) in ACTIONS[1:]


def test_candidate_answers_of_real_rows(real_rows: Path) -> None:
    rows = [row for _, row in read_rows(real_rows / "test_llm_judge.jsonl")]
    texts = [(kind, text) for row in rows for kind, text in row["answers"].items() if kind != "tool_call"]
    right = sum(classify(text) == kind for kind, text in texts)
    assert right / len(texts) >= 0.97


def test_questions_of_another_data_set(real_rows: Path) -> None:
    path = real_rows.parent / "in3" / "train.jsonl"
    if not path.is_file():
        pytest.skip(f"no clarification questions: {path} is absent")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    questions = [detail["inquiry"] for row in rows for detail in row["missing_details"]]
    assert sum(classify(question) == "request_for_info" for question in questions) / len(questions) >= 0.99
