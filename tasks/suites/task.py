"""What every suite gives: tasks with need graphs, and how many rows were left out, and why."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.need_graph import CyclicError, NeedGraph


class SkipRow(ValueError):
    """A row that is whole but of no use; the message is its reason, one phrase that many rows share."""


@dataclass(frozen=True, slots=True)
class GraphTask:
    """A question, its answer with aliases, and what it needs. `kind` is the suite's own class of question."""

    id: str
    question: str
    answers: tuple[str, ...]
    graph: NeedGraph
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """A data set: how its row is read. `parse` raises SkipRow, or KeyError and TypeError for a broken row."""

    name: str
    parse: Callable[[Mapping[str, Any]], GraphTask]

    def load(self, path: Path) -> tuple[list[GraphTask], Counter[str]]:
        """The tasks of a JSON-lines file in its order, and the rows left out by reason.

        Raises InputError naming file and row for one that is no row of this suite.
        """
        found: dict[str, GraphTask] = {}
        skipped: Counter[str] = Counter()
        for number, row in read_rows(path):
            try:
                task = self.parse(row)
            except SkipRow as skip:
                skipped[str(skip)] += 1
                continue
            except CyclicError:
                skipped["its steps refer to one another in a circle"] += 1
                continue
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                cause = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise InputError(f"{path}, row {number}: not a row of {self.name} ({cause})") from None
            if task.id in found:
                skipped["an id that an earlier row has"] += 1
                continue
            found[task.id] = task
        return list(found.values()), skipped


def references(text: str, own: int, steps: int) -> list[int]:
    """The steps (from 1) that `#n` in a step's text names: those that exist and are not the step itself."""
    named = dict.fromkeys(int(number) for number in re.findall(r"#(\d{1,4})", text))
    return [number for number in named if 1 <= number <= steps and number != own]


def step_edges(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Edges between steps `s1`, `s2`, … whose texts name one another."""
    return tuple(
        (f"s{parent}", f"s{own}")
        for own, text in enumerate(texts, 1)
        for parent in references(text, own, len(texts))
    )


def texts_of(value: object) -> tuple[str, ...]:
    """A list of strings; TypeError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"a list of texts was expected, not {type(value).__name__}")
    return tuple(value)
