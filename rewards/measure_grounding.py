"""Certainty of real calls under each reading: `python -m rewards.measure_grounding FILE.jsonl`.

FILE holds When2Call rows. The first table compares the calls of rows labelled call with the invented calls of
rows labelled ask; the second counts the required arguments that each rule supports.
"""

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewards.feasibility import Which, feasibility, grounded_feasibility
from rewards.grounding import Rule, supported
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.tool_schema import UNKNOWN
from tasks.tool_task import ToolTask
from tasks.when2call import UnusableRow, parse_row

RULES: tuple[Rule, ...] = ("whole", "half", "loose")
READINGS = ("emitted", "reference", *RULES)
WHICH: tuple[Which, ...] = ("required", "all")


@dataclass(frozen=True, slots=True)
class Cell:
    """Certainties of one kind of call under one reading."""

    count: int
    mean: float
    certain: float  # share that is exactly 1
    lost: float  # share below .01

    @classmethod
    def of(cls, values: Sequence[float]) -> "Cell":
        """Summarise at least one certainty."""
        count = len(values)
        return cls(
            count,
            statistics.fmean(values),
            sum(value == 1.0 for value in values) / count,
            sum(value < 0.01 for value in values) / count,
        )


def tasks_of(file: str) -> list[ToolTask]:
    """The usable rows of a file."""
    tasks = []
    for number, row in read_rows(file):
        try:
            tasks.append(parse_row(row, f"{file}, row {number}"))
        except UnusableRow:
            continue
    return tasks


def certainties(
    tasks: Iterable[ToolTask], label: str, reading: str, parameters: Which = "required"
) -> list[float]:
    """Pi of the row's own call on every row of this label that has one."""
    found = []
    for task in tasks:
        call = task.reference_call if reading == "reference" else task.label_call
        if task.gold != label or call is None:
            continue
        if reading in RULES:
            found.append(grounded_feasibility(task, call, reading, parameters).value)
        else:
            found.append(feasibility(task.tool(call.name), call, parameters).value)
    return found


def argument_support(tasks: Iterable[ToolTask], label: str, rule: Rule) -> tuple[int, int, int, int]:
    """Required arguments of the rows' calls: (supported, all), then the held-out ones: (supported, all)."""
    counts = [0, 0, 0, 0]
    for task in tasks:
        if task.gold != label or task.label_call is None or (tool := task.tool(task.label_call.name)) is None:
            continue
        for name in tool.required:
            value = task.label_call.arguments.get(name, UNKNOWN)
            if value is not UNKNOWN:
                place = 2 if name == task.held_out else 0
                counts[place] += supported(task, tool.parameter(name), value, rule)
                counts[place + 1] += 1
    return counts[0], counts[1], counts[2], counts[3]


def report(tasks: Sequence[ToolTask]) -> str:
    """Both tables in Markdown."""
    lines = [
        "| certainty of | parameters | gold call, call rows | invented call, ask rows |",
        "|---|---|---|---|",
    ]
    for reading in READINGS:
        for which in WHICH:
            cells = []
            for label in ("tool_call", "request_for_info"):
                values = certainties(tasks, label, reading, which)
                cells.append(_show(Cell.of(values)) if values else "no rows")
            lines.append(f"| {reading} | {which} | {cells[0]} | {cells[1]} |")
    lines += ["", "| rule | call rows | ask rows, said | ask rows, held out |", "|---|---|---|---|"]
    for rule in RULES:
        call = argument_support(tasks, "tool_call", rule)
        ask = argument_support(tasks, "request_for_info", rule)
        lines.append(f"| {rule} | {call[0]}/{call[1]} | {ask[0]}/{ask[1]} | {ask[2]}/{ask[3]} |")
    return "\n".join(lines)


def _show(cell: Cell) -> str:
    return f"mean {cell.mean:.3f}, =1 on {cell.certain:.0%}, <.01 on {cell.lost:.0%} (n {cell.count})"


def main(arguments: Sequence[str]) -> int:
    """Print the tables for one file; exit code 2 for bad input."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(report(tasks_of(arguments[0])))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
