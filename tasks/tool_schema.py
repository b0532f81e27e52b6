"""Tools in every dialect of the public data sets, to typed schemas and back to valid JSON Schema.

Read are the dialects of When2Call (test and train), xLAM/APIGen, BFCL, ToolACE and OpenAI: type names of JSON Schema,
Python and Java ("dict", "str, optional", "List[float]"), `required` inside or beside `parameters`, parameters with or
without `properties`, tools as strings or objects.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

from tasks.errors import InputError
from tasks.json_lines import loads
from tasks.tool_types import (
    BOOLEAN,
    MISMATCH,
    MISSING,
    UNBOUNDED,
    UNKNOWN,
    Domain,
    Json,
    Parameter,
    ToolCall,
    ToolSchema,
    TypeName,
    coerce,
    same,
)

__all__ = [
    "MISMATCH", "MISSING", "UNBOUNDED", "UNKNOWN", "Domain", "Json", "Parameter", "ToolCall", "ToolSchema",
    "coerce", "parse_tool", "same", "to_openai",
]  # fmt: skip

MAX_DEPTH = 32

# Names that stand alone; names with brackets are taken apart by `_read_type`. What is not listed is "any":
# the data sets write "np.ndarray" and "Callable[[float], float]", and no value can be held against those.
_TYPES: dict[str, TypeName] = {
    name: kind
    for kind, names in cast(
        dict[TypeName, str],
        {
            "string": "string str text char character date datetime time uuid uri enum",
            "integer": "integer int long short byte int32 int64",
            "number": "number float double decimal",
            "boolean": "boolean bool",
            "array": "array list tuple set sequence iterable arraylist",
            "object": "object dict dictionary map mapping hashmap struct",
        },
    ).items()
    for name in names.split()
}
_NULLS = ("null", "none", "nonetype")
_KEYWORDS = {
    "type", "title", "description", "required", "additionalProperties", "default", "examples", "$schema", "$id",
    "$defs", "definitions", "strict", "optional",
}  # fmt: skip
# Passed through to the prompt when they are what JSON Schema says they must be.
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TEXTS = ("format", "pattern")


def parse_tool(raw: str | Mapping[str, Any], where: str = "") -> ToolSchema:
    """Read one tool; `where` names its place in messages. Raises `InputError` where it is not a tool's schema."""
    return _Reader(where or "tool").tool(raw)


def to_openai(tool: ToolSchema) -> dict[str, Any]:
    """Return the tool as chat templates take it: `{"type": "function", "function": ...}` with valid JSON Schema."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": _object_schema(tool.parameters),
    }
    return {"type": "function", "function": function}


def _object_schema(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {p.name: _value_schema(p) for p in parameters}}
    required = [p.name for p in parameters if p.required]
    if required:
        schema["required"] = required
    return schema


def _value_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if parameter.type != "any":
        schema["type"] = [parameter.type, "null"] if parameter.nullable else parameter.type
    if parameter.properties:
        schema |= _object_schema(parameter.properties) | {"type": schema["type"]}
    if parameter.items is not None:
        schema["items"] = _value_schema(parameter.items)
    if parameter.description:
        schema["description"] = parameter.description
    domain = parameter.domain
    if domain.kind == "finite" and domain.values:
        schema["enum"] = list(domain.values)
    if domain.kind == "integer_range":
        schema |= {"minimum": domain.low, "maximum": domain.high}
    if parameter.default is not MISSING:
        schema["default"] = parameter.default
    return schema | dict(parameter.constraints)


class _Reader:
    """Reads one tool; holds only the place that messages name."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, found: object, mend: str) -> InputError:
        shown = repr(found)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InputError(f"{self.where}: {key} is {shown}; {mend}")

    def tool(self, raw: str | Mapping[str, Any]) -> ToolSchema:
        tool: Any = raw
        if isinstance(raw, str):
            try:
                tool = loads(raw)
            except ValueError as error:
                raise InputError(
                    f"{self.where}: the tool is not valid JSON ({error}); write one JSON object"
                ) from None
        if not isinstance(tool, Mapping):
            raise self.fail("the tool", tool, "it must be an object with name, description and parameters")
        source = tool
        if "function" in tool and "name" not in tool:
            tool = tool["function"]
            if not isinstance(tool, Mapping):
                raise self.fail(
                    "key 'function'", tool, "it must be an object with name, description and parameters"
                )
        name = tool.get("name")
        if not isinstance(name, str) or not name.strip():
            raise self.fail("key 'name'", name, "give the tool's name as a string")
        self.where = f"{self.where}, tool {name!r}"
        parameters = tool.get("parameters")
        if parameters is None:
            parameters = {}
        if not isinstance(parameters, Mapping):
            raise self.fail("key 'parameters'", parameters, "it must be an object (JSON Schema)")
        return ToolSchema(
            name=name.strip(),
            description=self.text(tool, "description", "description"),
            parameters=self.properties(parameters, tool.get("required"), "parameters", 0),
            source=source,
        )

    def properties(
        self, schema: Mapping[str, Any], beside: object, key: str, depth: int
    ) -> tuple[Parameter, ...]:
        """Read an object's properties; `beside` is a `required` list that stands outside of the schema."""
        lists = [self.required(schema.get("required"), key), self.required(beside, key)]
        listed = None if lists == [None, None] else {name for names in lists for name in names or ()}
        members, flat = schema.get("properties"), False
        if members is None:
            # xLAM: the parameters stand directly in `parameters`, and no list says which are required.
            flat = True
            members = {name: member for name, member in schema.items() if not _is_keyword(name, member)}
        if not isinstance(members, Mapping):
            raise self.fail(f"key '{key}.properties'", members, "it must map parameter names to schemas")
        found = []
        for name, member in members.items():
            place = f"{key}.{name}"
            parameter, optional = self.parameter(str(name), member, place, depth + 1)
            if listed is not None:
                required = name in listed
            else:
                required = flat and not optional
            found.append(_replace_required(parameter, required))
        for name in sorted((listed or set()) - {p.name for p in found}):
            # Valid JSON Schema: a required property that no schema describes.
            found.append(Parameter(name, "any", required=True))
        return tuple(found)

    def required(self, value: object, key: str) -> list[str] | None:
        if value is None or isinstance(value, bool):
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
            raise self.fail(f"key 'required' of {key}", value, "it must be a list of parameter names")
        return list(value)

    def text(self, schema: Mapping[str, Any], name: str, key: str) -> str:
        value = schema.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(f"key '{key}'", value, "it must be a string")
        return value

    def parameter(self, name: str, schema: object, key: str, depth: int) -> tuple[Parameter, bool]:
        """Read one parameter; also returns whether its own text makes it optional (a default, "optional")."""
        if depth > MAX_DEPTH:
            raise InputError(
                f"{self.where}: key '{key[:60]}...' is nested more than {MAX_DEPTH} levels; flatten it"
            )
        if schema is True:
            schema = {}
        if not isinstance(schema, Mapping):
            raise self.fail(f"key '{key}'", schema, 'it must be an object such as {"type": "string"}')
        schema, nullable = self.flatten(schema, key)
        kind, inner, optional, null = self.type(schema, key)
        nullable = nullable or null
        items = None
        if kind == "array":
            member = schema.get("items", {"type": inner} if inner else None)
            if isinstance(member, Mapping) or member is True:
                items, _ = self.parameter("items", member, f"{key}.items", depth + 1)
        properties: tuple[Parameter, ...] = ()
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            properties = self.properties(schema, None, key, depth)
        bare = Parameter(name, kind, items=items, nullable=nullable)
        domain = self.domain(schema, bare, key)
        if kind == "array" and domain.kind == "finite":
            # An enum beside a list lists its members; lists themselves are unbounded (section 1.1 of the guide).
            domain, items = UNBOUNDED, _with_domain(items, domain)
        default = schema.get("default", MISSING)
        if default is not MISSING:
            typed = coerce(default, bare)
            default = default if typed is MISMATCH else typed
        parameter = Parameter(
            name, kind, domain, default=default, description=self.text(schema, "description", f"{key}.description"),
            items=items, properties=properties, nullable=nullable, constraints=_constraints(schema, domain),
        )  # fmt: skip
        return parameter, optional or default is not MISSING or schema.get("required") is False

    def flatten(self, schema: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], bool]:
        """Replace anyOf/oneOf/allOf by what its members agree on; also returns whether null is one of them."""
        for word in ("anyOf", "oneOf", "allOf"):
            members = schema.get(word)
            if members is None:
                continue
            if (
                not isinstance(members, list)
                or not members
                or not all(isinstance(m, Mapping) for m in members)
            ):
                raise self.fail(f"key '{key}.{word}'", members, "it must be a list of schemas")
            rest = {name: value for name, value in schema.items() if name != word}
            solid = [m for m in members if str(m.get("type")).lower() not in _NULLS]
            null = len(solid) < len(members) and word != "allOf"
            if len(solid) == 1 or word == "allOf":
                merged: dict[str, Any] = {}
                for member in solid:
                    merged |= member
                return merged | rest, null
            choices = [_choices(member) for member in solid]
            if solid and all(choice is not None for choice in choices):
                rest["enum"] = [value for choice in choices for value in choice or ()]
            kinds = {str(member.get("type")) for member in solid}
            if len(kinds) == 1 and "type" in solid[0]:
                rest.setdefault("type", solid[0]["type"])
            return rest, null
        return schema, False

    def type(self, schema: Mapping[str, Any], key: str) -> tuple[TypeName, str, bool, bool]:
        """Return the type, the type of its members ("" if none is named), whether it is optional, and nullable."""
        raw = schema.get("type")
        null = schema.get("nullable") is True
        if isinstance(raw, list):
            if not raw or not all(isinstance(name, str) for name in raw):
                raise self.fail(f"key '{key}.type'", raw, "it must be a type name or a list of them")
            names = [name for name in raw if name.lower() not in _NULLS]
            null = null or len(names) < len(raw)
            raw = names[0] if len(names) == 1 else "any"
        if raw is None:
            kind: TypeName = "object" if isinstance(schema.get("properties"), Mapping) else "any"
            if kind == "any" and "items" in schema:
                kind = "array"
            if kind == "any":
                kind = _type_of_all(_choices(schema))
            return kind, "", schema.get("optional") is True, null
        if not isinstance(raw, str) or not raw.strip():
            raise self.fail(f"key '{key}.type'", raw, 'it must be a type name such as "string"')
        kind, inner, optional, optional_null = _read_type(raw)
        return kind, inner, optional or schema.get("optional") is True, null or optional_null

    def domain(self, schema: Mapping[str, Any], parameter: Parameter, key: str) -> Domain:
        choices = _choices(schema)
        if choices is None and schema.get("enum") is not None:
            raise self.fail(f"key '{key}.enum'", schema["enum"], "it must be a list of values")
        # An empty enum is how some generators write "no list".
        if choices:
            values: list[Json] = []
            for choice in choices:
                typed = coerce(choice, parameter)
                value = choice if typed is MISMATCH else typed
                if not any(same(value, other) for other in values):
                    values.append(value)
            return Domain("finite", tuple(values))
        if parameter.type == "boolean":
            return BOOLEAN
        if parameter.type == "integer":
            low, high = _bound(schema, "minimum", 1), _bound(schema, "maximum", -1)
            if low is not None and high is not None:
                return Domain("integer_range", low=low, high=high)
        return UNBOUNDED


def _is_keyword(name: str, member: object) -> bool:
    # A parameter may well be called "type" or "description"; then a schema stands behind the name.
    return name in _KEYWORDS and not (isinstance(member, Mapping) and name not in ("$defs", "definitions"))


def _replace_required(parameter: Parameter, required: bool) -> Parameter:
    import dataclasses

    return dataclasses.replace(parameter, required=required)


def _with_domain(items: Parameter | None, domain: Domain) -> Parameter:
    import dataclasses

    if items is None:
        return Parameter("items", _type_of_all(list(domain.values)), domain)
    return dataclasses.replace(items, domain=domain)


def _choices(schema: Mapping[str, Any]) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return list(values) if isinstance(values, list | tuple) else None


def _type_of_all(values: list[Json] | None) -> TypeName:
    names = {type(value) for value in values or ()}
    known: dict[type, TypeName] = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return known.get(names.pop(), "any") if len(names) == 1 else "any"


def _bound(schema: Mapping[str, Any], word: str, inward: int) -> int | None:
    """Return the tightest whole number that `minimum` or `maximum`, or its exclusive twin, allows."""
    bounds = []
    inclusive, exclusive = schema.get(word), schema.get(f"exclusive{word.capitalize()}")
    if exclusive is True:  # draft 4: a flag on the inclusive bound
        inclusive, exclusive = None, inclusive
    round_inward = math.ceil if inward > 0 else math.floor
    if _is_number(inclusive):
        bounds.append(round_inward(inclusive))
    if _is_number(exclusive):
        whole = round_inward(exclusive)
        bounds.append(whole + inward if whole == exclusive else whole)
    return None if not bounds else (max(bounds) if inward > 0 else min(bounds))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _constraints(schema: Mapping[str, Any], domain: Domain) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    if domain.kind != "integer_range":
        kept |= {word: schema[word] for word in _NUMERIC if _is_number(schema.get(word))}
    kept |= {word: schema[word] for word in _COUNTS if type(schema.get(word)) is int and schema[word] >= 0}
    kept |= {word: schema[word] for word in _TEXTS if isinstance(schema.get(word), str)}
    return kept


def _read_type(text: str) -> tuple[TypeName, str, bool, bool]:
    """Read a type's name: (type, type of the members or "", optional, nullable).

    "str, optional" is an optional string, "List[float]" an array of numbers, "Optional[int]" and "int | None" an
    optional integer that may be null, "Dict[str, int]" an object.
    """
    head, *notes = _split(text, ",")
    optional = any(note.strip().lower().startswith(("optional", "default")) for note in notes)
    name = head.strip()
    alternatives = _split(name, "|")
    base, _, inside = name.partition("[")
    base, inside = base.strip().lower().rpartition(".")[2], inside.rstrip().removesuffix("]")
    if base == "union" and inside:
        alternatives = _split(inside, ",")
    elif base == "optional" and inside:
        alternatives = [inside, "None"]
    if len(alternatives) > 1:
        solid = [part.strip() for part in alternatives if part.strip().lower() not in _NULLS]
        null = len(solid) < len(alternatives)
        if len(solid) != 1:
            return "any", "", optional or null, null
        kind, inner, _, _ = _read_type(solid[0])
        return kind, inner, optional or null, null
    kind = _TYPES.get(base, "any")
    members = _split(inside, ",") if inside and kind == "array" else []
    same_member = len(members) == 1 or (len(members) == 2 and members[1].strip() == "...")
    return kind, members[0].strip() if same_member else "", optional, False


def _split(text: str, mark: str) -> list[str]:
    """Split at the marks that stand outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
