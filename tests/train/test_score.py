import io
import json

import pytest

from tasks.errors import InputError
from train import score
from train.self_test import ROWS

JOB = """
from dataclasses import dataclass, field
from typing import Any, Mapping

@dataclass(frozen=True)
class Config:
    task: Mapping[str, Any]
    rewards: tuple[Mapping[str, Any], ...] = ()

def run(config): ...
"""
RECIPE = """
job: scored_job
task: {use: when2call}
rewards:
  - {use: format, weight: 0.5}
  - {use: tool_match}
  - {use: certainty, belief: grounded}
"""


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe of a job that needs neither model nor trainer."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "scored_job.py").write_text(JOB, encoding="utf-8")
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def rows():
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def completion(row, kind):
    body = row["answers"][kind]
    body = f"<tool_call>\n{body}\n</tool_call>" if kind == "tool_call" else body
    return f"<reasoning>Checked.</reasoning>\n<answer>{body}</answer>"


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def scored(recipe, file, overrides=()):
    out = io.StringIO()
    assert score.run(recipe, file, overrides, out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_one_line_for_each_completion_in_order(recipe, tmp_path):
    cases = [(row, kind) for row in rows()[:20:6] for kind in row["answers"]]
    file = write(
        tmp_path / "c.jsonl", [{"task": row, "completion": completion(row, kind)} for row, kind in cases]
    )
    found = scored(recipe, file)
    assert [line["action"] for line in found] == [kind for _, kind in cases]
    for line, (row, kind) in zip(found, cases, strict=True):
        assert line.keys() == {"total", "parts", "action", "reason", "details"}
        assert line["parts"].keys() == {"format", "tool_match", "certainty"}
        assert line["total"] == pytest.approx(
            0.5 * line["parts"]["format"] + (line["parts"]["tool_match"] or 0) + line["parts"]["certainty"]
        )
        assert (line["parts"]["tool_match"] is None) == (row["correct_answer"] != "tool_call")
        assert (line["parts"]["certainty"] > 0) == (kind == row["correct_answer"])
        assert line["reason"].startswith("format: well formed")


def test_overrides_change_the_rewards(recipe, tmp_path):
    file = write(
        tmp_path / "c.jsonl", [{"task": rows()[0], "completion": completion(rows()[0], "tool_call")}]
    )
    assert scored(recipe, file, ["rewards.0.weight=3"])[0]["total"] == 5.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"completion": "x"}, r"c\.jsonl, row 2: expected"),
        ({"task": {}, "completion": "x"}, r"c\.jsonl, row 2"),
        ({"task": {"question": "?"}, "completion": "x"}, r"c\.jsonl, row 2"),
        ({"task": rows()[0], "completion": None}, r"c\.jsonl, row 2: expected"),
    ],
)
def test_a_bad_row_is_named(recipe, tmp_path, line, message):
    good = {"task": rows()[0], "completion": ""}
    with pytest.raises(InputError, match=message):
        scored(recipe, write(tmp_path / "c.jsonl", [good, line]))


def test_malformed_json_and_missing_files_are_named(recipe, tmp_path):
    file = tmp_path / "c.jsonl"
    file.write_text('{"task": \n', encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.jsonl, row 1"):
        scored(recipe, file)
    with pytest.raises(InputError, match=r"none\.jsonl"):
        scored(recipe, tmp_path / "none.jsonl")


def test_a_recipe_without_rewards_is_named(recipe, tmp_path):
    recipe.write_text(RECIPE.partition("rewards:")[0], encoding="utf-8")
    with pytest.raises(InputError, match="no rewards"):
        scored(recipe, write(tmp_path / "c.jsonl", [{"task": rows()[0], "completion": ""}]))


def test_a_reward_that_fails_is_told_with_its_row(recipe, tmp_path):
    (tmp_path / "scored_odd.py").write_text("def odd(task, completion): return completion.answer[2]\n")
    lines = [{"task": rows()[0], "completion": text} for text in ("<answer>xx1</answer>", "")]
    with pytest.raises(InputError, match=r"c\.jsonl, row 1: reward scored_odd\.odd .* returned '1'"):
        scored(recipe, write(tmp_path / "c.jsonl", lines), ["rewards=[{use: scored_odd.odd}]"])
    with pytest.raises(InputError, match=r"row 1: reward scored_odd\.odd raised IndexError"):
        scored(recipe, write(tmp_path / "c.jsonl", lines[1:]), ["rewards=[{use: scored_odd.odd}]"])
