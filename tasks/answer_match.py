"""Whether a free text holds a gold answer, compared as runs of words (arXiv 2609.37236)."""

import functools
import re
from collections.abc import Sequence

_WORD, _ARTICLES = re.compile(r"[^\W_]+"), frozenset(("a", "an", "the"))
_YES_NO = (("yes",), ("no",))
LONG = 5
"""Characters of a gold answer that a text can only hold by knowing it."""


def words(text: str) -> tuple[str, ...]:
    """Letters and digits in lower case, without articles."""
    return tuple(word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)


def holds(text: str, answers: tuple[str, ...]) -> bool | None:
    """Whether the text holds an answer as a run of words.

    None where there is no answer to hold, and for a yes-or-no answer where the text holds both words.
    """
    known = _runs(answers)
    if not known:
        return None
    found = words(text)
    if any(one in _YES_NO for one in known) and "yes" in found and "no" in found:
        return None
    return any(_stands_in(found, one) for one in known)


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
