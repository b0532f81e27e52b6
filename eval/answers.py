"""Final answers by each suite's official rule, and what they look like.

MuSiQue and 2WikiMultiHopQA score as SQuAD does: text in lower case without punctuation and articles, F1 over
bags of words, the best of the answer and its aliases; 2WikiMultiHopQA gives `yes`, `no` and `noanswer` credit
for equality alone. StrategyQA is right or wrong. FRAMES asks whether the answer is contained.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.answer_match import holds
from tasks.json_text import loads
from tasks.multi_hop import Gold

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_EXACT = ("yes", "no", "noanswer")
_YES_NO, _CONTAINED = ("strategyqa",), ("frames",)
_HEDGE = re.compile(
    r"\b(unknown|unclear|not (?:known|given|stated|mentioned|specified|provided|here|in the)|"
    r"(?:can ?not|can't|could not|unable to) (?:be )?(?:determined?|answered?|found|find|say|tell)|"
    r"(?:do(?:es)? not|don't|doesn't) (?:know|say|state|mention|contain|provide|hold)|"
    r"insufficient|not enough|no (?:information|answer|evidence))\b"
)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """`contains` is None where it cannot be said: no gold answer, or both of yes and no."""

    f1: float | None
    exact: float | None
    contains: float | None
    hedged: float
    """Whether it says that it does not know."""
    is_call: float
    """Whether it is a serialised call or move instead of an answer."""


def score(answer: str, gold: Gold) -> AnswerScore:
    """Score a final answer. Never raises on what a model wrote."""
    contained = holds(answer, gold.answers)
    contains = None if contained is None else float(contained)
    f1 = exact = None
    if gold.answers and gold.suite in (*_YES_NO, *_CONTAINED):
        f1 = exact = contains or 0.0  # both of yes and no is no answer
    elif gold.answers:
        f1 = max(token_f1(answer, one, strict=gold.suite == "2wiki") for one in gold.answers)
        exact = max(float(normalized(answer) == normalized(one)) for one in gold.answers)
    hedged = float(_HEDGE.search(answer.casefold()) is not None)
    return AnswerScore(f1, exact, contains, hedged, float(_is_call(answer)))


def normalized(text: str) -> str:
    """In lower case, without punctuation and articles, single spaces between words (SQuAD's rule)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, gold: str, *, strict: bool = False) -> float:
    """F1 of two bags of words; `strict` gives yes, no and noanswer credit for equality alone."""
    said, wanted = normalized(answer), normalized(gold)
    if strict and (said in _EXACT or wanted in _EXACT) and said != wanted:
        return 0.0
    found, right = said.split(), wanted.split()
    if not found or not right:
        return float(found == right)
    shared = (Counter(found) & Counter(right)).total()
    return 2 * shared / (len(found) + len(right))


def _is_call(answer: str) -> bool:
    text = answer.strip()
    if "<tool_call>" in text:
        return True
    if not text.startswith("{"):
        return False
    try:
        found = loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, Mapping) and bool({"action", "name", "tool", "function"} & set(found))
