"""Export: rows that TRL takes, the same bytes for any shards, nothing mixed, nothing half-written."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rollout.agents import Spent
from rollout.episode import Limits, Turn, digest
from rollout.forks import Candidate, Fork
from rollout.shards import Shard
from tasks.errors import InputError
from tasks.move import STOP_TEXT, parse
from tasks.need_graph import NeedGraph
from tasks.splits import split_of
from tests.rollout.hand_roles import task
from train import export
from train.cli import main

TASKS = [task(f"t{i}") for i in range(3)]


def turn(question: str, *uids: str) -> Turn:
    return Turn(question, "why", (), uids, "", "", "state", 5, Spent())


def fork(number: int, done: bool = False, limits: Limits | None = None) -> Fork:
    """A state of task `number % 3` with three candidates: one gains, one does not, one stops."""
    of = TASKS[number % 3]
    uids = [one.uid for one in of.pool]
    candidates = [
        Candidate(0, (turn(f"what is {number}", uids[0]),), "policy_stop", STOP_TEXT, "unknown", Spent()),
        Candidate(1, (turn(f"who is {number}", uids[3]),), "policy_stop", STOP_TEXT, "unknown", Spent()),
        Candidate(2, (), "policy_stop", STOP_TEXT, "unknown", Spent()),
    ]
    prompt = f"state {number} “quoted”\n"
    return Fork(
        f"{number:032x}", "hand", of.question.id, "pool", "prompted", number, 0, {"drafter": "d"},
        limits or Limits(), digest(prompt), prompt, tuple(uids[:3] if done else ()), tuple(candidates),
    )  # fmt: skip


def forked(folder: Path, forks: Sequence[Fork], shards: int = 1) -> Path:
    for number in range(shards):
        shard = Shard(folder / "records" / f"{number}.jsonl")
        for one in forks[number::shards]:
            shard.add(one)
        shard.close()
    rows = [json.dumps(one.gold.to_row()) for one in TASKS]
    (folder / "graphs.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def exported(records: Path, to: Path) -> dict[str, bytes]:
    export.run(export.Config(records, to, workers=1, split="all"))
    return {file.name: file.read_bytes() for file in to.iterdir() if file.name != "summary.json"}


FORKS = [fork(i, done=i % 2 == 1) for i in range(7)]


@pytest.mark.slow
def test_rows_are_what_trl_takes_and_the_same_for_any_shards(tmp_path: Path) -> None:
    first = exported(forked(tmp_path / "one", FORKS), tmp_path / "a")
    assert exported(forked(tmp_path / "three", FORKS[::-1], shards=3), tmp_path / "b") == first
    assert set(first) == {"imitation.jsonl", "imitation.parquet", "pairs.jsonl", "pairs.parquet"}

    from datasets import load_dataset

    for name in ("imitation", "pairs"):
        lines = [json.loads(line) for line in first[f"{name}.jsonl"].splitlines()]
        table = load_dataset("parquet", data_files=str(tmp_path / "a" / f"{name}.parquet"), split="train")
        assert list(table) == lines
    rows = [json.loads(line) for line in first["imitation.jsonl"].splitlines()]
    assert [row["kind"] for row in rows] == ["ask", "stop", "ask", "stop", "ask", "stop", "ask"]
    assert rows[1]["completion"] == [{"role": "assistant", "content": STOP_TEXT}]
    assert rows[0]["prompt"] == [{"role": "user", "content": "state 0 “quoted”\n"}]
    # Asks: states 0, 2, 4, 6 of tasks t0 t2 t1 t0: two rows of one task, one each of two others.
    asks = [row["weight"] for row in rows if row["kind"] == "ask"]
    assert asks == pytest.approx([4 / (2**0.5 + 2) / 2**0.5, 4 / (2**0.5 + 2), 4 / (2**0.5 + 2), asks[0]])
    assert sum(asks) == pytest.approx(4)
    pairs = [json.loads(line) for line in first["pairs.jsonl"].splitlines()]
    assert {(row["kind"], row["reason"]) for row in pairs if row["seed"] == 0} == {
        ("ask_ask", "gain"), ("ask_stop", "not_done")
    }  # fmt: skip
    # Where all is in hand, what fetches less of it again is still the better of two asks.
    assert {(row["kind"], row["reason"]) for row in pairs if row["seed"] == 1} == {
        ("ask_ask", "gain"), ("ask_stop", "stop_done")
    }  # fmt: skip
    for row in pairs:
        for side in ("chosen", "rejected"):
            assert not getattr(parse(row[side][0]["content"]), "malformed", "")
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert summary["rows"] == {
        "ask": 4, "ask_ask (gain)": 7, "ask_stop (not_done)": 4, "ask_stop (stop_done)": 6, "stop": 3
    }  # fmt: skip
    assert summary["left_out"] == {"ask beside a stop that gained nothing": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forks", "told"),
    [
        ([FORKS[0], dataclasses.replace(FORKS[1], policy="other")], "policy .*prompted"),
        ([FORKS[0], fork(1, limits=Limits(cap=4))], "limits"),
        ([dataclasses.replace(FORKS[0], task="t9")], "task 't9' of hand has no graph"),
        ([dataclasses.replace(FORKS[0], candidates=FORKS[0].candidates[1:2])], "no state gives a row"),
    ],
)
def test_what_cannot_be_exported_is_told_and_leaves_nothing(
    tmp_path: Path, forks: Sequence[Fork], told: str
) -> None:
    records = forked(tmp_path / "records", forks)
    if told.startswith("no state"):  # nothing is required
        gold = dataclasses.replace(TASKS[0].gold, graph=NeedGraph((), ()))
        (records / "graphs.jsonl").write_text(json.dumps(gold.to_row()) + "\n")
    with pytest.raises(InputError, match=told):
        export.run(export.Config(records, tmp_path / "out", workers=1, split="all"))
    assert list((tmp_path / "out").iterdir()) == []


def test_records_that_are_none_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no records there"):
        export.run(export.Config(tmp_path, tmp_path / "out", split="all"))
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "a.jsonl").write_text('{"some": "thing"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, row 1: not a record"):
        export.run(export.Config(tmp_path, tmp_path / "out", split="all"))


def test_only_tasks_of_the_train_split_give_rows(tmp_path: Path) -> None:
    records = forked(tmp_path / "records", FORKS)
    export.run(export.Config(records, tmp_path / "all", workers=1, split="all"))
    ours = {one.gold.task: split_of("hand", one.gold.cluster) for one in TASKS}
    assert set(ours.values()) > {"train"}
    export.run(export.Config(records, tmp_path / "train", workers=1))
    rows = [json.loads(line) for line in (tmp_path / "train" / "imitation.jsonl").read_text().splitlines()]
    assert {ours[row["task"]] for row in rows} == {"train"}
    left_out = json.loads((tmp_path / "train" / "summary.json").read_text())["left_out"]
    assert left_out["not of the train split"] == sum(ours[one.task] != "train" for one in FORKS)


def test_suites_for_evaluation_are_refused_by_name(tmp_path: Path) -> None:
    records = forked(tmp_path / "records", [dataclasses.replace(FORKS[0], suite="frames")])
    gold = dataclasses.replace(TASKS[0].gold, suite="frames")
    (records / "graphs.jsonl").write_text(json.dumps(gold.to_row()) + "\n")
    with pytest.raises(InputError, match="frames: it is for evaluation only"):
        export.run(export.Config(records, tmp_path / "out", workers=1, split="all"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = forked(tmp_path / "records", FORKS)
    arguments = ["export", str(records), str(tmp_path / "out"), "split=all", "rules.margin=9", "workers=1"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out.partition(": ")[2])
    assert found["left_out"]["margin"] > 0
    with pytest.raises(SystemExit):
        main([*arguments, "margin=9"])
    assert "unknown key 'margin'" in capsys.readouterr().err
    with pytest.raises(InputError, match="records is not given"):
        export.run(export.Config(None, tmp_path / "out"))
