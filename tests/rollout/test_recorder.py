"""Recording: nothing lost, doubled or torn, whatever kills it."""

import asyncio
from pathlib import Path

import pytest

from rollout.recorder import record, recorded, units
from rollout.shards import Shard, files, read
from tasks.errors import InputError
from tests.rollout.hand_roles import RECIPE, Everywhere, asks, task
from tests.rollout.killed import killed, lines

TASKS = [task(f"t{i}") for i in range(6)]
ARM = Everywhere(asks("where is the red lake", "what is the capital of Orland"))


def recording(folder: Path, name: str = "a.jsonl") -> None:
    have = recorded(folder)
    todo = [unit for unit in units(TASKS, (0, 1), RECIPE) if unit.key not in have]
    shard = Shard(folder / "records" / name)
    try:
        asyncio.run(record(todo, ARM, RECIPE, shard, 4))
    finally:
        shard.close()


def test_each_task_and_seed_is_recorded_once(tmp_path: Path) -> None:
    recording(tmp_path)
    recording(tmp_path, "b.jsonl")  # finds nothing to do
    episodes = list(read(tmp_path))
    assert sorted((one.task, one.seed) for one in episodes) == [
        (f"t{i}", s) for i in range(6) for s in (0, 1)
    ]
    assert {one.key for one in episodes} == {unit.key for unit in units(TASKS, (0, 1), RECIPE)}


@pytest.mark.parametrize("cut", [1, 40, 700])
def test_a_torn_line_is_passed_over_then_cut_off_and_recorded_again(tmp_path: Path, cut: int) -> None:
    recording(tmp_path)
    whole = lines(tmp_path)
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-cut])
    assert len(list(read(tmp_path))) == 11
    recording(tmp_path)
    assert lines(tmp_path) == whole


def test_a_shard_has_one_writer(tmp_path: Path) -> None:
    first = Shard(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="another process is recording"):
        Shard(tmp_path / "a.jsonl")
    first.close()
    Shard(tmp_path / "a.jsonl").close()


@pytest.mark.parametrize("line", [b"nonsense", b"[1]", b'{"version": 1}', b'{"version": 9}', b"\xff"])
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: bytes) -> None:
    recording(tmp_path)
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(InputError, match=r"a\.jsonl, row 13"):
        list(read(tmp_path))


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no records there"):
        files(tmp_path)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    recording(tmp_path)
    with pytest.raises(InputError, match="No space left"):
        Shard(Path("/dev/full")).add(next(read(tmp_path)))


SLOW = """
import asyncio, sys
from pathlib import Path
from tests.rollout import hand_roles
from tests.rollout.test_recorder import ARM, RECIPE
from rollout.recorder import record, recorded, units
from rollout.shards import Shard

class Sleepy(hand_roles.Plain):
    async def resolve(self, *arguments):
        await asyncio.sleep(0.001)
        return await super().resolve(*arguments)

hand_roles.Plain = Sleepy
folder = Path(sys.argv[1])
have = recorded(folder)
tasks = [hand_roles.task(f"t{i}") for i in range(int(sys.argv[2]))]
todo = [unit for unit in units(tasks, (0, 1), RECIPE) if unit.key not in have]
asyncio.run(record(todo, ARM, RECIPE, Shard(folder / "records" / "a.jsonl"), 8))
"""


def readable(folder: Path) -> None:
    assert all(episode.answer for episode in read(folder))


@pytest.mark.slow
def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    assert len(killed(tmp_path, SLOW, ("400",), 4, readable)) == 800


@pytest.mark.soak
def test_fifty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    assert len(killed(tmp_path, SLOW, ("4000",), 50, readable)) == 8000
