"""`askrl bench export`: decisions labelled and written a second, and what it takes to hold them."""

import argparse
import hashlib
import json
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from eval.peak_memory import high_water
from rollout.agents.protocol import Spent
from rollout.episode import Limits, Turn, digest
from rollout.forks import Candidate, Fork
from rollout.shards import GRAPHS, RECORDS
from tasks.move import STOP_TEXT
from tasks.multi_hop import Gold
from tasks.need_graph import Need, NeedGraph
from train import export

CANDIDATES = (1, 8)
"""Of every other state: many are not forked."""
FILES = ("imitation.jsonl", "imitation.parquet", "pairs.jsonl", "pairs.parquet", "summary.json")


def run(arguments: Sequence[str]) -> None:
    """Export made-up forked states, a few pairs for each; then again, from other shards."""
    parser = argparse.ArgumentParser(prog="askrl bench export", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="decisions")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        states = 2 * options.rows // sum(CANDIDATES)
        size = write(folder / "one", states, 1, options.seed)
        write(folder / "three", states, 3, options.seed)
        with workers_watched() as workers:
            seconds = timed(folder / "one", folder / "first")
        peak = high_water() + sum(workers.values())
        timed(folder / "one", folder / "again")
        timed(folder / "three", folder / "sharded")
        same = [digests(folder / other) == digests(folder / "first") for other in ("again", "sharded")]
        summary = json.loads((folder / "first" / "summary.json").read_text(encoding="utf-8"))
    result = {
        "rows": options.rows, "bytes_per_row": round(size / options.rows), "seconds": round(seconds, 1),
        "rows_per_second": round(options.rows / seconds),
        "peak_rss_mib": round(peak),
        "same_on_rerun": same[0], "same_for_other_shards": same[1],
        "written": sum(summary["rows"].values()),
    }  # fmt: skip
    print(json.dumps(result))


@contextmanager
def workers_watched() -> Iterator[dict[int, float]]:
    """The most memory in MiB of each process that this one starts, by its number; looked at all the while."""
    found: dict[int, float] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for child in multiprocessing.active_children():
                with suppress(OSError, StopIteration):
                    found[child.pid or 0] = high_water(child.pid or 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()


def timed(records: Path, to: Path) -> float:
    """Seconds of an export."""
    began = time.perf_counter()
    export.run(export.Config(records, to))
    return time.perf_counter() - began


def digests(folder: Path) -> list[str]:
    """Of the files of an export; the summary names its folders, which differ."""
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES[:-1]]


def write(folder: Path, states: int, shards: int, seed: int) -> int:
    """Forked states of made-up tasks in a folder; the bytes of their rows."""
    draw = random.Random(seed)
    (folder / RECORDS).mkdir(parents=True)
    tasks = max(1, states // 50)
    uids = [f"{i:016x}" for i in range(20)]
    with (folder / GRAPHS).open("w", encoding="utf-8") as file:
        for task in range(tasks):
            needs = tuple(Need(f"s{i}", "what", (), (uids[i],)) for i in range(4))
            graph = NeedGraph(needs, (("s0", "s1"), ("s1", "s2")))
            gold = Gold("mini_hops", f"t{task}", ("Tom",), graph, f"t{task}", "s3")
            file.write(json.dumps(gold.to_row()) + "\n")
    total = 0
    opened = [(folder / RECORDS / f"{i}.jsonl").open("wb") for i in range(shards)]
    for number in range(states):
        line = json.dumps(_state(draw, f"t{number % tasks}", number, uids).to_row()).encode() + b"\n"
        opened[number % shards].write(line)
        total += len(line)
    for handle in opened:
        handle.close()
    return total


def _state(draw: random.Random, task: str, number: int, uids: Sequence[str]) -> Fork:
    prompt = f"state {number}: " + "".join(draw.choice(" abcdefgh") for _ in range(600))
    done = draw.random() < 0.4
    candidates = []
    for index in range(CANDIDATES[number % 2]):
        found = draw.sample(uids[4:], 2) if draw.random() < 0.7 else [uids[draw.randrange(4)], uids[5]]
        turn = Turn(
            f"who is number {draw.randrange(10**6)} of the {draw.choice(['lake', 'town', 'river'])}",
            "it is missing", (uids[0],), tuple(found), "it is Tom", "a draft of some words",
            digest(prompt), 20, Spent(300, 40),
        )  # fmt: skip
        ends = () if draw.random() < 0.05 else (turn,)
        answer = "Tom" if draw.random() < 0.01 else "unknown"
        candidates.append(Candidate(index, ends, "policy_stop", STOP_TEXT, answer, Spent(900, 90)))
    return Fork(
        f"{draw.getrandbits(128):032x}", "mini_hops", task, "pool", "prompted", number, 0,
        {"questioner": "q", "drafter": "d"}, Limits(), digest(prompt), prompt,
        tuple(uids[: 4 if done else draw.randrange(4)]), tuple(candidates),
    )  # fmt: skip
