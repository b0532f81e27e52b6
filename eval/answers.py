"""Final answers by each suite's official rule, and what they look like.

MuSiQue and 2WikiMultiHopQA score as SQuAD does: text in lower case without punctuation and articles, F1 over
bags of words, the best of the answer and its aliases; 2WikiMultiHopQA gives `yes`, `no` and `noanswer` credit
for equality alone. StrategyQA is right or wrong. FRAMES asks whether the answer is contained.
"""

import re
import string
from collections import Counter
from dataclasses import dataclass

from tasks.answer_match import hedges, holds
from tasks.multi_hop import Gold

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_EXACT = ("yes", "no", "noanswer")
_YES_NO, _CONTAINED = ("strategyqa",), ("frames",)
_FENCE = re.compile(r"^```\w*\s*")
_KEY_OF_CALL = re.compile(r'"(?:action|arguments|function|tool)"\s*:')


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """`contains` is None where it cannot be said: no gold answer, or a hedge about yes or no."""

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
        f1 = exact = contains or 0.0  # a hedge is no answer
    elif gold.answers:
        f1 = max(token_f1(answer, one, strict=gold.suite == "2wiki") for one in gold.answers)
        exact = max(float(normalized(answer) == normalized(one)) for one in gold.answers)
    return AnswerScore(f1, exact, contains, float(hedges(answer)), float(_is_call(answer)))


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
    """By its looks: a word cap may have cut it off before it can be parsed."""
    text = _FENCE.sub("", answer.strip())
    return "<tool_call>" in text or (text.startswith(("{", "[{")) and bool(_KEY_OF_CALL.search(text)))
