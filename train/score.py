"""`askrl score RECIPE FILE.jsonl`: the recipe's rewards on completions from a file.

In, one JSON object a line: `{"task": <row of the recipe's data set>, "completion": <text>}`. Out, in the same
order, one line each: `{"total", "parts", "action", "reason", "details"}`; `parts` holds each reward's value
(null: does not apply), `details` the numbers behind it. Rewards count at full weight, as after their warm-up.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rewards.stack import RewardStack, StackScore, build
from tasks import when2call
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.sources import module
from tasks.tool_task import ToolTask
from train.recipe import Recipe, load

ParseRow = Callable[[Mapping[str, Any], str], ToolTask]


def run(
    recipe_path: str | Path, file: str | Path, overrides: Sequence[str] = (), out: TextIO | None = None
) -> int:
    """Score every line of `file` and write to `out` (standard output); returns exit code 0.

    Raises InputError for a recipe without rewards, and for a file or row that cannot be read, naming file and
    row, and for a user's reward that fails on it. Lines before a bad row have been written by then.
    """
    recipe = load(recipe_path, overrides)
    stack, parse_row = _stack(recipe), _parser(recipe)
    for number, line in read_rows(file):
        where = f"{file}, row {number}"
        row, text = line.get("task"), line.get("completion")
        if not isinstance(row, Mapping) or not isinstance(text, str):
            raise InputError(
                f'{where}: expected {{"task": <row>, "completion": <text>}}, found keys {sorted(line)}'
            )
        task = parse_row(row, where)
        try:
            found = stack.score(task, text)
        except InputError as error:  # a reward of the user's own
            raise InputError(f"{where}: {error}") from error
        print(json.dumps(as_json(found), ensure_ascii=False), file=out or sys.stdout)
    return 0


def as_json(score: StackScore) -> dict[str, Any]:
    """A score as the line that is written for it."""
    columns = score.columns
    return {
        "total": score.total,
        "parts": {name: column.value for name, column in columns.items()},
        "action": score.completion.action,
        "reason": "; ".join(f"{name}: {column.reason}" for name, column in columns.items() if column.reason),
        "details": {name: dict(column.parts) for name, column in columns.items() if column.parts},
    }


def _stack(recipe: Recipe) -> RewardStack:
    rewards = recipe.resolved.get("rewards")
    if not rewards:
        raise InputError(
            f"{recipe.path.name}: job {recipe.job} has no rewards; give a recipe with a `rewards:` list"
        )
    return build(rewards, f"{recipe.path.name}: rewards")


def _parser(recipe: Recipe) -> ParseRow:
    """The row reader of the recipe's task; a task without one of its own has rows like When2Call's."""
    use = (recipe.resolved.get("task") or {}).get("use")
    reader: ParseRow = getattr(module(use, recipe.path.name), "parse_row", when2call.parse_row)
    return reader
