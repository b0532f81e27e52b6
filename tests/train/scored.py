"""A small batch, scored for real: two tasks, four completions each, right and wrong in several ways."""

from collections.abc import Mapping
from typing import Any

from rewards.stack import build
from rewards.trl import Batch
from tasks.completion import render
from tasks.tool_schema import ToolCall
from tests.rewards.worked import task

LEEDS, PARIS = ToolCall("find_train", {"city": "Leeds"}), ToolCall("find_train", {"city": "Paris"})
TRAIN = task("A train to Leeds, please.", "tool_call", LEEDS)
VAGUE = task("I need a train.", "request_for_info", LEEDS, held_out="city")
ASK, NO = "Where would you like to go?", "I am sorry, I cannot help with that."

SPECS: list[Mapping[str, Any]] = [
    {"use": "format", "weight": 0.5},
    {"use": "tool_match"},
    {"use": "certainty"},
    {"use": "grounding_penalty", "weight": 0.2, "warmup_steps": 40},
]
STACK = build(SPECS)
WEIGHTS = dict(zip(STACK.names, STACK.specs, strict=True))

CALL_TEXTS = (render("r", LEEDS), render("r", PARIS), render("r", ASK), "<answer>no")
ASK_TEXTS = (render("r", ASK), render("r", LEEDS), render("r", PARIS), render("r", NO))


def batch(tasks=(TRAIN,) * 4 + (VAGUE,) * 4, texts=CALL_TEXTS + ASK_TEXTS, step=10) -> Batch:
    """One scoring of these completions."""
    scores, seconds = STACK.score_batch(tasks, texts)
    return Batch(tuple(tasks), tuple(texts), tuple(scores), seconds, step)
