"""Tools in the dialects of the public data sets as typed schemas; import all that concerns tools from here.

Read are the dialects of When2Call (test and train), xLAM/APIGen, BFCL, ToolACE and OpenAI: type names of JSON
Schema, Python and Java ("dict", "str, optional", "List[float]"), `required` inside or beside `parameters`,
parameters with or without `properties`, tools as strings or objects.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tasks.coercion import coerce
from tasks.errors import InputError
from tasks.json_schema import read_constraints, to_openai
from tasks.json_text import loads
from tasks.schema_domain import choices, flatten, read_domain
from tasks.tool_types import (
    MISMATCH,
    MISSING,
    UNKNOWN,
    Domain,
    Json,
    Parameter,
    ToolCall,
    ToolSchema,
    TypeName,
    same,
)
from tasks.type_names import NamedType, is_null, read_type

__all__ = [
    "MISMATCH", "MISSING", "UNKNOWN", "Domain", "Json", "Parameter", "ToolCall", "ToolSchema",
    "coerce", "parse_tool", "same", "to_openai",
]  # fmt: skip

MAX_DEPTH = 32
"""Levels of nested schemas; the data sets use at most five."""

# What may stand beside parameters that stand directly in `parameters` (xLAM), unless its value is a schema.
_KEYWORDS = (
    "type", "title", "description", "required", "properties", "additionalProperties", "default", "examples",
    "items", "enum", "nullable", "strict", "optional", "$schema", "$id", "$ref",
)  # fmt: skip
_DEFINITIONS = ("$defs", "definitions", "additionalProperties")


def parse_tool(raw: str | Mapping[str, Any], where: str = "") -> ToolSchema:
    """Read one tool; `where` names its place in messages. Raises `InputError` where it is not a schema."""
    where = where or "tool"
    tool: Any = raw
    if isinstance(raw, str):
        try:
            tool = loads(raw)
        except ValueError as error:
            raise InputError(
                f"{where}: the tool is not valid JSON ({error}); write one JSON object"
            ) from None
    parts = "an object with name, description and parameters"
    if not isinstance(tool, Mapping):
        raise _error(where, "the tool", tool, parts)
    source = tool
    if "function" in tool and "name" not in tool:  # OpenAI's wrapper
        tool = tool["function"]
        if not isinstance(tool, Mapping):
            raise _error(where, "key 'function'", tool, parts)
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _error(where, "key 'name'", name, "the tool's name as a string")
    where = f"{where}, tool {name.strip()!r}"
    parameters = tool.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping):
        raise _error(where, "key 'parameters'", parameters, "an object (a JSON Schema)")
    return ToolSchema(
        name=name.strip(),
        description=_text(tool, where, "description"),
        parameters=_properties(parameters, tool.get("required"), where, "parameters", 0),
        source=source,
    )


def _properties(
    schema: Mapping[str, Any], beside: object, where: str, key: str, depth: int
) -> tuple[Parameter, ...]:
    """Read the properties of an object; `beside` is a `required` list that stands outside of its schema."""
    members = schema.get("properties")
    # xLAM: the parameters stand directly in `parameters`; those without a default are required.
    direct = members is None or _is_schema(members)
    if direct:
        members = {name: member for name, member in schema.items() if not _is_keyword(name, member)}
    if not isinstance(members, Mapping):
        raise _error(where, f"key '{key}.properties'", members, "an object of names and their schemas")
    inside = schema.get("required") if "required" not in members or not direct else None
    lists = [_required(inside, where, key), _required(beside, where, key)]
    listed = None if lists == [None, None] else [name for names in lists for name in names or ()]
    found = []
    for name, member in members.items():
        parameter, marked = _parameter(str(name), member, where, f"{key}.{name}", depth + 1)
        required = marked if marked is not None else direct
        found.append(replace(parameter, required=required if listed is None else name in listed))
    # Valid JSON Schema: required properties that no schema describes.
    undescribed = dict.fromkeys(name for name in listed or () if name not in members)
    return (*found, *(Parameter(name, "any", required=True) for name in undescribed))


def _parameter(name: str, schema: object, where: str, key: str, depth: int) -> tuple[Parameter, bool | None]:
    """Read one parameter; also returns whether its own schema marks it as required (None: it is silent)."""
    if depth > MAX_DEPTH:
        raise InputError(f"{where}: key '{key[:60]}...' is nested more than {MAX_DEPTH} levels; flatten it")
    if schema is True:  # JSON Schema: anything goes
        schema = {}
    if not isinstance(schema, Mapping):
        raise _error(where, f"key '{key}'", schema, 'an object such as {"type": "string"}')
    _check_lists(schema, where, key)
    schema, null = flatten(schema)
    named = _type(schema, where, key)
    bare = Parameter(name, named.type, Domain("unbounded", nullable=null or named.nullable))
    domain = read_domain(schema, bare)
    items = None
    if named.type == "array":
        domain = bare.domain
        member = _member_schema(schema, named)
        if member is not None:
            items, _ = _parameter("items", member, where, f"{key}.items", depth + 1)
    properties: tuple[Parameter, ...] = ()
    if named.type == "object" and schema.get("properties") is not None:
        properties = _properties(schema, None, where, key, depth)
    default = schema.get("default", MISSING)
    typed = MISSING if default is MISSING else coerce(default, bare)
    parameter = replace(
        bare,
        domain=domain,
        default=default if typed is MISMATCH else typed,
        description=_text(schema, where, f"{key}.description"),
        items=items,
        properties=properties,
        constraints=read_constraints(schema, domain),
    )
    if isinstance(schema.get("required"), bool):
        return parameter, schema["required"]
    optional = named.optional or default is not MISSING or schema.get("optional") is True
    return parameter, False if optional else None


def _type(schema: Mapping[str, Any], where: str, key: str) -> NamedType:
    raw = schema.get("type")
    null = schema.get("nullable") is True or None in (choices(schema) or ())
    if isinstance(raw, list) and raw and all(isinstance(name, str) for name in raw):
        solid = [name for name in raw if not is_null(name)]
        null = null or len(solid) < len(raw)
        raw = solid[0] if len(solid) == 1 else "any"
    if raw is not None and not (isinstance(raw, str) and raw.strip()):
        raise _error(where, f"key '{key}.type'", raw, 'a type name such as "string", or a list of them')
    named = read_type(raw or "any")
    kind = _implied_type(schema) if named.type == "any" else named.type
    return replace(named, type=kind, nullable=named.nullable or null)


def _member_schema(schema: Mapping[str, Any], named: NamedType) -> object:
    """Return the schema of the members of an array; an enum beside it is theirs, unless it lists arrays."""
    member = schema.get("items")
    if not isinstance(member, Mapping):
        member = {"type": named.member} if named.member else None
    listed = choices(schema)
    if listed and choices(member or {}) is None and not any(isinstance(value, list) for value in listed):
        member = {**(member or {}), "enum": listed}
    return member


def _implied_type(schema: Mapping[str, Any]) -> TypeName:
    if isinstance(schema.get("properties"), Mapping):
        return "object"
    if "items" in schema:
        return "array"
    kinds = {type(value) for value in choices(schema) or () if value is not None}
    known: dict[type, TypeName] = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return known.get(kinds.pop(), "any") if len(kinds) == 1 else "any"


def _check_lists(schema: Mapping[str, Any], where: str, key: str) -> None:
    if not isinstance(schema.get("enum"), list | tuple | None):
        raise _error(where, f"key '{key}.enum'", schema["enum"], "a list of values")
    for word in ("anyOf", "oneOf", "allOf"):
        members = schema.get(word, [{}])
        if not isinstance(members, list) or not members or not all(isinstance(m, Mapping) for m in members):
            raise _error(where, f"key '{key}.{word}'", members, "a list of schemas")
        for member in members:
            if not isinstance(member.get("enum"), list | tuple | None):
                raise _error(where, f"key '{key}.{word}.enum'", member["enum"], "a list of values")


def _required(value: object, where: str, key: str) -> list[str] | None:
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise _error(where, f"key 'required' of {key}", value, "a list of parameter names")
    return list(value)


def _text(schema: Mapping[str, Any], where: str, key: str) -> str:
    value = schema.get("description")
    if not isinstance(value, str | None):
        raise _error(where, f"key '{key}'", value, "a string")
    return value or ""


def _is_schema(members: object) -> bool:
    """Whether `members`, found under "properties", is itself the schema of a parameter of that name."""
    return isinstance(members, Mapping) and isinstance(members.get("type"), str)


def _is_keyword(name: str, member: object) -> bool:
    if isinstance(member, Mapping):
        return name in _DEFINITIONS
    return name in _KEYWORDS


def _error(where: str, what: str, found: object, mend: str) -> InputError:
    shown = repr(found)
    return InputError(f"{where}: {what} is {shown if len(shown) <= 60 else shown[:57] + '...'}; give {mend}")
