"""The job rollout.fork: resumed, sharded, within budgets, refused where records are of something else."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rollout.agents.config import MiniRole
from rollout.fork import Config, run
from rollout.forks import Fork
from rollout.record import Config as Recording
from rollout.record import run as record
from rollout.shards import files, read
from rollout.shards import lines as whole_lines
from tasks.errors import InputError
from tests.rollout.killed import killed, lines

TASK = {"use": "mini_hops", "split": "train", "tasks": 9}
WALKER, MINI = MiniRole("mini", slip=0.3, eager=0.5), MiniRole("mini")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fork_job") / "records"
    record(Recording(TASK, WALKER, MINI, folder))
    return folder


def config(folder: Path, records: Path | None, **changes: Any) -> Config:
    fields = {"task": TASK, "questioner": WALKER, "drafter": MINI, "output_dir": folder, "records": records}
    return Config(**{**fields, "n": 4, "min_frontier": 1, **changes})


def forks(folder: Path) -> list[Fork]:
    return [Fork.from_line(line, "") for line in lines(folder)]


def test_every_decision_of_the_records_is_a_state(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "f", records))
    found = forks(tmp_path / "f")
    decisions = sum(len(one.turns) + (one.stop == "policy_stop") for one in read(records))
    assert len(found) == len({one.key for one in found}) == decisions
    assert (tmp_path / "f" / "graphs.jsonl").read_bytes() == (records / "graphs.jsonl").read_bytes()
    tried = [one for one in found if len(one.candidates) > 1]
    assert tried
    assert all(sum(candidate.times for candidate in one.candidates) == 4 for one in tried)
    assert all(one.candidates[0].index == 0 for one in found)


def test_a_new_start_goes_on(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "whole", records))
    run(config(tmp_path / "part", records))
    (shard,) = files(tmp_path / "part")
    kept = shard.read_bytes().splitlines(keepends=True)
    shard.write_bytes(b"".join(kept[:3]) + kept[3][:50])
    run(config(tmp_path / "part", records))
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")


def test_four_shards_are_the_whole(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "whole", records))
    for shard in range(4):
        run(config(tmp_path / "parts", records, shard=shard, shards=4, concurrency=2))
    assert lines(tmp_path / "parts") == lines(tmp_path / "whole")


def test_budgets(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "all", records))
    run(config(tmp_path / "five", records, max_states=5))
    run(config(tmp_path / "calls", records, max_calls=1, memo=tmp_path / "memo", concurrency=1))
    tried = [
        sum(len(one.candidates) > 1 for one in forks(tmp_path / name)) for name in ("all", "five", "calls")
    ]
    assert tried[0] > 5 >= tried[1] > 0
    assert 1 <= tried[2] < tried[0]
    assert len(forks(tmp_path / "five")) == len(forks(tmp_path / "calls")) == len(forks(tmp_path / "all"))


def test_only_states_with_a_frontier_as_large_are_forked(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "f", records, min_frontier=2))
    kinds = {one.task.partition("-")[0] for one in forks(tmp_path / "f") if len(one.candidates) > 1}
    assert "threads" in kinds
    assert "single" not in kinds  # a chain has one open need at a time


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"records": None}, "records is not given; name the run folder"),
        ({"questioner": MINI}, "recorded with another questioner"),
        ({"seed": 1}, "but task: has none of this id"),
        ({"task": {**TASK, "tasks": 4}}, "but task: has none of this id"),
    ],
)
def test_records_of_something_else_are_refused(
    changes: dict[str, Any], told: str, records: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        run(config(tmp_path / "f", **{"records": records, **changes}))


def test_what_is_refused_claims_no_folder(records: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recorded with another questioner"):
        run(config(tmp_path / "f", records, questioner=MINI))
    run(config(tmp_path / "f", records))


def test_a_folder_of_another_forking_is_refused(records: Path, tmp_path: Path) -> None:
    run(config(tmp_path / "f", records))
    with pytest.raises(InputError, match="holds another forking: n differs;"):
        run(config(tmp_path / "f", records, n=3))


@pytest.mark.parametrize("content", ["{", "[]", "\x00"])
def test_a_manifest_that_cannot_be_read_is_that_of_another(
    content: str, records: Path, tmp_path: Path
) -> None:
    run(config(tmp_path / "f", records))
    (tmp_path / "f" / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="holds another forking"):
        run(config(tmp_path / "f", records))


def test_a_place_that_cannot_be_written_is_named(records: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/f: cannot be written \(Not a directory\)"):
        run(config(tmp_path / "file" / "f", records))


def test_records_without_graphs_are_refused(records: Path, tmp_path: Path) -> None:
    shutil.copytree(records, tmp_path / "r")
    (tmp_path / "r" / "graphs.jsonl").unlink()
    with pytest.raises(InputError, match=r"no graphs\.jsonl there"):
        run(config(tmp_path / "f", tmp_path / "r"))


def test_a_state_whose_prompt_is_another_is_not_forked(records: Path, tmp_path: Path) -> None:
    shutil.copytree(records, tmp_path / "r")
    (shard,) = files(tmp_path / "r")
    rows = [json.loads(line) for line in shard.read_text().splitlines()]
    for row in rows:
        row["state"] = "0" * 16
        for turn in row["turns"]:
            turn["state"] = "0" * 16
    shard.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="no state has the prompt that was recorded"):
        run(config(tmp_path / "f", tmp_path / "r"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n": 0}, "at least 1"),
        ({"temperature": 0.0}, "temperature is 0; at 0 all candidates would be one"),
        ({"min_frontier": -1}, "min_frontier at least 0"),
        ({"shard": -1}, "shards count from 0"),
        ({"max_states": -1}, "max_states and max_calls must be at least 0"),
    ],
)
def test_settings_out_of_range(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        config(tmp_path, tmp_path, **changes)


FORKING = """
import sys
from pathlib import Path
from rollout.fork import run
from tests.rollout.test_fork_job import TASK, config

folder, records, tasks = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
run(config(folder, records, task={**TASK, "tasks": tasks}, memo=folder / "memo"))
"""


def readable(folder: Path) -> None:
    whole = [line for file in files(folder) for _, line in whole_lines(file)]
    assert all(Fork.from_line(line, "").candidates for line in whole)


@pytest.mark.parametrize(
    ("times", "tasks"),
    [pytest.param(3, 90, marks=pytest.mark.slow), pytest.param(50, 900, marks=pytest.mark.soak)],
)
def test_kills_at_random_moments_lose_and_double_nothing(times: int, tasks: int, tmp_path: Path) -> None:
    records = tmp_path / "records"
    record(Recording({**TASK, "tasks": tasks}, WALKER, MINI, records))
    assert len(killed(tmp_path, FORKING, (str(records), str(tasks)), times, readable)) > 3 * tasks
