"""Hypothesis strategies of completions that no one should write: noise, broken gold, tag soup, JSON bombs."""

import json

from hypothesis import strategies as st

from tasks.completion import render
from tasks.tool_schema import UNKNOWN, ToolCall

TAGS = [
    f"<{slash}{name}>"
    for name in ("reasoning", "think", "answer", "tool_call", "TOOLCALL")
    for slash in ("", "/")
]  # fmt: skip
FRAGMENTS = [
    *TAGS, "<answer", "answer>", "<tool_call/>", "<<answer>>", "<ANSWER>",
    '{"name": "f", "arguments": {}}', '{"name": "f", "arguments": {"a": "<UNK>"}}', '[{"name": "f"}]',
    '{"name": 3}', "[", "]", "{", "}", '"', "\\", "NaN", "Infinity", "-1e999", "9" * 400, "\ud800", "\x00",
    "’", "Which city?", "Could you please tell me the date?", "I'm sorry, I am unable to do that.",
    "It is 15 degrees.", "Shall I proceed?", "\n", " ",
]  # fmt: skip

# Surrogates too: a lone one is what a byte tokenizer leaves of half a character.
any_text = st.text(st.characters(), max_size=200)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.just("<UNK>"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)

tool_calls = st.builds(
    ToolCall,
    st.sampled_from(["f", "get_weather", "", "no.such-tool"]) | st.text(max_size=12),
    st.dictionaries(
        st.sampled_from(["a", "city", "days"]) | st.text(max_size=8),
        json_values | st.just(UNKNOWN),
        max_size=4,
    ),
)

well_formed = st.builds(
    render, any_text, any_text | tool_calls | st.lists(tool_calls, min_size=1, max_size=3)
)

tag_soup = st.lists(st.sampled_from(FRAGMENTS) | any_text, max_size=12).map("".join)

nested_bombs = st.builds(
    lambda opening, depth, before: f"{before}<tool_call>{opening * depth}",
    st.sampled_from(["[", '{"a":', '[{"name":', '{"name":"f","arguments":{"a":[', "[[]," * 3]),
    st.integers(1, 3000),
    st.sampled_from(["", "<answer>", "<reasoning>x</reasoning>\n<answer>"]),
)

json_in_calls = json_values.map(lambda value: f"<answer><tool_call>{json.dumps(value)}</tool_call></answer>")


@st.composite
def mutated(draw: st.DrawFn, originals: st.SearchStrategy[str] = well_formed) -> str:
    """A completion with up to four pieces cut, doubled, moved or replaced by a fragment."""
    text = draw(originals)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        piece = text[start:end]
        kind = draw(st.sampled_from(["cut", "truncate", "double", "insert", "replace", "move"]))
        fragment = draw(st.sampled_from(FRAGMENTS))
        text = {
            "cut": text[:start] + text[end:],
            "truncate": text[:end],
            "double": text[:end] + piece + text[end:],
            "insert": text[:start] + fragment + text[start:],
            "replace": text[:start] + fragment + text[end:],
            "move": piece + text[:start] + text[end:],
        }[kind]
    return text


completions = st.one_of(any_text, well_formed, mutated(), tag_soup, nested_bombs, json_in_calls)
"""Everything above, in equal shares."""

# Inputs that make a careless parser slow: each is a function of a length in characters.
NASTY = {
    "angle brackets": lambda n: "<" * n,
    "open answers": lambda n: "<answer>" * (n // 8),
    "answers": lambda n: "<answer>x</answer>" * (n // 18),
    "open thoughts": lambda n: "<think>" * (n // 7),
    "closed thoughts": lambda n: "</think>" * (n // 8),
    "thoughts": lambda n: "<think>x</think>" * (n // 16),
    "stray tags": lambda n: "<answer></reasoning>" * (n // 20),
    "open calls": lambda n: "<tool_call>" * (n // 11),
    "calls": lambda n: '<tool_call>{"name": "f"}</tool_call>' * (n // 36),
    "nested lists": lambda n: "<tool_call>" + "[" * n,
    "nested objects": lambda n: "<tool_call>" + '{"a":' * (n // 5),
    "closed lists": lambda n: "<tool_call>" + "[" * (n // 2) + "]" * (n // 2),
    "wide list": lambda n: '<tool_call>{"name": "f", "arguments": {"a": [' + "[]," * (n // 3) + "1]}}",
    "long integer": lambda n: '<tool_call>{"name": "f", "arguments": {"a": ' + "9" * n + "}}",
    "long fraction": lambda n: '<tool_call>{"name": "f", "arguments": {"a": 0.' + "0" * n + "1e9}}",
    "backslashes": lambda n: '<tool_call>{"name": "f", "arguments": "' + "\\" * n + '"}',
    "white space": lambda n: "<tool_call>" + "\n" * n,
    "requests": lambda n: "could you please " * (n // 17),
    "offers": lambda n: "would you like " * (n // 15),
    "questions": lambda n: "?" * n,
    "one word": lambda n: "a" * n,
}  # fmt: skip
