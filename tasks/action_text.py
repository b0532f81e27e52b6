"""The action class of an answer in words: ask, refusal or plain answer.

Tested in this order: an explicit request for a value, a stated inability, a question that is no mere offer,
else a direct answer (the four classes of arXiv 2504.18851). The phrases are those of general English.
"""

import re
from typing import Literal, get_args

Action = Literal["tool_call", "request_for_info", "cannot_answer", "direct"]
ACTIONS: tuple[Action, ...] = get_args(Action)
SHORT = dict(zip(ACTIONS, ("call", "ask", "decline", "answer"), strict=True))
"""Names of the actions where there is little room."""

# The classes show at the ends of a reply; the bound keeps a babbling model from costing time.
_HEAD = _TAIL = 2000


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b")


_GIVE = (
    "(?:provide|specify|clarify|confirm|tell me|share|give me|indicate|enter|choose|select|describe"
    "|let me know)"
)
_REQUEST = _any(
    rf"(?:could|can|would|will) you (?:(?:please|kindly|also|just|first) )*{_GIVE}",
    r"please (?:kindly |also |just |first )?(?:provide|specify|clarify|tell me|share|indicate)",
    r"(?:please )?let me know (?:the|your|which|what|when|where|who|how (?:many|much|long))",
    r"(?:i|we)(?:'ll| will)?(?: also| first)? need (?:to (?:know|confirm|clarify)|the|your|more|some|you to)",
)
# An apology alone is no refusal: "I'm sorry, there are no such films" answers the question.
_REFUSAL = _any(
    r"unable to|not able to|(?<!you )(?:can't|cannot|can not|couldn't|could not)",
    r"(?:i|we|tools?|functions?)(?: \w+)? (?:don't|do not) (?:currently )?(?:have|support|offer)",
    r"(?:beyond|outside|not within) (?:of )?(?:my|our|the scope)",
    r"(?:no|none of the|without a) (?:\w+ ){0,2}(?:tools?|functions?)",
    r"not (?:something|designed|equipped|capable|possible for me)",
    r"(?:i|we) lack|must decline|have to decline",
)
_QUESTION_MARKS = ("?", "？", "؟")
_SENTENCE_END = re.compile(r"(?<=[.!?？؟\n])")
_OFFER = _any(
    r"(?:would you like|do you want) (?:me|more|further|help)",
    r"(?:would you like|do you want) to (?:see|know|hear|view|try|order|book|proceed|continue)",
    r"(?:shall|should) i (?:go ahead|proceed|continue|book|order|reserve|do)",
    r"(?:how|what)(?: else)? (?:can|may|could) i (?:help|assist|do)",
    r"(?:can|may|could) i (?:help|assist)|anything else|any (?:other|more|further) questions",
)

# An offer wants a yes or no; a question with one of these wants a choice.
_CHOICE = _any("or|which|where|when|how (?:many|much)|what(?! (?:else )?(?:can|may|could) i)")


def classify(text: str) -> Action:
    """Return the action class of an answer that holds no call tag; empty text is direct."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    words = text.lower().replace("’", "'")
    if _REQUEST.search(words):
        return "request_for_info"
    if _REFUSAL.search(words):
        return "cannot_answer"
    return "request_for_info" if _asks(words) else "direct"


def _asks(words: str) -> bool:
    if not any(mark in words for mark in _QUESTION_MARKS):
        return False
    questions = (part for part in _SENTENCE_END.split(words) if part.endswith(_QUESTION_MARKS))
    return any(_CHOICE.search(question) or not _OFFER.search(question) for question in questions)
