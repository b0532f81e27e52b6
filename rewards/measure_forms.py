"""How often each form of the reward lets another answer beat gold: `python -m rewards.measure_forms FILE`.

FILE holds When2Call test rows, which carry one answer of every class. All parts have weight 1.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from rewards.measure_grounding import RULES, tasks_of
from rewards.stack import RewardStack, build
from tasks.completion import render
from tasks.errors import InputError
from tasks.tool_task import ToolTask

Entry = Mapping[str, Any]

_FORMAT: Entry = {"use": "format"}
_PLAIN: list[Entry] = [_FORMAT, {"use": "tool_match"}, {"use": "action_class"}]


def forms() -> Iterator[tuple[str, list[Entry]]]:
    """Every form by a name that says how it differs from the plain sum."""
    yield "plain", _PLAIN
    for belief, parameters, scope in product(
        ("emitted", "reference", "grounded"), ("required", "all"), ("class", "all")
    ):
        beside = [] if scope == "all" else _PLAIN[:2]
        certainty = {"use": "certainty", "belief": belief, "parameters": parameters, "scope": scope}
        for rule in RULES if belief == "grounded" else ("",):
            options = {"grounding": rule} if rule else {}
            name = f"certainty, {f'{belief} {rule}'.strip()}, {parameters}, scope {scope}"
            yield name, [*beside, {**certainty, **options}]
    for support in ("product", "share"):
        yield f"signed_grounding, {support}", [_FORMAT, {"use": "signed_grounding", "support": support}]
        penalty = {"use": "grounding_penalty", "support": support, "weight": 0.2}
        yield f"plain + 0.2 grounding_penalty, {support}", [*_PLAIN, penalty]
        proper = {"use": "proper_score", "support": support}
        yield f"plain + proper_score, {support}", [*_PLAIN, proper]
        for trust in (0.5, 0.8, 1.0):
            label = {"use": "certain_label", "support": support, "trust": trust}
            yield f"certain_label, {support}, trust {trust}", [*_PLAIN[:2], label]
            whole = {**label, "scope": "all"}
            yield f"certain_label, {support}, trust {trust}, scope all", [_FORMAT, whole]
            full = {"use": "grounding_penalty", "weight": 1.5}
            name = f"certain_label, {support}, trust {trust}, scope all + 1.5 grounding_penalty, share"
            yield name, [_FORMAT, whole, full]


def beaten(stack: RewardStack, tasks: Sequence[ToolTask]) -> int:
    """Rows on which an answer of another class earns more than the labelled one."""
    count = 0
    for task in tasks:
        totals = {
            kind: stack.score(task, render("Checked.", _answer(kind, text))).total
            for kind, text in task.answers.items()
        }
        count += any(total > totals[task.gold] for total in totals.values())
    return count


def _answer(kind: str, text: str) -> str:
    return f"<tool_call>\n{text}\n</tool_call>" if kind == "tool_call" else text


def main(arguments: Sequence[str]) -> int:
    """Print the table for one file; exit code 2 for bad input."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        tasks = tasks_of(arguments[0])
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"| reward (format + tool_match + ...) | gold beaten, of {len(tasks)} rows |\n|---|---|")
    for name, entries in forms():
        count = beaten(build(entries), tasks)
        print(f"| {name} | {count} ({count / len(tasks):.1%}) |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
