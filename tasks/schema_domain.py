"""The domain that a parameter's schema describes; its size decides certainty (arXiv 2511.08798)."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tasks.coercion import coerce
from tasks.tool_types import MISMATCH, Domain, Json, Parameter, same
from tasks.type_names import is_null


def read_domain(schema: Mapping[str, Any], parameter: Parameter) -> Domain:
    """Return the domain: enum or const finite, boolean, integer between two bounds, else unbounded.

    Members are coerced to the parameter's type where they can be, as "2012" and 2012 are one year.
    """
    nullable = parameter.domain.nullable
    # An empty enum is how some generators write "no list".
    values = _distinct(_typed(choice, parameter) for choice in choices(schema) or ())
    if values and nullable and None not in values:
        values.append(None)
    if values:
        return Domain("finite", tuple(values), nullable=nullable)
    if parameter.type == "boolean":
        return Domain("boolean", nullable=nullable)
    if parameter.type == "integer":
        low, high = _bound(schema, "minimum", math.ceil, max), _bound(schema, "maximum", math.floor, min)
        if low is not None and high is not None:
            return Domain("integer_range", low=low, high=high, nullable=nullable)
    return parameter.domain


def _typed(choice: Json, parameter: Parameter) -> Json:
    typed = coerce(choice, parameter)
    return choice if typed is MISMATCH else typed


def _distinct(values: Iterable[Json]) -> list[Json]:
    """The first of each value that comes up again; only lists and objects are compared one by one."""
    kept: list[Json] = []
    scalars: set[tuple[str, Json]] = set()
    others: list[Json] = []
    for value in values:
        if isinstance(value, list | tuple | Mapping):
            if any(same(value, other) for other in others):
                continue
            others.append(value)
        else:
            key = _key(value)
            if key in scalars:
                continue
            scalars.add(key)
        kept.append(value)
    return kept


def _key(value: Json) -> tuple[str, Json]:
    """Equal for scalars that are one value: 2 and 2.0, text up to outer white space; not 1 and true."""
    if isinstance(value, str):
        return "text", value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    return type(value).__name__, value


def choices(schema: Mapping[str, Any]) -> list[Json] | None:
    """Return the values that an enum or a const lists, or None."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return None if values is None else list(values)


def flatten(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Replace anyOf, oneOf, allOf by what their members agree on; also returns whether null is a member."""
    null = False
    for word in ("anyOf", "oneOf", "allOf"):
        if word not in schema:
            continue
        members = [member for member in schema[word] if not is_null(member.get("type"))]
        null = null or len(members) < len(schema[word])
        rest = {name: value for name, value in schema.items() if name != word}
        schema = _merge(members, union=word != "allOf") | rest
    return schema, null


def _merge(members: list[Mapping[str, Any]], union: bool) -> dict[str, Any]:
    if len(members) == 1 or not union:
        return {name: value for member in members for name, value in member.items()}
    merged: dict[str, Any] = {}
    listed = [choices(member) for member in members]
    if all(values is not None for values in listed):
        merged["enum"] = [value for values in listed for value in values or ()]
    types = [member.get("type") for member in members]
    if types and all(kind == types[0] for kind in types) and types[0] is not None:
        merged["type"] = types[0]
    return merged


def _bound(schema: Mapping[str, Any], word: str, inward: Any, tightest: Any) -> int | None:
    """Return the tightest whole number that the bound and its exclusive twin allow, or None."""
    inclusive, exclusive = schema.get(word), schema.get(f"exclusive{word.capitalize()}")
    if exclusive is True:  # draft 4: a flag on the inclusive bound
        inclusive, exclusive = None, inclusive
    step = 1 if word == "minimum" else -1
    bounds = []
    if is_number(inclusive):
        bounds.append(inward(inclusive))
    if is_number(exclusive):
        bounds.append(inward(exclusive) + (step if inward(exclusive) == exclusive else 0))
    return tightest(bounds) if bounds else None


def is_number(value: object) -> bool:
    """Whether this is a finite JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
