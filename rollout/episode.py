"""One episode: a questioner asks, a retriever fetches, a drafter answers and drafts, an answerer ends it.

See arXiv 2609.37236 for the loop. `prefix` replays turns of a record without paying for them again; the rest
is played from the state that they led to.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rollout.agents.protocol import Evidence, Reply, Roles, Said, Spent, State
from rollout.lines import decode
from rollout.retrieve import Retriever
from tasks.errors import InputError
from tasks.move import Ask, Stop
from tasks.multi_hop import Paragraph, Question

VERSION = 1
"""Of the row of a record; another is refused by its readers."""

StopReason = Literal["policy_stop", "budget", "max_turns", "malformed"]
"""`malformed`: what the questioner wrote was no move, which counts as its STOP; the two between are halts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of an episode; no role knows them."""

    cap: int = 8
    """Questions that are retrieved for."""
    max_turns: int = 16
    k: int = 5
    """Paragraphs that a question fetches at most."""

    def __post_init__(self) -> None:
        for name, value in (("cap", self.cap), ("max_turns", self.max_turns), ("k", self.k)):
            if value < 1:
                raise InputError(f"{name} is {value}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it."""

    question: str
    rationale: str
    parents: tuple[str, ...]
    retrieved: tuple[str, ...]
    """Uids, the best first."""
    answer: str
    draft: str
    """After the question."""
    state: str
    """Digest of the prompt that the questioner read."""
    question_tokens: int
    """That the questioner wrote."""
    spent: Spent
    """By all roles in this turn."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A whole run. `draft` is the one before any question, `last` the text of the move that ended it."""

    suite: str
    task: str
    pool: str
    policy: str
    seed: int
    pins: Mapping[str, str]
    limits: Limits
    draft: Said
    turns: tuple[Turn, ...]
    stop: StopReason
    last: str
    state: str
    """Digest of the prompt before the move that ended it; empty where the turns ran out first."""
    answer: str
    spent: Spent
    """By all roles, first draft and answer included."""
    start: tuple[str, ...] = ()
    """Uids that the run began with: none, but for ceilings."""

    def retrieved(self, asks: int) -> set[str]:
        """Uids in hand after so many questions."""
        return {*self.start, *(uid for turn in self.turns[:asks] for uid in turn.retrieved)}

    @property
    def key(self) -> str:
        """Of everything that the episode depends on."""
        return episode_key(self.suite, self.task, self.pool, self.policy, self.seed, self.pins, self.limits)

    def to_row(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"version": VERSION, "key": self.key, **dataclasses.asdict(self)}

    @classmethod
    def from_line(cls, line: bytes, where: str) -> "Episode":
        """Raises InputError, which names `where`, for anything but the JSON of what `to_row` gave."""
        return decode(cls, line, VERSION, where, "record it again")


def episode_key(
    suite: str, task: str, pool: str, policy: str, seed: int, pins: Mapping[str, str], limits: Limits
) -> str:
    """The key of an episode, known before it is played."""
    parts = [VERSION, suite, task, pool, policy, seed, dict(pins), dataclasses.asdict(limits)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


class Pool:
    """Paragraphs that can be retrieved, indexed (title and text as one)."""

    def __init__(self, paragraphs: Sequence[Paragraph]) -> None:
        self.by_uid = {one.uid: one for one in paragraphs}
        self._retriever = Retriever({one.uid: f"{one.title} {one.text}" for one in paragraphs})

    def retrieve(self, query: str, k: int) -> tuple[str, ...]:
        """At most k uids, the best first."""
        return tuple(str(uid) for uid in self._retriever.retrieve(query, k))

    def paragraphs(self, uids: Iterable[str]) -> Evidence:
        """Of these uids, each once, by uid."""
        return tuple(self.by_uid[uid] for uid in sorted(set(uids)))


@dataclass(frozen=True, slots=True)
class Stage:
    """Where an episode is played: a task without its gold, its pool, and what is recorded of the players."""

    question: Question
    pool: Pool
    pool_hash: str
    policy: str
    pins: Mapping[str, str]


def digest(text: str) -> str:
    """Of a prompt: equal states have equal ones."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


async def play(
    stage: Stage,
    roles: Roles,
    limits: Limits,
    seed: int,
    *,
    start: Sequence[str] = (),
    prefix: Sequence[Turn] = (),
    draft: Said | None = None,
    first: Reply | None = None,
) -> Episode:
    """Play one episode to its end. Raises GenerationError.

    `start` puts paragraphs in hand before the first question. `prefix` and `draft` (the one before them) are
    taken as they stand in a record; `first` is the move after them, where it has been made already.
    """
    question, pool = stage.question, stage.pool
    if draft is None:
        draft = await roles.drafter.draft(question, pool.paragraphs(start), seed)
    turns, current = list(prefix), prefix[-1].draft if prefix else draft.text
    spent = sum((turn.spent for turn in prefix), draft.spent)
    in_hand = {*start, *(uid for turn in prefix for uid in turn.retrieved)}
    stop: StopReason = "max_turns"
    last, last_state = "", ""
    while len(turns) < limits.max_turns:
        history = tuple((turn.question, turn.answer) for turn in turns)
        state = State(question, pool.paragraphs(in_hand), current, history)
        reply, first = first or await roles.questioner.next(state, seed + len(turns)), None
        move, before = reply.move, digest(reply.prompt)
        if isinstance(move, Stop) or len(turns) == limits.cap:
            spent += reply.spent
            last, last_state = reply.text, before
            stop = "budget" if isinstance(move, Ask) else "malformed" if move.malformed else "policy_stop"
            break
        uids = pool.retrieve(move.question, limits.k)
        in_hand.update(uids)
        evidence = pool.paragraphs(in_hand)
        answer = await roles.drafter.resolve(question, move.question, evidence, pool.paragraphs(uids), seed)
        after = await roles.drafter.draft(question, evidence, seed)
        current = after.text
        cost = reply.spent + answer.spent + after.spent
        spent += cost
        turn = Turn(
            move.question, move.rationale, move.parents, uids, answer.text, current,
            before, reply.spent.new, cost,
        )  # fmt: skip
        turns.append(turn)
    final = await roles.answerer.answer(question, pool.paragraphs(in_hand), current, seed)
    return Episode(
        question.suite, question.id, stage.pool_hash, stage.policy, seed, stage.pins, limits, draft,
        tuple(turns), stop, last, last_state, final.text, spent + final.spent, tuple(start),
    )  # fmt: skip
