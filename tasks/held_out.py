"""Which required parameter a user left out, derived from a preference row (which does not say it itself).

A preference row with a question as its good answer often shows, as the bad one, the call that invents the
missing value. The held-out parameter is the required one whose value the user never said.
"""

import re
from collections.abc import Mapping
from typing import Any

from tasks.tool_schema import UNKNOWN, Json, ToolCall, ToolSchema

_WORD = re.compile(r"\w+")


def derive_held_out(tool: ToolSchema, call: ToolCall, said: str, question: str) -> str | None:
    """The one required parameter of `tool` whose value in `call` does not occur in `said`, the user's text.

    Of several the one that `question`, the good answer, speaks of is taken; None unless one is left.
    """
    spoken = _padded(said)
    missing = [name for name in tool.required if not _is_said(call.arguments.get(name, UNKNOWN), spoken)]
    if len(missing) > 1:
        asked = _padded(question)
        missing = [name for name in missing if any(f" {word} " in asked for word in _name_words(name))]
    return missing[0] if len(missing) == 1 else None


def _is_said(value: Json, spoken: str) -> bool:
    """Whether every leaf of `value` occurs in `spoken` as a run of whole words."""
    if value is UNKNOWN:
        return False
    leaves = list(_leaves(value))
    return bool(leaves) and all(_padded(leaf).strip() and _padded(leaf) in spoken for leaf in leaves)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for member in value.values() for leaf in _leaves(member)]
    if isinstance(value, list | tuple):
        return [leaf for member in value for leaf in _leaves(member)]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def _padded(text: str) -> str:
    """Case-folded words with single spaces between and around, so that ` word ` finds whole words only."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _name_words(name: str) -> list[str]:
    """`fromDate_utc` -> from, date, utc; words of one or two letters say too little."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ")
    return [word for word in _WORD.findall(spaced.casefold()) if len(word) > 2] or [name.casefold()]
