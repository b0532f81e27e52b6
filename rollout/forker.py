"""Forking: at states of recorded runs other moves are tried, and each is followed to its end.

The prefix comes from the record and is never paid for again. Candidate 0 is the recorded run; only the moves
of the others are sampled anew, from one prompt whose prefill they share; what follows is the same policy
under the same seed. A move that was sampled several times is followed once (arXiv 2609.37236).
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rollout.agents.protocol import Questioner, Reply, Roles, State
from rollout.episode import Episode, Stage, digest, play
from rollout.forks import Candidate, Fork, candidate_of, fork_key
from rollout.gather import gather
from rollout.seeds import derive
from tasks.move import Ask, Move
from tasks.need_graph import NeedGraph


class Forkable(Questioner, Protocol):
    """A questioner whose prompt is known without asking it, and that samples several moves at one state."""

    def prompt(self, state: State) -> str:
        """What it would read."""
        ...

    async def sample(self, state: State, seeds: Sequence[int], temperature: float) -> list[Reply]:
        """One move for each seed; their prompts are one, so that an engine reads it once."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """How many moves are tried where."""

    n: int = 8
    """Candidates of a state, the recorded one among them."""
    temperature: float = 1.0
    min_frontier: int = 2
    """Only states with so many open needs are forked; elsewhere the recorded move stands alone."""


def states_of(episode: Episode) -> Iterator[int]:
    """The turns at which the questioner decided: its asks, and its STOP. A halt by the harness is none."""
    yield from range(len(episode.turns))
    if episode.stop in ("policy_stop", "malformed"):
        yield len(episode.turns)


def key_of(episode: Episode, turn: int) -> str:
    """The key of the state before a turn."""
    return fork_key(
        episode.suite, episode.task, episode.pool, episode.policy, episode.seed, turn, episode.pins,
        episode.limits,
    )  # fmt: skip


def candidates_at(episode: Episode, turn: int, graph: NeedGraph, plan: Plan) -> int:
    """How many moves to try before a turn: one, the recorded, where the frontier is too small."""
    return plan.n if len(graph.frontier(episode.retrieved(turn))) >= plan.min_frontier else 1


async def fork(
    stage: Stage, questioner: Forkable, roles: Roles, episode: Episode, turn: int, n: int, plan: Plan
) -> Fork | None:
    """The state before a turn with n candidates; None where its prompt is not the one that was recorded.

    Raises GenerationError.
    """
    before = episode.turns[:turn]
    in_hand = tuple(sorted(episode.retrieved(turn)))
    draft = before[-1].draft if before else episode.draft.text
    history = tuple((one.question, one.answer) for one in before)
    state = State(stage.question, stage.pool.paragraphs(in_hand), draft, history)
    prompt = questioner.prompt(state)
    recorded = episode.turns[turn].state if turn < len(episode.turns) else episode.state
    if digest(prompt) != recorded:
        return None
    seeds = [derive(episode.seed, stage.question.id, turn, index) for index in range(1, n)]
    replies = await questioner.sample(state, seeds, plan.temperature) if seeds else []
    recorded_one = candidate_of(episode, 0, turn)
    times = Counter([asked(recorded_one.move), *(asked(reply.move) for reply in replies)])

    async def follow(index: int, reply: Reply) -> Candidate:
        end = await play(
            stage, roles, episode.limits, episode.seed,
            start=episode.start, prefix=before, draft=episode.draft, first=reply,
        )  # fmt: skip
        return candidate_of(end, index, turn, times[asked(reply.move)])

    new: dict[str, tuple[int, Reply]] = {}
    for index, reply in enumerate(replies, 1):
        if asked(reply.move) != asked(recorded_one.move):
            new.setdefault(asked(reply.move), (index, reply))
    others = await gather(follow(index, reply) for index, reply in new.values())
    first = dataclasses.replace(recorded_one, times=times[asked(recorded_one.move)])
    return Fork(
        key_of(episode, turn), episode.suite, episode.task, episode.pool, episode.policy, episode.seed, turn,
        episode.pins, episode.limits, recorded, prompt, in_hand, (first, *others),
    )  # fmt: skip


def asked(move: Move) -> str:
    """What tells moves apart that lead to the same states: the question, empty for STOP."""
    return move.question if isinstance(move, Ask) else ""
