"""Values in the type that a parameter declares."""

import math
import re
from collections.abc import Mapping

from tasks.json_text import loads
from tasks.tool_types import MISMATCH, UNKNOWN, Json, Parameter

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")


def coerce(value: Json, parameter: Parameter) -> Json:
    """Return `value` in the declared type of `parameter` ("2012" -> 2012, "true" -> True, 100.0 -> 100).

    Returns `MISMATCH` where that is impossible, and `UNKNOWN` for `UNKNOWN`; never raises.
    """
    if value is UNKNOWN or parameter.type == "any":
        return value
    if value is None:
        return None if parameter.domain.nullable else MISMATCH
    try:
        return _COERCIONS[parameter.type](value, parameter)
    except ValueError:
        return MISMATCH


def _string(value: Json, _: Parameter) -> Json:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    number = _number(value, _)
    return MISMATCH if number is MISMATCH else str(number)


def _number(value: Json, _: Parameter) -> Json:
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return MISMATCH
        value = int(text) if text.lstrip("+-").isdecimal() else float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return MISMATCH
    if isinstance(value, float):
        if not math.isfinite(value):
            return MISMATCH
        return int(value) if value.is_integer() else value
    return value


def _integer(value: Json, parameter: Parameter) -> Json:
    number = _number(value, parameter)
    return number if isinstance(number, int) else MISMATCH


def _boolean(value: Json, _: Parameter) -> Json:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), MISMATCH)
    return MISMATCH


def _array(value: Json, parameter: Parameter) -> Json:
    if isinstance(value, str):
        value = loads(value)
    if not isinstance(value, list | tuple):
        return MISMATCH
    if parameter.items is None:
        return list(value)
    items = [coerce(item, parameter.items) for item in value]
    return MISMATCH if any(item is MISMATCH for item in items) else items


def _object(value: Json, _: Parameter) -> Json:
    if isinstance(value, str):
        value = loads(value)
    return dict(value) if isinstance(value, Mapping) else MISMATCH


_COERCIONS = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}
