"""The action class of an answer in words: an ask, a refusal or an answer (guide: arXiv 2504.18851, class from text)."""

import re
from typing import Literal, get_args

Action = Literal["tool_call", "request_for_info", "cannot_answer", "direct"]
ACTIONS: tuple[Action, ...] = get_args(Action)

# An answer is a few sentences; what a model babbles after that says nothing about its action.
_LENGTH = 2000

_REQUEST = re.compile(
    r"\b(?:could|can|would|will) you (?:\w+ ){0,2}(?:provide|specify|clarify|confirm|tell|share|give|let|indicate)\b"
    r"|\bplease (?:\w+ ){0,2}(?:provide|specify|clarify|confirm|tell|share|give|let me know|indicate)\b"
    r"|\bi(?:'ll| will)? (?:\w+ )?need\b"
)
_REFUSAL = re.compile(
    r"\b(?:sorry|apologies|apologi[sz]e|unfortunately|unable|can't|cannot|can not|don't have|do not have)\b"
)


def classify(text: str) -> Action:
    """Return the action class of an answer that holds no call tag."""
    words = text[:_LENGTH].lower().replace("’", "'")
    if _REQUEST.search(words):
        return "request_for_info"
    if _REFUSAL.search(words):
        return "cannot_answer"
    return "request_for_info" if "?" in words else "direct"
