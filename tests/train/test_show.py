"""A transcript tells what happened, beside the graph."""

import asyncio
import json
from pathlib import Path

import pytest

from rollout.recorder import record, units
from rollout.shards import Shard
from tasks.errors import InputError
from tests.rollout.hand_roles import RECIPE, Everywhere, asks, task
from train import show

TASK = task()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    arm = Everywhere(asks("where is the red lake", "what is the capital of Orland", "red lake"))
    shard = Shard(tmp_path / "records" / "a.jsonl")
    asyncio.run(record(units([TASK], (0, 1), RECIPE), arm, RECIPE, shard, 2))
    shard.close()
    row = {**TASK.gold.to_row(), "question": TASK.question.text}
    row["titles"] = {one.uid: one.title for one in TASK.pool}
    (tmp_path / "graphs.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


@pytest.mark.parametrize("place", [".", "records", "records/a.jsonl"])
def test_a_transcript_stands_beside_its_graph(
    folder: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show.run(folder / place, task="t1", seed=1)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "t1 · hand · hand · seed 1"
    assert "  s2  depth 1  after ask 2   the capital of Orland is Mira .  from s1" in told
    assert "  s3  depth 2  never         the mayor of Mira is Tom .  from s2" in told
    assert f"  new  {TASK.pool[0].uid} Lake  <- s1" in told
    assert f"  old  {TASK.pool[0].uid} Lake  <- s1" in told  # the third question brought it again
    assert 'policy_stop: {"action": "STOP"}' in told
    assert "coverage after each ask: 0.00 0.33 0.67 0.67" in told


def test_without_a_graph_the_rest_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "graphs.jsonl").unlink()
    show.run(folder)
    told = capsys.readouterr().out
    assert "ask 1: where is the red lake" in told
    assert "needs" not in told


@pytest.mark.parametrize(("task", "seed", "mend"), [("t2", None, "known: t1"), (None, 9, "seed 9")])
def test_what_is_not_there_is_named(folder: Path, task: str | None, seed: int | None, mend: str) -> None:
    with pytest.raises(InputError, match=mend):
        show.run(folder, task, seed)
