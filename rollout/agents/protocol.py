"""What each role receives and gives (arXiv 2609.37236).

The questioner sees a `State`: no budget, no number of turns, no gold. So the first k questions of a long run
are the run with cap k, on which equal-spend readings and forks rest. Drafter and answerer are frozen: what
they say is a function of their arguments alone, and can be kept on disk.
"""

from dataclasses import dataclass, field
from typing import Protocol

from tasks.move import Move
from tasks.multi_hop import Paragraph, Question

Evidence = tuple[Paragraph, ...]
"""Without doubles, sorted by uid: prompts depend on the set, not on the order of arrival."""


@dataclass(frozen=True, slots=True)
class State:
    """All that a questioner may know before its move."""

    question: Question
    evidence: Evidence
    draft: str
    history: tuple[tuple[str, str], ...]
    """(question, the drafter's answer), the oldest first."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one call or of several; the same whether a memo answered or a model."""

    prompt: int = 0
    new: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.prompt + other.prompt, self.new + other.new)

    @property
    def total(self) -> int:
        """Prompt and new tokens."""
        return self.prompt + self.new


@dataclass(frozen=True, slots=True)
class Said:
    """What a frozen role said, and what it cost."""

    text: str
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Reply:
    """A questioner's move. `text` is what it wrote, whole and as it is; `prompt` what it read."""

    move: Move
    text: str
    prompt: str
    spent: Spent = field(default_factory=Spent)


class Questioner(Protocol):
    """Picks the next question, or stops."""

    async def next(self, state: State, seed: int) -> Reply:
        """One move. Text that is no move is a STOP that says so; raises GenerationError alone."""
        ...


class Drafter(Protocol):
    """Answers questions from evidence, and keeps the draft."""

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """The answer to `asked`; `fetched` is what this very question brought, maybe nothing."""
        ...

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """A draft of the whole answer: a function of (question, evidence, seed)."""
        ...


class Answerer(Protocol):
    """Gives the final answer, in few words."""

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """The answer that is scored: a function of its arguments."""
        ...


@dataclass(frozen=True, slots=True)
class Roles:
    """Who plays an episode."""

    questioner: Questioner
    drafter: Drafter
    answerer: Answerer
