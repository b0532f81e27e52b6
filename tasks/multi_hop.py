"""A multi-hop question as the agents see it and, kept apart from it, what they are scored by.

A `Question` and its pool of paragraphs go to the roles; `Gold` (answers, need graph) goes to readings and
labels alone. No type that a role receives can hold any of it (arXiv 2609.37236).
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.errors import InputError
from tasks.need_graph import Need, NeedGraph


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A piece of text that can be retrieved. `uid` is a digest of its content and place, see `uid_of`."""

    uid: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `suite` decides on instructions, how much a retrieval gives and how answers are read."""

    suite: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Gold:
    """What an episode is scored by. The graph's evidence names paragraphs of the task's pool by uid."""

    suite: str
    task: str
    answers: tuple[str, ...]
    """The answer, then its aliases."""
    graph: NeedGraph
    cluster: str
    """Tasks of one template are one cluster: they are no independent samples."""
    answer_need: str | None = None
    """The need whose own answer is the task's, where there is one with evidence."""

    def to_row(self) -> dict[str, Any]:
        """As a JSON object; `from_row` reads it back."""
        return {
            "suite": self.suite,
            "task": self.task,
            "answers": list(self.answers),
            "cluster": self.cluster,
            "answer_need": self.answer_need,
            "needs": [dataclasses.asdict(need) for need in self.graph.needs],
            "edges": [list(edge) for edge in self.graph.edges],
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any], where: str) -> "Gold":
        """Raises InputError, which names `where`, for anything but what `to_row` gave."""
        try:
            needs = tuple(
                Need(need["id"], need["text"], tuple(need["answers"]), tuple(need["evidence"]))
                for need in row["needs"]
            )
            edges = tuple((str(u), str(v)) for u, v in row["edges"])
            return cls(
                str(row["suite"]),
                str(row["task"]),
                tuple(map(str, row["answers"])),
                NeedGraph(needs, edges),
                str(row["cluster"]),
                row["answer_need"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: not a graph of a recorded task ({error}); record it again") from None


@dataclass(frozen=True, slots=True)
class MultiHopTask:
    """A question, the paragraphs that can be retrieved for it, and its gold."""

    question: Question
    pool: tuple[Paragraph, ...]
    gold: Gold


@dataclass(frozen=True, slots=True)
class MultiHopSet:
    """Tasks in canonical order, rows left out by reason, the SHA-256 of each source file."""

    tasks: tuple[MultiHopTask, ...]
    left_out: Mapping[str, int]
    hashes: Mapping[str, str]


def uid_of(corpus: str, task: str, index: int, text: str) -> str:
    """A paragraph's uid: 16 hexadecimal digits of (corpus, task, index in the pool, text)."""
    spelled = "\x1f".join((corpus, task, str(index), text))
    return hashlib.sha256(spelled.encode("utf-8", errors="replace")).hexdigest()[:16]


def pool_hash(pool: Sequence[Paragraph]) -> str:
    """A digest of a pool: runs over different pools cannot be compared."""
    return hashlib.sha256("\x1f".join(sorted(one.uid for one in pool)).encode()).hexdigest()[:16]
