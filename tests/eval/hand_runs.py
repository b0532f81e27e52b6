"""Runs of the guide's worked graph, by hand, for tests of pairs and comparisons."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from eval.pairing import Arm, Pairs
from eval.readings import Read
from rollout.agents.protocol import Said, Spent
from rollout.episode import Episode, Limits, StopReason, Turn
from tasks.multi_hop import Gold
from tasks.need_graph import Uid
from tests.eval.test_need_metrics import GRAPH, A, B

NAMES = ("one", "other")


def read(
    turns: Sequence[Sequence[Uid]], stop: StopReason = "policy_stop", tokens: Sequence[int] = (),
    task: str = "t", seed: int = 0, cluster: str = "", answer: str = "",
) -> Read:  # fmt: skip
    """An episode of these retrievals; `tokens` are those of its questions."""
    costs = tokens or [1] * len(turns)
    asked = tuple(
        Turn("q", "", (), tuple(map(str, uids)), "", "", "", cost, Spent(0, cost))
        for uids, cost in zip(turns, costs, strict=True)
    )
    episode = Episode(
        "hand", task, "pool", "p", seed, {"questioner": "q", "drafter": "d"}, Limits(), Said(""), asked, stop,
        "", "", answer, Spent(0, sum(costs)),
    )  # fmt: skip
    return Read.of(episode, Gold("hand", task, ("yes",), GRAPH, cluster or task))


RUN_A, RUN_B = read(A.turns), read(B.turns)


def of_task(one: Read, task: str, seed: int, cluster: str) -> Read:
    """The same run of another task, seed and cluster."""
    episode = dataclasses.replace(one.episode, task=task, seed=seed)
    return Read.of(episode, dataclasses.replace(one.gold, task=task, cluster=cluster))


def of(*units: tuple[Read, Read]) -> Pairs:
    """Pairs of arms that differ in nothing."""
    return Pairs(units, "")


def arm_of(*reads: Read, **changes: object) -> Arm:
    """An arm of these runs."""
    units = {(one.episode.task, one.episode.seed): one for one in reads}
    limits = {"cap": 8, "max_turns": 16, "k": 5}
    fields = {"suite": "hand", "policy": "p", "pins": {"questioner": "q", "drafter": "d"}, "limits": limits}
    return Arm(Path("runs/x"), reads=units, **{**fields, **changes})  # type: ignore[arg-type]
