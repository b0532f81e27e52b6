"""Tools and calls as types: domains, parameters, schemas, and values coerced to what a parameter declares."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tasks.json_lines import loads

Json: TypeAlias = Any
"""Any JSON value; in a call's arguments also `UNKNOWN`."""

TypeName = Literal["string", "integer", "number", "boolean", "array", "object", "any"]


class Marker:
    """A named value that is none of JSON's; one object per name, compared by identity."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        # Pickles and copies by name, so that `is` holds in every process.
        return self.text.strip("<>").replace("UNK", "UNKNOWN")


UNKNOWN = Marker("<UNK>")
"""An argument that the conversation has not given; written `<UNK>` in text."""
MISSING = Marker("MISSING")
"""No default."""
MISMATCH = Marker("MISMATCH")
"""What `coerce` returns for a value that cannot be of the declared type."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a parameter may take; `low` and `high` (both included) belong to `integer_range`."""

    kind: Literal["finite", "boolean", "integer_range", "unbounded"]
    values: tuple[Json, ...] = ()
    low: int | None = None
    high: int | None = None

    @property
    def size(self) -> int | None:
        """The number of members; None where it is unbounded (arXiv 2511.08798: |D|)."""
        if self.kind == "finite":
            return len(self.values)
        if self.kind == "boolean":
            return 2
        if self.kind == "integer_range" and self.low is not None and self.high is not None:
            return max(0, self.high - self.low + 1)
        return None

    def contains(self, value: Json) -> bool:
        """Whether `value`, coerced beforehand, is a member."""
        if self.kind == "finite":
            return any(same(value, member) for member in self.values)
        if self.kind == "boolean":
            return isinstance(value, bool)
        if self.kind == "integer_range":
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
                return False
            return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return True


BOOLEAN = Domain("boolean")
UNBOUNDED = Domain("unbounded")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, or the item or property of one.

    `items` describes an array's members, `properties` an object's; `constraints` holds the JSON Schema keywords that
    matter only to a reader of the prompt (format, pattern, minimum of a real number, ...).
    """

    name: str
    type: TypeName
    domain: Domain = UNBOUNDED
    required: bool = False
    default: Json = MISSING
    description: str = ""
    items: "Parameter | None" = None
    properties: tuple["Parameter", ...] = ()
    nullable: bool = False
    constraints: Mapping[str, Json] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool; `source` is the JSON object that it was read from."""

    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    source: Mapping[str, Json] = field(default_factory=dict, compare=False, repr=False)
    required: tuple[str, ...] = field(init=False, compare=False, repr=False)
    _by_name: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Both are looked up for every completion that is scored.
        object.__setattr__(self, "required", tuple(p.name for p in self.parameters if p.required))
        object.__setattr__(self, "_by_name", {p.name: p for p in self.parameters})

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, or None."""
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool's name and a partial assignment; an argument that is not known is absent or `UNKNOWN`."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


def same(a: Json, b: Json) -> bool:
    """Equality of JSON values: 1 equals 1.0, and neither equals true."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")


def coerce(value: Json, parameter: Parameter) -> Json:
    """Return `value` in the declared type of `parameter` ("2012" -> 2012, "true" -> True, 100.0 -> 100).

    Returns `MISMATCH` where that is impossible, and `UNKNOWN` for `UNKNOWN`; never raises.
    """
    if value is UNKNOWN or parameter.type == "any":
        return value
    if value is None:
        return None if parameter.nullable else MISMATCH
    try:
        return _COERCIONS[parameter.type](value, parameter)
    except (ValueError, OverflowError, RecursionError):
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
