"""Equality of argument values: true is not 1, 2 is 2.0, and outer white space is nothing."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Compare without recursion: the values come from a model and may be nested deeply."""
    stack = [(one, other)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, str) and isinstance(b, str):
            if a != b and a.strip() != b.strip():
                return False
        elif isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
            if a is not b:
                return False
        elif isinstance(a, int | float) and isinstance(b, int | float):
            if a != b and not _close(a, b):
                return False
        elif isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            stack.extend((value, b[key]) for key, value in a.items())
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a is not b:
            return False
    return True


def _close(a: int | float, b: int | float) -> bool:
    try:
        return abs(a - b) <= 1e-10 * max(1.0, abs(a), abs(b))
    except OverflowError:  # an integer beyond every float
        return False
