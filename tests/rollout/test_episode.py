"""The loop: what ends an episode, what it costs, and that a replayed prefix changes nothing."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.agents import Roles, Spent
from rollout.episode import Episode, Limits, Pool, Stage, play
from tasks.errors import InputError
from tasks.move import STOP_TEXT
from tasks.multi_hop import pool_hash
from tests.rollout.hand_roles import RECIPE, Listed, Plain, asks, task

TASK = task()
STAGE = Stage(TASK.question, Pool(TASK.pool), pool_hash(TASK.pool), RECIPE.policy, RECIPE.pins)
UIDS = [one.uid for one in TASK.pool]
CHAIN = ("where is the red lake", "what is the capital of Orland", "who is the mayor of Mira")


def played(questioner: Listed, limits: Limits = RECIPE.limits, **more: object) -> Episode:
    return asyncio.run(play(STAGE, Roles(questioner, Plain(), Plain()), limits, 7, **more))  # type: ignore[arg-type]


def test_a_chain_is_asked_to_its_end() -> None:
    episode = played(asks(*CHAIN))
    assert [turn.retrieved for turn in episode.turns] == [(uid,) for uid in UIDS[:3]]
    assert (episode.stop, episode.last) == ("policy_stop", STOP_TEXT)
    assert [TASK.gold.graph.coverage(episode.retrieved(k)) for k in range(4)] == [0, 1 / 3, 2 / 3, 1]
    assert episode.turns[0].answer == "the red lake lies in Orland ."
    # First draft 3+1; a turn 10 + words of the move, 5+2, 3+1; the STOP 10+2; the answer 2+1.
    words = [turn.question_tokens for turn in episode.turns]
    assert episode.spent == Spent(3 + 3 * 18 + 10 + 2, 1 + sum(words) + 3 * 3 + 2 + 1)


@pytest.mark.parametrize(
    ("limits", "stop", "turns"),
    [
        (Limits(cap=2, k=1), "budget", 2),
        (Limits(cap=8, max_turns=2, k=1), "max_turns", 2),
        (Limits(cap=3, k=1), "policy_stop", 3),
    ],
)
def test_what_ends_it(limits: Limits, stop: str, turns: int) -> None:
    episode = played(asks(*CHAIN), limits)
    assert (episode.stop, len(episode.turns)) == (stop, turns)


def test_text_that_is_no_move_ends_it() -> None:
    episode = played(Listed(["I think that we are done"]))
    assert (episode.stop, episode.last, episode.turns) == ("malformed", "I think that we are done", ())


def test_a_shorter_cap_gives_the_start_of_the_longer_run() -> None:
    whole = played(asks(*CHAIN))
    for cap in (1, 2):
        assert played(asks(*CHAIN), Limits(cap=cap, k=1)).turns == whole.turns[:cap]


@pytest.mark.parametrize("length", range(4))
def test_a_prefix_is_replayed_not_paid_for(length: int) -> None:
    whole = played(asks(*CHAIN))

    class NoFirstDraft(Plain):
        calls = 0

        async def draft(self, *arguments: object) -> object:  # type: ignore[override]
            NoFirstDraft.calls += 1
            return await super().draft(*arguments)  # type: ignore[arg-type]

    roles = Roles(asks(*CHAIN), NoFirstDraft(), Plain())  # type: ignore[arg-type]
    again = asyncio.run(play(STAGE, roles, RECIPE.limits, 7, prefix=whole.turns[:length], draft=whole.draft))
    assert again == whole
    assert NoFirstDraft.calls == 3 - length


def test_a_start_is_in_hand_before_the_first_question() -> None:
    episode = played(asks(), start=UIDS[:2])
    assert episode.draft.text == " ".join(sorted((TASK.pool[0].text, TASK.pool[1].text), key=by_uid))
    assert episode.retrieved(0) == set(UIDS[:2])


def by_uid(text: str) -> str:
    return next(one.uid for one in TASK.pool if one.text == text)


def test_a_record_reads_back_and_its_key_is_its_content() -> None:
    episode = played(asks(*CHAIN))
    row = episode.to_row()
    assert Episode.from_line(json.dumps(row).encode(), "here") == episode
    assert row["key"] == episode.key
    assert played(asks(*CHAIN), Limits(cap=7, k=1)).key != episode.key


@pytest.mark.parametrize("broken", [{"version": 2}, {"turns": [{}]}, {"turns": 5}, {"limits": {"cap": 0}}])
def test_another_row_is_refused_by_name(broken: dict[str, object]) -> None:
    row = played(asks(*CHAIN)).to_row() | broken
    with pytest.raises(InputError, match="shard, row 3"):
        Episode.from_line(json.dumps(row).encode(), "shard, row 3")


@given(st.lists(st.text(max_size=30), max_size=6))
def test_no_text_of_a_questioner_raises(texts: list[str]) -> None:
    episode = played(Listed(texts))
    assert len(episode.turns) <= len(texts)
    assert Episode.from_line(json.dumps(episode.to_row()).encode(), "here") == episode
