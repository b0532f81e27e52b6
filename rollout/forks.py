"""Forked states: several moves tried at one state of a recorded run, each followed to its end.

One row holds all candidates of a state with the prompt that they answered, so that labels and training rows
need nothing but this row and the task's gold (arXiv 2609.37236).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rollout.agents.protocol import Spent
from rollout.episode import Episode, Limits, StopReason, Turn
from rollout.lines import decode
from tasks.move import Ask, Move, Stop

VERSION = 1
"""Of the row; another is refused by its readers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A move and what it led to. `turns` begin with the move's own; a STOP has none."""

    index: int
    """0 is the recorded run itself."""
    turns: tuple[Turn, ...]
    stop: StopReason
    last: str
    answer: str
    spent: Spent
    """Since the fork: what the prefix cost was paid by the recorded run."""
    times: int = 1
    """How often the move was made at this state."""

    @property
    def move(self) -> Move:
        """The move that was made at the fork; what is no move counts as STOP."""
        if self.turns:
            first = self.turns[0]
            return Ask(first.question, first.rationale, first.parents)
        return Stop("no move" if self.stop == "malformed" else "")


@dataclass(frozen=True, slots=True)
class Fork:
    """A state of a recorded run, and the candidates that were tried there.

    Whatever could make two candidates incomparable is part of the state: evidence, prompt, pins and limits.
    """

    key: str
    """See `fork_key`."""
    suite: str
    task: str
    pool: str
    policy: str
    seed: int
    turn: int
    """Questions before the state."""
    pins: Mapping[str, str]
    limits: Limits
    state: str
    """Digest of the prompt."""
    prompt: str
    evidence: tuple[str, ...]
    """Uids in hand."""
    candidates: tuple[Candidate, ...]

    def to_row(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"version": VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_line(cls, line: bytes, where: str) -> "Fork":
        """Raises InputError, which names `where`, for anything but the JSON of what `to_row` gave."""
        return decode(cls, line, VERSION, where, "it has to be of a rollout.fork job: fork again")


def fork_key(
    suite: str,
    task: str,
    pool: str,
    policy: str,
    seed: int,
    turn: int,
    pins: Mapping[str, str],
    limits: Limits,
) -> str:
    """The key of a forked state, known before it is forked."""
    parts = ["fork", VERSION, suite, task, pool, policy, seed, turn, dict(pins), dataclasses.asdict(limits)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def candidate_of(episode: Episode, index: int, turn: int, times: int = 1) -> Candidate:
    """What an episode became from `turn` on."""
    before = sum((one.spent for one in episode.turns[:turn]), episode.draft.spent)
    spent = Spent(episode.spent.prompt - before.prompt, episode.spent.new - before.new)
    return Candidate(index, episode.turns[turn:], episode.stop, episode.last, episode.answer, spent, times)
