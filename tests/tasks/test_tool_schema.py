import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.tool_schema import MISSING, UNKNOWN, Domain, Parameter, ToolSchema, parse_tool, to_openai


def one(schema: Any, **rest: Any) -> Parameter:
    """Read the schema as the parameter `p` of a tool in JSON Schema."""
    tool = parse_tool({"name": "f", "parameters": {"type": "object", "properties": {"p": schema}, **rest}})
    return tool.parameters[0]


def kind(schema: Any) -> tuple[str, str]:
    parameter = one(schema)
    return parameter.type, parameter.domain.kind


def a_is(schema: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"properties": {"a": schema}}}


def test_when2call_test_dialect() -> None:
    tool = parse_tool(
        '{"name": "todo", "description": "Manages.", "parameters": {"type": "dict", "required": ["type"], '
        '"properties": {"type": {"type": "string", "enum": ["add", "delete"]}, "content": {"type": "string"}'
        "}}}"
    )
    assert (tool.name, tool.description, tool.required) == ("todo", "Manages.", ("type",))
    assert tool.parameter("type") == Parameter("type", "string", Domain("finite", ("add", "delete")), True)
    assert tool.parameter("content") == Parameter("content", "string")
    assert tool.parameter("other") is None


def test_when2call_train_dialect() -> None:
    properties = {
        "a": {"type": "str", "description": "A.", "default": ""},
        "b": {"type": "str, optional"},
        "c": {"type": "List[float]"},
        "d": {"type": "int", "default": "40.733"},
        "e": {"type": "int", "default": "5"},
    }
    tool = parse_tool(
        {"name": "f", "parameters": {"type": "dict", "properties": properties}, "required": ["a", "c"]}
    )
    assert tool.required == ("a", "c")
    assert [p.type for p in tool.parameters] == ["string", "string", "array", "integer", "integer"]
    assert [p.default for p in tool.parameters] == ["", MISSING, MISSING, "40.733", 5]
    assert tool.parameters[2].items == Parameter("items", "number")


def test_tools_without_a_required_list_require_nothing() -> None:
    assert not one({"type": "str"}).required


def test_xlam_dialect() -> None:
    parameters = {
        "city": {"description": "The city.", "type": "str"},
        "days": {"description": "Days.", "type": "int", "default": 3},
        "unit": {"description": "Unit.", "type": "str, optional"},
        "type": {"description": "A parameter that is called type.", "type": "str"},
        "required": {"description": "Another keyword.", "type": "bool"},
    }
    tool = parse_tool({"name": "weather", "description": "", "parameters": parameters})
    assert tool.required == ("city", "type", "required")
    assert tool.parameter("days") == Parameter("days", "integer", default=3, description="Days.")
    assert parse_tool({"name": "f", "parameters": {}}).parameters == ()
    odd = {"properties": {"type": "str", "description": "A parameter that is called properties."}}
    assert parse_tool({"name": "f", "parameters": odd}).required == ("properties",)


def test_toolace_and_bfcl_dialects() -> None:
    parameters = {
        "type": "dict",
        "properties": {"n": {"type": "float"}, "x": {"type": "any"}},
        "required": ["n"],
    }
    tool = parse_tool({"name": "f", "description": "F.", "parameters": parameters, "required": None})
    assert [(p.name, p.type, p.required) for p in tool.parameters] == [
        ("n", "number", True),
        ("x", "any", False),
    ]
    assert kind({"type": "ArrayList", "items": {"type": "String"}}) == ("array", "unbounded")


def test_openai_dialect() -> None:
    function = {
        "name": "f",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "description": "A."},
                "b": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}]},
                "c": {"const": "only"},
                "d": {"enum": [1, 2]},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
    }
    tool = parse_tool({"type": "function", "function": function})
    assert tool == parse_tool({"type": "function", **function})
    a, b, c, d = tool.parameters
    assert a == Parameter("a", "string", Domain("unbounded", nullable=True), True, description="A.")
    assert b.domain == Domain("integer_range", low=0, high=9, nullable=True)
    assert (c.type, c.domain) == ("string", Domain("finite", ("only",)))
    assert (d.type, d.domain.values) == ("integer", (1, 2))


def test_tools_as_strings_and_objects_are_the_same() -> None:
    raw = {"name": " f ", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
    tool = parse_tool(raw)
    assert tool == parse_tool(json.dumps(raw))
    assert tool.name == "f"
    assert tool.source == raw
    assert pickle.loads(pickle.dumps(tool)) == tool


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "boolean"}, ("boolean", Domain("boolean"))),
        ({"type": "boolean", "enum": [True]}, ("boolean", Domain("finite", (True,)))),
        ({"type": "integer", "minimum": 0, "maximum": 50}, ("integer", Domain("integer_range", (), 0, 50))),
        (
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 4},
            ("integer", Domain("integer_range", (), 1, 3)),
        ),
        ({"type": "integer", "minimum": 0.5, "maximum": 3.5}, ("integer", Domain("integer_range", (), 1, 3))),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 3},
            ("integer", Domain("integer_range", (), 2, 3)),
        ),
        ({"type": "integer", "minimum": 0}, ("integer", Domain("unbounded"))),
        ({"type": "number", "minimum": 0, "maximum": 50}, ("number", Domain("unbounded"))),
        ({"type": "integer", "enum": ["2012", 2012, "2013"]}, ("integer", Domain("finite", (2012, 2013)))),
        ({"type": "string", "enum": [1, "b"]}, ("string", Domain("finite", ("1", "b")))),
        ({"type": "string", "enum": []}, ("string", Domain("unbounded"))),
        ({"type": "any", "enum": [1, True, 1.0]}, ("any", Domain("finite", (1, True)))),
        ({"enum": ["a", None]}, ("string", Domain("finite", ("a", None), nullable=True))),
        ({"anyOf": [{"enum": ["a"]}, {"const": "b"}]}, ("string", Domain("finite", ("a", "b")))),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ("any", Domain("unbounded"))),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}, ("string", Domain("finite", ("a", "b")))),
        ({"type": "object", "enum": [{"a": 1}]}, ("object", Domain("finite", ({"a": 1},)))),
        ({}, ("any", Domain("unbounded"))),
        (True, ("any", Domain("unbounded"))),
        ({"$ref": "#/$defs/x"}, ("any", Domain("unbounded"))),
        ({"type": "np.ndarray"}, ("any", Domain("unbounded"))),
    ],
)
def test_domains(schema: Any, expected: tuple[str, Domain]) -> None:
    parameter = one(schema)
    assert (parameter.type, parameter.domain) == expected


def test_lists_are_unbounded_and_their_enum_is_of_the_members() -> None:
    beside = one({"type": "array", "enum": ["a", "b"]})
    inside = one({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}})
    for parameter in (beside, inside):
        assert parameter.domain == Domain("unbounded")
        assert parameter.items is not None
        assert parameter.items.domain == Domain("finite", ("a", "b"))


def test_nested_objects() -> None:
    address = {
        "type": "dict",
        "properties": {"zip": {"type": "str"}, "no": {"type": "int"}},
        "required": ["zip"],
    }
    parameter = one(address)
    assert parameter.properties == (Parameter("zip", "string", required=True), Parameter("no", "integer"))


def test_domain_size_and_membership() -> None:
    finite, span = Domain("finite", (1, "a", True)), Domain("integer_range", low=0, high=50)
    assert (finite.size, Domain("boolean").size, span.size, Domain("unbounded").size) == (3, 2, 51, None)
    assert Domain("integer_range", low=3, high=1).size == 0
    assert finite.contains(1)
    assert finite.contains(1.0)
    assert not Domain("finite", (1,)).contains(True)
    assert [span.contains(x) for x in (0, 50, 51, -1, 7.0, 7.5, "7", True, float("inf"))] == [
        True, True, False, False, True, False, False, False, False,
    ]  # fmt: skip
    assert [Domain("boolean").contains(x) for x in (True, False, 1, "true")] == [True, True, False, False]
    assert Domain("unbounded").contains({"any": "thing"})
    assert Domain("boolean", nullable=True).contains(None)
    assert not Domain("boolean").contains(None)


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("{", ["not valid JSON"]),
        ("[1]", ["the tool is [1]", "give an object"]),
        ({"parameters": {}}, ["key 'name' is None"]),
        ({"name": ""}, ["key 'name'"]),
        ({"name": 3}, ["key 'name' is 3"]),
        ({"type": "function", "function": "f"}, ["key 'function'"]),
        ({"name": "f", "parameters": "x"}, ["tool 'f'", "key 'parameters' is 'x'", "give an object"]),
        ({"name": "f", "parameters": {"properties": [1]}}, ["'parameters.properties'"]),
        (a_is("str"), ["'parameters.a' is 'str'", '{"type": "string"}']),
        ({"name": "f", "parameters": {"a": "str"}}, ["'parameters.a'"]),
        (a_is({"type": 5}), ["'parameters.a.type' is 5"]),
        (a_is({"type": []}), ["'parameters.a.type' is []"]),
        (a_is({"enum": "x"}), ["'parameters.a.enum'", "list of values"]),
        (a_is({"anyOf": []}), ["'parameters.a.anyOf'"]),
        (a_is({"anyOf": [{"enum": 1}]}), ["'parameters.a.anyOf.enum'"]),
        (a_is({"description": 1}), ["'parameters.a.description'"]),
        (
            {"name": "f", "parameters": {"properties": {}, "required": "a"}},
            ["'required'", "list of parameter names"],
        ),
        ({"name": "f", "parameters": {}, "required": [1]}, ["'required'"]),
        ({"name": "f", "description": 1}, ["'description'"]),
    ],
)
def test_what_is_no_schema_is_one_clear_error(raw: Any, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_tool(raw, "rows.jsonl, row 7")
    message = str(caught.value)
    assert message.startswith("rows.jsonl, row 7")
    assert all(part in message for part in parts), message


def test_schemas_nested_without_end() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    with pytest.raises(InputError, match="nested more than 32 levels"):
        one(schema)


def test_required_names_that_no_schema_describes() -> None:
    tool = parse_tool({"name": "f", "parameters": {"properties": {}, "required": ["a", "a"]}})
    assert tool.parameters == (Parameter("a", "any", required=True),)


def test_to_openai_is_exact() -> None:
    raw = {
        "name": "f",
        "description": "F.",
        "parameters": {
            "type": "dict",
            "required": ["a"],
            "properties": {
                "a": {"type": "float", "description": "A.", "minimum": 0, "default": 1.5},
                "b": {"type": "tuple", "items": {"type": "int"}},
                "c": {"type": "any"},
                "d": {"type": "str", "enum": ["x"], "format": "date", "maxLength": "long"},
                "e": {"type": "int", "minimum": 1, "maximum": 8},
            },
        },
    }
    assert to_openai(parse_tool(raw)) == {
        "type": "function",
        "function": {
            "name": "f",
            "description": "F.",
            "parameters": {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {"type": "number", "description": "A.", "minimum": 0, "default": 1.5},
                    "b": {"type": "array", "items": {"type": "integer"}},
                    "c": {},
                    "d": {"type": "string", "enum": ["x"], "format": "date"},
                    "e": {"type": "integer", "minimum": 1, "maximum": 8},
                },
            },
        },
    }


def check_openai(tool: ToolSchema) -> None:
    """The written schema is valid, and reading it again gives the same tool."""
    written = to_openai(tool)
    Draft202012Validator.check_schema(written["function"]["parameters"])
    assert parse_tool(json.dumps(written)) == tool


TYPE_NAMES = [
    "string",
    "str, optional",
    "dict",
    "List[float]",
    "Optional[int]",
    "int | None",
    "any",
    "bool",
    "tuple",
]
values = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
flat_schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPE_NAMES) | st.just(["string", "null"]),
        "enum": st.lists(values, max_size=3),
        "const": values,
        "default": values,
        "minimum": st.integers(-5, 5) | st.floats(-5, 5),
        "maximum": st.integers(-5, 5),
        "description": st.text(max_size=5),
        "required": st.lists(st.text(max_size=2), max_size=2),
        "format": st.sampled_from(["date", 3]),
    },
)
schemas = st.recursive(
    flat_schemas,
    lambda inner: st.builds(
        lambda schema, **more: schema | more,
        flat_schemas,
        items=inner,
        properties=st.dictionaries(st.text(max_size=4), inner, max_size=2),
        anyOf=st.lists(inner, min_size=1, max_size=2),
    ),
    max_leaves=3,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=5), schemas, max_size=3), st.booleans())
def test_any_dialect_writes_valid_json_schema(properties: dict[str, Any], direct: bool) -> None:
    parameters = properties if direct else {"type": "object", "properties": properties}
    check_openai(parse_tool({"name": "f", "parameters": parameters}))


keys = st.sampled_from("name parameters properties type required enum items anyOf function a".split())
json_values = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)


@given(json_values)
def test_any_json_is_a_tool_or_an_input_error(value: Any) -> None:
    try:
        tool = parse_tool(value, "here")
    except InputError as error:
        message = str(error)
    else:
        message = "here" if tool.name else ""
    assert message.startswith("here")


def real_tools(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.jsonl")):
        for _, row in read_rows(path):
            yield from row["tools"]


def test_real_tools(real_rows: Path) -> None:
    tools = [parse_tool(raw) for raw in real_tools(real_rows)]
    assert len(tools) > 600
    for tool in tools:
        check_openai(tool)
    parameters = [parameter for tool in tools for parameter in tool.parameters]
    # Nothing in these files is beyond the type names that are known, apart from what they call "any".
    assert sum(parameter.type == "any" for parameter in parameters) < 10
    assert {parameter.domain.kind for parameter in parameters} >= {"finite", "boolean", "unbounded"}


def test_unknown_is_itself_everywhere() -> None:
    assert repr(UNKNOWN) == "<UNK>"
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING
