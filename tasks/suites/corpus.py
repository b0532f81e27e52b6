"""Paragraphs that come in a file of their own: StrategyQA's, or any that FRAMES is to be searched in."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.multi_hop import Paragraph, uid_of
from tasks.suites.pool import MISSING
from tasks.suites.rows import one_object, read
from tasks.suites.task import GraphTask, Piece, SkipRow, text_of

POOL = 20
"""Paragraphs of a drawn pool: the gold ones, the rest at random."""

_TEXT = ("contents", "content", "text")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Paragraphs by the name that an annotation calls them, and how many repeat an earlier one's name."""

    pieces: Mapping[str, Piece]
    names: tuple[str, ...]
    """Sorted: what is drawn does not depend on the order of the file."""
    repeated: int

    @classmethod
    def read(cls, path: Path) -> "Corpus":
        """From JSON lines or a list of `{title, para_index, contents}`, or one object of them by name.

        A name is `title-para_index`, not the field `id`; without `para_index` the number of the row serves.
        Raises InputError naming file and row.
        """
        pieces: dict[str, Piece] = {}
        repeated = 0
        for number, name, row in _rows(path):
            try:
                title = text_of(row["title"])
                text = text_of(next(row[key] for key in _TEXT if key in row))
            except (KeyError, TypeError, StopIteration) as error:
                cause = f"({error})" if isinstance(error, TypeError) else "without title or contents"
                raise InputError(f"{path}, row {number}: no paragraph {cause}; mend the row") from None
            name = name or f"{title}-{row.get('para_index', number)}"
            repeated += name in pieces
            pieces.setdefault(name, (name, title, text))
        return cls(pieces, tuple(sorted(pieces)), repeated)

    def all(self, suite: str) -> tuple[Paragraph, ...]:
        """All of them, as the one pool that every task of a suite shares."""
        return tuple(
            Paragraph(uid_of(suite, "", index, self.pieces[name][2]), *self.pieces[name][1:])
            for index, name in enumerate(self.names)
        )

    def holds(self, task: GraphTask) -> bool:
        """Whether it has all evidence of a task."""
        return all(name in self.pieces for need in task.graph.needs for name in need.evidence)

    def pool(self, task: GraphTask, seed: int) -> list[Piece]:
        """A task's gold paragraphs with others up to 20, shuffled; by seed and task, whatever else is read.

        Raises SkipRow where one is missing.
        """
        if not self.holds(task):
            raise SkipRow(MISSING)
        gold = list(dict.fromkeys(str(name) for need in task.graph.needs for name in need.evidence))
        chance = random.Random(f"{seed}/{task.id}")
        drawn = chance.sample(self.names, min(POOL, len(self.names)))
        others = [name for name in drawn if name not in gold]
        names = [*gold, *others[: max(POOL - len(gold), 0)]]
        chance.shuffle(names)
        return [self.pieces[name] for name in names]


def _rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    named = one_object(path)
    if named is None:
        for number, row in read(path):
            yield number, "", row
        return
    for number, (name, row) in enumerate(named.items(), 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: no paragraph but {type(row).__name__}; mend the row")
        yield number, name, row
