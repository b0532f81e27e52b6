"""The job rollout.record: resumed, sharded, and refused where folder and recipe do not belong together."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rollout.agents.config import MiniRole
from rollout.agents.policies.config import DrafterOnly
from rollout.record import Config, run
from rollout.shards import files, read
from tasks.errors import InputError
from tests.rollout.hand_roles import task

TASK: Mapping[str, Any] = {"use": "mini_hops", "split": "train", "tasks": 12}
WALKER, MINI = MiniRole("mini", slip=0.3, eager=0.5), MiniRole("mini")


def config(folder: Path, **changes: Any) -> Config:
    return Config(**{"task": TASK, "questioner": WALKER, "drafter": MINI, "output_dir": folder, **changes})


def lines(folder: Path) -> list[bytes]:
    return sorted(line for file in files(folder) for line in file.read_bytes().splitlines())


def test_what_a_run_leaves(tmp_path: Path) -> None:
    run(config(tmp_path / "r", seeds=(0, 1)))
    assert sorted(entry.name for entry in (tmp_path / "r").iterdir()) == [
        "graphs.jsonl", "manifest.json", "memo", "metrics.jsonl", "records",
    ]  # fmt: skip
    assert len(list(read(tmp_path / "r"))) == 24
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["limits"] == {"cap": 8, "max_turns": 16, "k": 2}
    assert manifest["policy"] == {"kind": "prompted"}
    told = json.loads((tmp_path / "r" / "metrics.jsonl").read_text().splitlines()[-1])
    assert told["episodes"] == 24
    assert 0 < told["memo_saved"] < told["memo_calls"]


def test_a_new_start_plays_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(config(tmp_path / "whole"))
    run(config(tmp_path / "part"))
    (shard,) = files(tmp_path / "part")
    kept = shard.read_bytes().splitlines(keepends=True)
    shard.write_bytes(b"".join(kept[:5]) + kept[5][:100])
    capsys.readouterr()
    run(config(tmp_path / "part"))
    assert "7 episodes recorded, 5 were there" in capsys.readouterr().out
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")
    run(config(tmp_path / "part", concurrency=3))
    assert "0 episodes recorded, 12 were there" in capsys.readouterr().out


def test_more_seeds_are_added(tmp_path: Path) -> None:
    run(config(tmp_path / "r"))
    run(config(tmp_path / "r", seeds=(0, 1, 2)))
    assert len(list(read(tmp_path / "r"))) == 36


@pytest.mark.parametrize("concurrency", [1, 5])
def test_four_shards_are_the_whole(tmp_path: Path, concurrency: int) -> None:
    run(config(tmp_path / "whole"))
    for shard in range(4):
        run(config(tmp_path / "parts", shard=shard, shards=4, concurrency=concurrency))
    assert lines(tmp_path / "parts") == lines(tmp_path / "whole")
    assert len(files(tmp_path / "parts")) == 4


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"cap": 4}, "limits differs"),
        ({"k": 1}, "limits differs"),
        ({"policy": DrafterOnly("drafter_only")}, "policy, name differ"),
        ({"name": "other"}, "name differs"),
        ({"questioner": MINI}, "pins differs"),
        ({"seed": 1}, "seed, hashes differ"),
        ({"task": {**TASK, "tasks": 13}}, "task, hashes differ"),
    ],
)
def test_a_folder_of_another_recording_is_refused(
    changes: dict[str, Any], differing: str, tmp_path: Path
) -> None:
    run(config(tmp_path / "r"))
    before = lines(tmp_path / "r")
    with pytest.raises(InputError, match=f"holds another recording: {differing}; give another output_dir"):
        run(config(tmp_path / "r", **changes))
    assert lines(tmp_path / "r") == before


def test_records_without_a_manifest_are_left_alone(tmp_path: Path) -> None:
    run(config(tmp_path / "r"))
    (tmp_path / "r" / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="holds another recording"):
        run(config(tmp_path / "r"))
    (tmp_path / "r" / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"holds records without manifest\.json"):
        run(config(tmp_path / "r"))


def test_a_memo_may_be_shared(tmp_path: Path) -> None:
    run(config(tmp_path / "a", memo=tmp_path / "memo"))
    run(config(tmp_path / "b", memo=tmp_path / "memo"))
    told = json.loads((tmp_path / "b" / "metrics.jsonl").read_text().splitlines()[-1])
    assert told["memo_saved"] == told["memo_calls"]
    assert lines(tmp_path / "a") == lines(tmp_path / "b")  # what it cost is the same too


@pytest.mark.parametrize("memo", ["file/memo", "memo"])
def test_a_place_that_cannot_be_written_is_named(memo: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/(memo|r): cannot be written \(Not a directory\)"):
        run(config(tmp_path / "file" / "r", memo=tmp_path / memo))


def test_metrics_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    run(config(tmp_path / "r"))
    (tmp_path / "r" / "metrics.jsonl").unlink()
    (tmp_path / "r" / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"metrics\.jsonl: cannot be written \(No space left on device\)"):
        run(config(tmp_path / "r", seeds=(0, 1)))
    assert len(list(read(tmp_path / "r"))) == 24


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cap": 0}, "cap is 0"),
        ({"max_turns": 0}, "max_turns is 0"),
        ({"k": 0}, "k is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"shard": 4, "shards": 4}, "shard is 4 of 4; shards count from 0"),
        ({"seeds": ()}, "seeds: give each seed once"),
        ({"seeds": (1, 1)}, "seeds: give each seed once"),
    ],
)
def test_settings_out_of_range(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        config(tmp_path, **changes)


def test_the_roles_receive_no_gold() -> None:
    """What a role can be given has no field for answers, graphs or clusters."""
    from rollout.agents import State
    from tasks.multi_hop import Paragraph, Question

    fields = {name for one in (State, Question, Paragraph) for name in one.__dataclass_fields__}
    assert fields == {
        "question", "evidence", "draft", "history", "suite", "id", "text", "uid", "title",
    }  # fmt: skip
    assert task().gold.answers == ("Tom",)
