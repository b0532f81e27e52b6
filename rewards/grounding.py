"""Whether the user's text supports the value of an argument.

Certainty measures completeness, not correctness: an invented value counts as given (arXiv 2511.08798 §3).
Grounding closes that gap. Three rules, from strict to forgiving:

* `whole`: the value's tokens stand in the text as one run of whole tokens (tokens are case-folded runs of
  a-z, 0-9);
* `half`: at least half of the tokens occur;
* `loose`: Unicode words and common reformattings (dates, times, number formats, places, identifiers), see
  `rewards.loose_text`; otherwise at least half of the words occur.

Under all three a value equal to the schema's default counts as given and every member of a list or object
must be supported. `whole` and `half` never support a boolean.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewards.loose_text import LooseText
from rewards.per_task import per_task
from tasks.same_value import same
from tasks.tool_schema import MISSING, Json, Parameter
from tasks.tool_task import ToolTask

Rule = Literal["whole", "half", "loose"]

_EXACT = 2**53  # below this, an integer and its float agree
_TOKEN = re.compile(r"[a-z0-9]+")
_SMALL = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}
_SMALL |= {"6": "six", "7": "seven", "8": "eight", "9": "nine", "10": "ten"}


def supported(task: ToolTask, parameter: Parameter | None, value: Json, rule: Rule) -> bool:
    """Whether the user messages of `task` support `value` for `parameter` (None: not in the schema)."""
    if parameter is not None and is_default(value, parameter):
        return True
    if rule == "loose":
        text = _loose_text(task)
        return all(_loosely(text, leaf, parameter) for leaf in _leaves(value))
    words = _words(task)
    return all(_strictly(words, leaf, rule) for leaf in _leaves(value))


def is_default(value: Json, parameter: Parameter) -> bool:
    """Whether a written value is what the tool would take anyway."""
    return parameter.default is not MISSING and same(value, parameter.default)


def _leaves(value: Json) -> Iterator[Json]:
    """The scalars in a value of any depth, without recursion: the value comes from a model."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        else:
            yield item


@dataclass(frozen=True, slots=True)
class _Words:
    run: str  # " all tokens in order ", to find whole runs
    each: frozenset[str]


@per_task
def _words(task: ToolTask) -> _Words:
    tokens = _TOKEN.findall(task.user_text.casefold())
    return _Words(f" {' '.join(tokens)} ", frozenset(tokens))


@per_task
def _loose_text(task: ToolTask) -> LooseText:
    return LooseText.read(task.user_text)


def _strictly(text: _Words, value: Json, rule: Rule) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        number = _plain_number(value)
        tokens = _TOKEN.findall(number)
        return bool(tokens) and (_run(text, tokens) or _SMALL.get(number) in text.each)
    if not isinstance(value, str):
        return False
    tokens = _TOKEN.findall(value.casefold())
    if not tokens:
        return False  # a value in another script
    if rule == "half":
        return 2 * sum(token in text.each for token in tokens) >= len(tokens)
    return _run(text, tokens)


def _run(text: _Words, tokens: list[str]) -> bool:
    return f" {' '.join(tokens)} " in text.run


def _loosely(text: LooseText, value: Json, parameter: Parameter | None) -> bool:
    if isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false")):
        return parameter is not None and text.mentions_switch(parameter.name, parameter.description)
    if isinstance(value, int | float):
        if abs(value) < _EXACT:
            return text.has_number(float(value))
        digits = _plain_number(value)
        return bool(digits) and text.has_words(digits)
    return isinstance(value, str) and text.supports(value)


def _plain_number(value: int | float) -> str:
    """100.0 as 100, else as Python writes it; "" for what no person writes out."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() else str(value)
    return str(value) if value.bit_length() < 1000 else ""
