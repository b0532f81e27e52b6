"""Whether a free text holds a gold answer, compared as runs of words (arXiv 2609.37236)."""

import functools
import re
from collections.abc import Sequence

_WORD, _ARTICLES = re.compile(r"[^\W_]+"), frozenset(("a", "an", "the"))
_YES_NO = {("yes",): "yes", ("true",): "yes", ("no",): "no", ("false",): "no"}
LONG = 5
"""Characters of a gold answer that a text can only hold by knowing it."""

# What is missing is missing from something that was read, or to somebody who reads: "bananas do not contain
# seeds" is an answer.
_SOURCE = r"(?:text|evidence|paragraph|passage|context|document|information|draft|source|excerpt|article)s?"
_TELL = r"(?:say|state|mention|contain|provide|specify|give|tell|include|indicate|reveal|identify|name|hold)"
_HEDGE = re.compile(
    rf"^\W*(?:unknown|unclear)\W*$"
    rf"|\b(?:is|are|was|were|remains?) (?:still |currently )?(?:unknown|unclear|uncertain)\b"
    rf"|\b(?:is|are|was|were) not (?:explicitly |directly )?"
    rf"(?:known|given|stated|mentioned|specified|provided)\b"
    rf"|\bnot (?:found |here )?in the (?:\w+ )?{_SOURCE}\b"
    rf"|\b{_SOURCE} (?:\w+ )?(?:do(?:es)? not|don't|doesn't) (?:\w+ )?{_TELL}\b"
    rf"|\b(?:i|we) (?:do not|don't) (?:know|have)\b"
    rf"|\b(?:can ?not|can't|could not|couldn't) (?:be )?"
    rf"(?:determined?|answer(?:ed)?|established?|inferr?(?:ed)?|verif(?:y|ied))\b"
    rf"|\b(?:i|we) (?:can ?not|can't|could not|couldn't) (?:find|say|tell)\b"
    rf"|\b(?:unable|impossible) to (?:determine|answer|establish|infer|verify|find|say|tell)\b"
    rf"|\b(?:insufficient|not enough|no) (?:\w+ )?(?:information|context|details?)\b"
    rf"|\b(?:insufficient|not enough) (?:\w+ )?evidence\b"
)


def words(text: str) -> tuple[str, ...]:
    """Letters and digits in lower case, without articles."""
    return tuple(word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)


def hedges(text: str) -> bool:
    """Whether a text says that the answer is not known."""
    return _HEDGE.search(text.casefold().replace("\u2019", "'")) is not None


def holds(text: str, answers: tuple[str, ...]) -> bool | None:
    """Whether the text holds an answer as a run of words.

    None where there is no answer to hold. A yes-or-no answer is also unknown (None) where the text says both
    or hedges: "no information" is no "no". True and false count where neither yes nor no is said.
    """
    known = _runs(answers)
    if not known:
        return None
    found = words(text)
    verdicts = {_YES_NO[one] for one in known if one in _YES_NO}
    if verdicts:
        said = _said(found)
        if len(said) > 1 or hedges(text):
            return None
        if said & verdicts:
            return True
    return any(_stands_in(found, one) for one in known if one not in _YES_NO)


def gives_away(text: str, answers: tuple[str, ...]) -> bool:
    """Whether a text holds an answer of five characters or more."""
    long = [one for one in _runs(answers) if len(" ".join(one)) >= LONG]
    return bool(long) and any(_stands_in(words(text), one) for one in long)


@functools.lru_cache(maxsize=4096)  # the answers of a task are asked for at each of its states
def _runs(answers: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [found for found in map(words, answers) if found]


def _stands_in(text: Sequence[str], run: tuple[str, ...]) -> bool:
    """Whether the words of `run` stand in the text one after another."""
    return run[0] in text and any(
        text[i : i + len(run)] == run for i in range(len(text) - len(run) + 1) if text[i] == run[0]
    )


def _said(found: Sequence[str]) -> set[str]:
    """Which of yes and no a text says."""
    plain = {"yes", "no"}.intersection(found)
    return plain or {_YES_NO[word,] for word in ("true", "false") if word in found}
