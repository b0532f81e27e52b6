"""What a frozen role said is kept by content, on disk, through kills, for many processes."""

import asyncio
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rollout.agents import Said, Spent
from rollout.agents.memo import Memo, MemoAnswerer, MemoDrafter
from tasks.errors import InputError
from tasks.multi_hop import Paragraph, Question
from tests.rollout.hand_roles import Plain

TASK = Question("hand", "t", "Who?")
ONE, TWO = Paragraph("0a", "A", "a text"), Paragraph("0b", "B", "another")


class Counting(Plain):
    """Counts what it is really asked, and takes its time."""

    def __init__(self) -> None:
        self.calls = 0

    async def draft(self, question: Question, evidence: tuple[Paragraph, ...], seed: int) -> Said:
        self.calls += 1
        await asyncio.sleep(0.01)
        return Said(f"draft {self.calls}", Spent(3, 1))


def test_the_same_content_is_asked_for_once(tmp_path: Path) -> None:
    inner, memo = Counting(), Memo(tmp_path)
    drafter = MemoDrafter(inner, memo, "pin")

    async def all_at_once() -> list[Said]:
        return list(await asyncio.gather(*(drafter.draft(TASK, (ONE,), 0) for _ in range(5))))

    found = asyncio.run(all_at_once())
    assert (inner.calls, memo.calls, memo.saved) == (1, 5, 4)
    assert len(set(found)) == 1
    assert found[0].spent == Spent(3, 1)  # the same whether a memo answered or a model


@pytest.mark.parametrize(
    "other",
    [
        (Question("hand", "u", "Who?"), (ONE,), 0, "pin"),
        (TASK, (ONE, TWO), 0, "pin"),
        (TASK, (ONE,), 1, "pin"),
        (TASK, (ONE,), 0, "another model"),
    ],
)
def test_other_content_is_another_call(other: tuple[Question, tuple[Paragraph, ...], int, str]) -> None:
    inner, memo = Counting(), Memo()
    question, evidence, seed, pin = other
    asyncio.run(MemoDrafter(inner, memo, "pin").draft(TASK, (ONE,), 0))
    asyncio.run(MemoDrafter(inner, memo, pin).draft(question, evidence, seed))
    assert inner.calls == 2


def test_roles_do_not_take_each_others_words() -> None:
    memo, plain = Memo(), Plain()
    asyncio.run(MemoAnswerer(plain, memo, "pin").answer(TASK, (ONE,), "draft", 0))
    asyncio.run(MemoAnswerer(plain, memo, "pin").answer(TASK, (ONE,), "other draft", 0))
    asyncio.run(MemoDrafter(plain, memo, "pin").draft(TASK, (ONE,), 0))
    asyncio.run(MemoDrafter(plain, memo, "pin").resolve(TASK, "who", (ONE,), (ONE,), 0))
    asyncio.run(MemoDrafter(plain, memo, "pin").resolve(TASK, "who", (ONE,), (), 0))
    assert memo.saved == 0


def test_it_outlives_the_process_and_a_torn_line(tmp_path: Path) -> None:
    program = (
        "import asyncio, os\nfrom pathlib import Path\n"
        "from rollout.agents.memo import Memo, MemoDrafter\n"
        "from tests.rollout.agents.test_memo import Counting, ONE, TASK, TWO\n"
        f"memo = Memo(Path({str(tmp_path)!r}))\n"
        "drafter = MemoDrafter(Counting(), memo, 'pin')\n"
        "asyncio.run(drafter.draft(TASK, (ONE,), 0))\nasyncio.run(drafter.draft(TASK, (TWO,), 0))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-5])
    inner = Counting()
    memo = Memo(tmp_path)
    assert asyncio.run(MemoDrafter(inner, memo, "pin").draft(TASK, (ONE,), 0)).text == "draft 1"
    asyncio.run(MemoDrafter(inner, memo, "pin").draft(TASK, (TWO,), 0))
    assert (inner.calls, memo.saved) == (1, 1)
    memo.close()
    assert [len(json.loads(line)) for line in file.read_text().splitlines()] == [4, 4]


def test_processes_share_a_folder_with_a_file_each(tmp_path: Path) -> None:
    first, second = Memo(tmp_path), Memo(tmp_path)
    asyncio.run(MemoDrafter(Counting(), first, "pin").draft(TASK, (ONE,), 0))
    asyncio.run(MemoDrafter(Counting(), second, "pin").draft(TASK, (TWO,), 0))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0000.jsonl", "0001.jsonl"]
    first.close()
    second.close()
    third, inner = Memo(tmp_path), Counting()
    for evidence in ((ONE,), (TWO,)):
        asyncio.run(MemoDrafter(inner, third, "pin").draft(TASK, evidence, 0))
    assert (inner.calls, third.saved) == (0, 2)
    third.close()


@pytest.mark.parametrize("content", ["{}\n", "[1]\n", '["zz", "text", 1, 2]\n', "\x00\n"])
def test_a_file_of_something_else_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"x\.jsonl: not what a memo holds"):
        Memo(tmp_path)


def test_a_call_that_fails_is_made_again(tmp_path: Path) -> None:
    memo = Memo(tmp_path)

    async def fails() -> Said:
        raise RuntimeError("no server")

    async def works() -> Said:
        return Said("now")

    async def both() -> Said:
        with pytest.raises(RuntimeError, match="no server"):
            await memo.get(("x",), fails)
        return await memo.get(("x",), works)

    assert asyncio.run(both()).text == "now"
    memo.close()


def test_a_full_disk_is_named_and_what_was_torn_is_made_again(tmp_path: Path) -> None:
    memo, inner = Memo(tmp_path), Counting()
    drafter = MemoDrafter(inner, memo, "pin")
    asyncio.run(drafter.draft(TASK, (ONE,), 0))
    file = tmp_path / "0000.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 10, limits[1]))
    try:
        with pytest.raises(InputError, match=r"0000\.jsonl: the disk is full"):
            asyncio.run(drafter.draft(TASK, (TWO,), 0))
        with pytest.raises(InputError, match=r"0000\.jsonl: cannot be written"):
            asyncio.run(drafter.draft(TASK, (TWO,), 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    memo.close()
    again = Memo(tmp_path)
    asyncio.run(MemoDrafter(inner, again, "pin").draft(TASK, (ONE,), 0))
    asyncio.run(MemoDrafter(inner, again, "pin").draft(TASK, (TWO,), 0))
    assert (inner.calls, again.saved) == (4, 1)
    again.close()
