"""Arms side by side: what is paired, how far it is read, what is refused."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.compare import compare
from eval.pairing import arm, charged, equal_spend, own_stop, pair
from eval.readings import Read
from rollout.episode import Limits
from rollout.shards import GRAPHS, RECORDS, Shard
from tasks.errors import InputError
from tests.eval.hand_runs import NAMES, RUN_A, RUN_B, arm_of, of_task, read
from tests.eval.test_need_metrics import A, B


def test_the_worked_charge() -> None:
    trained = read(A.turns[:2], tokens=[20, 16])
    assert charged(trained, read(B.turns, tokens=[15, 16, 20])) == (2, 2)
    assert charged(trained, read(B.turns[:2], tokens=[15, 16])) == (2, 2)
    assert charged(trained, read(B.turns, tokens=[37, 1, 1])) == (2, 0)


def test_arms_that_differ_are_refused_with_what_differs_unless_intersected() -> None:
    one = arm_of(of_task(RUN_A, "t1", 0, "t1"), of_task(RUN_A, "t2", 0, "t2"))
    pool = of_task(RUN_B, "t1", 0, "t1")
    pool = dataclasses.replace(pool, episode=dataclasses.replace(pool.episode, pool="other"))
    graph = dataclasses.replace(one.reads["t1", 0], gold=RUN_B.gold)
    for other, told in (
        (
            arm_of(of_task(RUN_B, "t2", 0, "t2"), of_task(RUN_B, "t9", 0, "t9")),
            "tasks: 1 only in A ('t1'), 1 only in B ('t9')",
        ),
        (
            arm_of(*(of_task(RUN_B, f"t{i}", s, f"t{i}") for i in (1, 2) for s in (0, 1))),
            "seeds: 1 only in B (1)",
        ),
        (arm_of(pool, of_task(RUN_B, "t2", 0, "t2")), "the pools of 1 runs (task 't1')"),
        (arm_of(graph, of_task(RUN_B, "t2", 0, "t2")), "the graphs of 1 runs (task 't1')"),
        (arm_of(*one.reads.values(), pins={"questioner": "z", "drafter": "e"}), "drafter (d and e)"),
        (arm_of(*one.reads.values(), limits={"cap": 16, "max_turns": 16, "k": 5}), "cap (8 and 16)"),
    ):
        with pytest.raises(InputError) as caught:
            pair(one, other)
        assert told in str(caught.value)
        assert "--intersect" in str(caught.value)
        found = pair(one, other, intersect=True)
        runs = len(found.units)
        assert found.told.startswith(
            f"compared on {runs} shared runs ({runs} tasks, 1 seeds); the arms differ in"
        )
        assert told in found.told
        assert next(compare(found, "hand", NAMES).lines()) == found.told
    questioner = arm_of(*one.reads.values(), pins={"questioner": "z", "drafter": "d"})
    assert pair(one, questioner).told == ""


def test_what_cannot_be_paired_is_left_out_of_an_intersection() -> None:
    t1, t2 = of_task(RUN_A, "t1", 0, "t1"), of_task(RUN_A, "t2", 0, "t2")
    other_graph = dataclasses.replace(t1, gold=RUN_B.gold)
    other_pool = dataclasses.replace(t1, episode=dataclasses.replace(t1.episode, pool="other"))
    for one in (other_graph, other_pool):
        found = pair(arm_of(t1, t2), arm_of(one, t2), intersect=True)
        assert [a.episode.task for a, _ in found.units] == ["t2"]


def test_a_run_that_is_missing_is_told_as_such_only_where_tasks_and_seeds_agree() -> None:
    runs = [of_task(RUN_A, f"t{i}", seed, f"t{i}") for i in (1, 2) for seed in (0, 1)]
    with pytest.raises(InputError, match=r"differ in runs: 1 only in A \(\('t2', 1\)\)\."):
        pair(arm_of(*runs), arm_of(*runs[:3]))
    with pytest.raises(InputError) as caught:
        pair(arm_of(*runs), arm_of(*runs[:2]))
    assert "runs:" not in str(caught.value)


def test_one_task_under_another_seed_each_is_no_pair() -> None:
    one, other = arm_of(of_task(RUN_A, "t1", 0, "t1")), arm_of(of_task(RUN_A, "t1", 1, "t1"))
    with pytest.raises(InputError, match="share no task and seed"):
        pair(one, other, intersect=True)
    with pytest.raises(InputError, match="of one suite"):
        pair(one, arm_of(suite="else"))


def recorded(folder: Path, *reads: Read, shard: str = "a") -> Path:
    """A run folder with these runs in one shard."""
    file = Shard(folder / RECORDS / f"{shard}.jsonl")
    for one in reads:
        file.add(one.episode)
    file.close()
    golds = {one.gold.task: one.gold for one in (RUN_A, *reads)}
    rows = (gold.to_row() for gold in golds.values())
    (folder / GRAPHS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def under(policy: str, one: Read) -> Read:
    return dataclasses.replace(one, episode=dataclasses.replace(one.episode, policy=policy))


def test_a_folder_of_several_policies_is_an_arm_for_each(tmp_path: Path) -> None:
    folder = recorded(tmp_path, under("trained", RUN_A), under("prompted", RUN_B))
    with pytest.raises(InputError, match="but policy is trained and prompted; choose one: --policy-a"):
        arm(folder)
    with pytest.raises(InputError, match="no policy 'traned' is recorded there; did you mean 'trained'"):
        arm(folder, policy="traned")
    trained, prompted = arm(folder, policy="trained"), arm(folder, policy="prompted")
    assert (trained.policy, len(trained.reads)) == ("trained", 1)
    recall = compare(pair(trained, prompted), "hand", NAMES).row("depth_weighted_recall")
    assert recall.difference == pytest.approx(0.4167, abs=5e-5)


def test_one_setting_and_one_pool_of_a_task(tmp_path: Path) -> None:
    moved = dataclasses.replace(RUN_B, episode=dataclasses.replace(RUN_B.episode, pool="other"))
    with pytest.raises(InputError, match="row 2: task 't' under seed 0 was played on another pool before"):
        arm(recorded(tmp_path / "pools", RUN_A, moved))
    wide = dataclasses.replace(RUN_B.episode, limits=Limits(cap=16))
    with pytest.raises(InputError, match="row 2: an arm is one policy under one setting, but limits is"):
        arm(recorded(tmp_path / "limits", RUN_A, dataclasses.replace(RUN_B, episode=wide)))


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no records there; give a run folder"):
        arm(tmp_path / "none")
    with pytest.raises(InputError, match="no episode is recorded there yet"):
        arm(recorded(tmp_path))


def test_an_episode_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    assert len(arm(recorded(tmp_path, RUN_A, RUN_A)).reads) == 1


def test_long_texts_are_not_kept(tmp_path: Path) -> None:
    """They are most of a record, and no reading reads them."""
    turns = tuple(
        dataclasses.replace(turn, question=f"q{i}", draft="d" * 999, answer="a", rationale="r")
        for i, turn in enumerate(RUN_A.episode.turns)
    )
    full = Read.of(dataclasses.replace(RUN_A.episode, turns=turns, answer="Tom"), RUN_A.gold)
    (kept,) = arm(recorded(tmp_path, full)).reads.values()
    assert {turn.draft + turn.answer + turn.rationale for turn in kept.episode.turns} == {""}
    assert kept.at() == full.at()
    assert kept.stops() == full.stops()


LENGTHS = st.lists(st.integers(0, 40), max_size=6)


@given(LENGTHS, LENGTHS)
def test_prefixes(a: list[int], b: list[int]) -> None:
    """Equal spend reads as much of both; the charged prefix fits the budget, and one more would not."""
    one, other = read([[]] * len(a), tokens=a), read([[]] * len(b), tokens=b)
    assert equal_spend(one, other) == (min(len(a), len(b)),) * 2
    assert own_stop(one, other) == (len(a), len(b))
    ours, theirs = charged(one, other)
    assert ours == len(a)
    assert sum(b[:theirs]) <= sum(a)
    assert theirs == len(b) or sum(b[: theirs + 1]) > sum(a)
