"""Typed schemas written as valid JSON Schema, the form that chat templates take."""

from collections.abc import Mapping
from typing import Any

from tasks.schema_domain import is_number
from tasks.tool_types import MISSING, Domain, Json, Parameter, ToolSchema

_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TEXTS = ("format", "pattern")


def to_openai(tool: ToolSchema) -> dict[str, Any]:
    """Return the tool as `{"type": "function", "function": {...}}`, its parameters as valid JSON Schema."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": _object(tool.parameters),
    }
    return {"type": "function", "function": function}


def read_constraints(schema: Mapping[str, Any], domain: Domain) -> dict[str, Json]:
    """Return the well-formed keywords of `schema` that its type and its domain do not express."""
    kept: dict[str, Json] = {}
    if domain.kind != "integer_range":
        kept |= {word: schema[word] for word in _NUMBERS if is_number(schema.get(word))}
    kept |= {word: schema[word] for word in _COUNTS if type(schema.get(word)) is int and schema[word] >= 0}
    kept |= {word: schema[word] for word in _TEXTS if isinstance(schema.get(word), str)}
    return kept


def _object(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {p.name: _value(p) for p in parameters}}
    required = [parameter.name for parameter in parameters if parameter.required]
    return schema | {"required": required} if required else schema


def _value(parameter: Parameter) -> dict[str, Any]:
    domain = parameter.domain
    schema: dict[str, Any] = {}
    if parameter.type != "any":
        schema["type"] = parameter.type
    if parameter.properties:
        schema |= _object(parameter.properties)
    if domain.nullable and "type" in schema:
        schema["type"] = [parameter.type, "null"]
    if parameter.items is not None:
        schema["items"] = _value(parameter.items)
    if parameter.description:
        schema["description"] = parameter.description
    if domain.kind == "finite" and domain.values:
        schema["enum"] = list(domain.values)
    if domain.kind == "integer_range":
        schema |= {"minimum": domain.low, "maximum": domain.high}
    if parameter.default is not MISSING:
        schema["default"] = parameter.default
    return schema | dict(parameter.constraints)
