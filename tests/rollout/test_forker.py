"""Forks: what is sampled, followed and never paid for again."""

import asyncio
import dataclasses
import json
from collections.abc import Sequence

import pytest

from rollout.agents import Reply, Roles, Spent, State
from rollout.episode import Episode, Limits, Pool, Stage, digest, play
from rollout.forker import Plan, candidates_at, fork, states_of
from rollout.forks import Fork
from tasks.errors import InputError
from tasks.move import STOP_TEXT, Ask, Stop, parse, spell
from tasks.multi_hop import pool_hash
from tests.rollout.hand_roles import RECIPE, Plain, task

TASK = task()
STAGE = Stage(TASK.question, Pool(TASK.pool), pool_hash(TASK.pool), RECIPE.policy, RECIPE.pins)
NEXT = ("where is the red lake", "what is the capital of Orland", "who is the mayor of Mira")


class Sampler:
    """Walks the chain; sampled, it makes the given moves."""

    def __init__(self, *sampled: str) -> None:
        self.sampled, self.calls = sampled, 0

    def prompt(self, state: State) -> str:
        return f"{state.question.text} {[one.uid for one in state.evidence]} {state.draft} {state.history}"

    async def next(self, state: State, seed: int) -> Reply:
        self.calls += 1
        place = len(state.evidence)
        text = spell(Ask(NEXT[place])) if place < 3 else STOP_TEXT
        return self._reply(text, state)

    async def sample(self, state: State, seeds: Sequence[int], temperature: float) -> list[Reply]:
        assert len(set(seeds)) == len(seeds) == len(self.sampled)
        assert temperature == 1.0
        return [self._reply(text, state) for text in self.sampled]

    def _reply(self, text: str, state: State) -> Reply:
        return Reply(parse(text), text, self.prompt(state), Spent(9, len(text.split())))


class Counting(Plain):
    calls = 0

    async def draft(self, *arguments: object) -> object:  # type: ignore[override]
        self.calls += 1
        return await super().draft(*arguments)  # type: ignore[arg-type]


def recorded(limits: Limits = RECIPE.limits) -> Episode:
    return asyncio.run(play(STAGE, Roles(Sampler(), Plain(), Plain()), limits, 5))


def forked(episode: Episode, turn: int, *sampled: str) -> tuple[Fork, Sampler, Counting]:
    questioner, drafter = Sampler(*sampled), Counting()
    roles = Roles(questioner, drafter, Plain())  # type: ignore[arg-type]
    found = asyncio.run(fork(STAGE, questioner, roles, episode, turn, len(sampled) + 1, Plan()))
    assert found is not None
    return found, questioner, drafter


def test_candidate_0_is_the_recorded_run_and_costs_nothing() -> None:
    episode = recorded()
    found, questioner, drafter = forked(episode, 1)
    (first,) = found.candidates
    assert (first.index, first.turns, first.answer) == (0, episode.turns[1:], episode.answer)
    assert (questioner.calls, drafter.calls) == (0, 0)
    assert found.evidence == tuple(sorted(episode.retrieved(1)))
    assert digest(found.prompt) == found.state == episode.turns[1].state


def test_others_are_followed_to_their_end_once_for_each_question() -> None:
    episode = recorded()
    bird, again = spell(Ask("blue bird", "a reason")), spell(Ask("blue bird", "another"))
    found, questioner, drafter = forked(episode, 1, bird, STOP_TEXT, again, spell(Ask(NEXT[1])))
    assert [(one.index, one.times, one.stop) for one in found.candidates] == [
        (0, 2, "policy_stop"), (1, 2, "policy_stop"), (2, 1, "policy_stop")
    ]  # fmt: skip
    assert found.candidates[2].move == Stop()
    assert found.candidates[1].move == Ask("blue bird", "a reason")
    # The bird makes two paragraphs; the walker goes on with the third question, then stops.
    assert [turn.question for turn in found.candidates[1].turns] == ["blue bird", NEXT[2]]
    assert (questioner.calls, drafter.calls) == (2, 2)


def test_the_whole_run_of_a_candidate_is_the_same_from_the_start() -> None:
    episode = recorded()
    found, _, _ = forked(episode, 0, spell(Ask("blue bird")))
    roles = Roles(Sampler(), Plain(), Plain())
    reply = asyncio.run(Sampler(spell(Ask("blue bird"))).sample(_state(), [1], 1.0))[0]
    whole = asyncio.run(play(STAGE, roles, RECIPE.limits, 5, first=reply))
    assert found.candidates[1].turns == whole.turns
    assert found.candidates[1].spent.new == whole.spent.new - whole.draft.spent.new


def _state() -> State:
    return State(TASK.question, (), "", ())


def test_a_state_whose_prompt_is_another_gives_nothing() -> None:
    episode = dataclasses.replace(recorded(), draft=dataclasses.replace(recorded().draft, text="other"))
    roles = Roles(Sampler(), Plain(), Plain())
    assert asyncio.run(fork(STAGE, Sampler(), roles, episode, 0, 1, Plan())) is None


@pytest.mark.parametrize(("limits", "states"), [(Limits(k=1), 4), (Limits(cap=2, k=1), 2)])
def test_a_halt_by_the_harness_is_no_decision(limits: Limits, states: int) -> None:
    assert list(states_of(recorded(limits))) == list(range(states))


def test_only_wide_frontiers_are_forked() -> None:
    episode = recorded()
    assert candidates_at(episode, 0, TASK.gold.graph, Plan(min_frontier=2)) == 1
    assert candidates_at(episode, 0, TASK.gold.graph, Plan(min_frontier=1)) == 8


def test_a_row_reads_back() -> None:
    found, _, _ = forked(recorded(), 1, STOP_TEXT)
    assert Fork.from_line(json.dumps(found.to_row()).encode(), "here") == found
    wrong: list[dict[str, object]] = [{"version": 9}, {"candidates": [{}]}, {"limits": 3}]
    for broken in wrong:
        with pytest.raises(InputError, match="here"):
            Fork.from_line(json.dumps(found.to_row() | broken).encode(), "here")
