"""JSON from untrusted text: one failure type, bounded depth, numbers that every later step can hold."""

import json
import math
from typing import Any

MAX_DEPTH = 64
"""Nesting that later recursive steps (comparison, printing) bear with ease; real calls nest a few levels."""

# Ten to this power still is a float.
_MAX_DIGITS = 300


def loads(text: str) -> Any:
    """Parse JSON; every failure is a `ValueError`, also nesting beyond `MAX_DEPTH`.

    Stricter than `json.loads`: NaN, Infinity and numbers beyond the range of a float are refused.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError(f"nested more than {MAX_DEPTH} levels")
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, dict | list) for item in level)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number beyond the range of a float")
    return value


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_bounded_int, parse_float=_finite_float
)
