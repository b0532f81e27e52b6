"""What every suite gives: tasks with need graphs, and how many rows were left out, and why."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.need_graph import CyclicError, NeedGraph, Uid
from tasks.suites.rows import listed, read

Row = Mapping[str, Any]
Piece = tuple[Uid, str, str]
"""A paragraph as the annotation names it, its title, its text."""


class SkipRow(ValueError):
    """A row that is whole but of no use; the message is its reason, one phrase that many rows share."""


@dataclass(frozen=True, slots=True)
class GraphTask:
    """A question, its answer with aliases, and what it needs."""

    id: str
    question: str
    answers: tuple[str, ...]
    graph: NeedGraph
    kind: str = ""
    """The suite's own class of question."""
    template: str = ""
    """Tasks of one template are paraphrases of one another; empty where a task has none."""
    answer_need: str | None = None
    """The need whose own answer is the task's, where there is one with evidence."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A data set: how its row is read, and how a task of it is played.

    `parse` and `paragraphs` raise SkipRow, or KeyError and TypeError for a broken row.
    """

    key: str
    name: str
    parse: Callable[[Row], GraphTask]
    top_k: int
    """Paragraphs that a question fetches at most."""
    word_cap: int
    """Words that a final answer may have."""
    paragraphs: Callable[[Row], list[Piece]] | None = None
    """A row's own; None where they come from a corpus."""
    has_graphs: bool = True

    def load(self, path: Path) -> tuple[list[GraphTask], Counter[str]]:
        """The tasks of a file in its order, and the rows left out by reason.

        Raises InputError naming file and row for one that is no row of this suite.
        """
        skipped: Counter[str] = Counter()
        return [task for task, _ in self.each(read(path), str(path), skipped)], skipped

    def each(
        self,
        rows: Iterable[tuple[int, Row]],
        source: str,
        skipped: Counter[str],
        use: Callable[[GraphTask, Row], Any] = lambda task, row: None,
    ) -> Iterator[tuple[GraphTask, Any]]:
        """Each task and what `use` makes of it; rows left out are counted in `skipped`, by reason."""
        found: set[str] = set()
        for number, row in rows:
            try:
                task = self.parse(row)
                if task.id in found:
                    raise SkipRow("an id that an earlier row has")
                used = use(task, row)
            except SkipRow as skip:
                skipped[str(skip)] += 1
                continue
            except CyclicError:
                skipped["its steps refer to one another in a circle"] += 1
                continue
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                cause = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise InputError(f"{source}, row {number}: not a row of {self.name} ({cause})") from None
            found.add(task.id)
            yield task, used


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


def text_of(value: object) -> str:
    """A string; TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value


def name_of(value: object) -> str:
    """An id; TypeError for what is neither text nor a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"an id was expected, not {type(value).__name__}")
    return str(value)


def texts_of(value: object) -> tuple[str, ...]:
    """A list of strings, maybe as JSON text; TypeError for anything else."""
    return tuple(map(text_of, listed(value)))
