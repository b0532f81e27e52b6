"""Transcripts show best and worst of a group, and nothing a model writes can break out of its block."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.train.scored import CALL_TEXTS, TRAIN, VAGUE, WEIGHTS, batch
from train.transcripts import MOST_CHARACTERS, fenced, pick, transcript


def test_a_page_shows_prompt_gold_completions_and_reasons():
    page = transcript(batch(), WEIGHTS, step=12, count=2)
    assert page.startswith("# Step 12\n")
    assert "## 1. `A train to Leeds, please.`: gold `tool_call`" in page
    assert "user: A train to Leeds, please." in page
    assert "* tool `find_train(city, sleeper?)`" in page
    assert '* gold call `find_train{"city": "Leeds"}`' in page
    assert "### Best of 4: `tool_call`, right, reward 2.5, certainty 1" in page
    assert "### Worst of 4: `direct`, wrong, reward 0, certainty 1" in page
    assert "* to be asked for: `city`" in page
    assert "| format | 1 | +0.5 |" in page
    assert "| certainty | 1 | +1 | right action, certainty 1 |" in page
    assert "| certainty | 0 | +0 | direct where tool_call is right, certainty 1 |" in page
    assert "| tool_match | - | - | the label is not a call |" in page
    assert re.search(r"\| grounding_penalty \| -1 \| -0\.05 \| support 0 \|", page)
    assert "<answer>no\n```" in page


def test_classes_take_turns_and_the_widest_group_comes_first():
    tasks = [TRAIN, TRAIN, VAGUE, VAGUE, TRAIN]
    assert pick(tasks, [1.0, 2.0, 0.0, 0.0, 0.5], 5) == [[1, 0, 4], [2, 3]]
    assert pick(tasks, [1.0, 2.0, 0.0, 0.0, 0.5], 1) == [[1, 0, 4]]
    assert pick([], [], 3) == []


def test_a_group_without_spread_is_shown_once():
    page = transcript(batch((TRAIN,) * 2, (CALL_TEXTS[0],) * 2), WEIGHTS, 1, 3)
    assert page.count("### ") == 1
    assert "### All alike of 2: `tool_call`, right" in page


@given(st.text(max_size=200) | st.sampled_from(["```", "````\n# x", "\r\n", "\x1b[2J", "‮abc", "\ud800"]))
def test_a_block_keeps_what_is_in_it(text):
    block = fenced(text)
    found = re.match(r"`{3,}", block)
    assert found
    fence = found[0]
    lines = block.splitlines()
    assert lines[0] == f"{fence}text"
    assert lines[-1] == fence
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f‮\ud800-\udfff]", block)


def test_long_text_is_cut_and_says_so():
    block = fenced("x" * (MOST_CHARACTERS + 5))
    assert block.endswith("\n```\n\n(5 more characters)\n")
    assert block.count("x") == MOST_CHARACTERS + 1  # one in "text"


@pytest.mark.parametrize("name", ["a | b", "<img src=x>", "a`b`", "a\n| c"])
def test_names_from_a_completion_stay_in_their_cell(name):
    text = '<tool_call>{"name": "find_train", "arguments": {"city": "Leeds", "%s": 1}}</tool_call>'
    page = transcript(batch((TRAIN,), (text % name.replace("\n", "\\n"),)), WEIGHTS, 1, 1)
    table = [row for row in page.splitlines() if row.startswith("| tool_match")]
    assert len(table) == 1
    assert len(re.findall(r"(?<!\\)\|", table[0])) == 5
    assert "<" not in table[0]
    assert "`" not in table[0]
