"""`askrl bench readings`: recorded episodes read a second, and whether memory grows with their number.

Episodes have the shape of MuSiQue runs: three needs in a chain, up to eight questions of five paragraphs,
drafts of a thousand characters. `rss_growth_mib` is how much more memory ten times the records take at the
peak; each size is read in a fresh process.
"""

import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from eval.arm_readings import arm_readings
from eval.peak_memory import high_water
from rollout.agents.protocol import Said, Spent
from rollout.episode import Episode, Limits, Turn
from rollout.shards import GRAPHS, RECORDS, Shard
from tasks.errors import InputError
from tasks.multi_hop import Gold
from tasks.need_graph import Need, NeedGraph

FEW, MANY, ROUNDS = 2_000, 20_000, 3
TASKS = 200


def run(arguments: Sequence[str]) -> int:
    """Print each round and, as the last line, the numbers as JSON."""
    if arguments:
        raise InputError(f"askrl bench readings takes no arguments, not {' '.join(arguments)}")
    with tempfile.TemporaryDirectory() as name:
        few, many = (write(Path(name) / str(n), n) for n in (FEW, MANY))
        found: list[float] = []
        for number in range(ROUNDS):
            seconds, peak_few = _fresh(few)
            found.append(FEW / seconds)
            print(f"round {number + 1}: {found[-1]:.0f} episodes/s", flush=True)
        seconds, peak_many = _fresh(many)
    numbers = {
        "episodes_per_second": round(max(found)),
        "episodes_per_second_of_many": round(MANY / seconds),
        "rss_growth_mib": round(peak_many - peak_few, 1),
        "peak_rss_mib": round(peak_many, 1),
        "episodes": MANY,
    }
    print(json.dumps(numbers))
    return 0


def write(folder: Path, episodes: int) -> Path:
    """A run folder with so many made-up episodes."""
    rng = random.Random(0)
    golds = [gold(f"t{number}") for number in range(TASKS)]
    shard = Shard(folder / RECORDS / "a.jsonl")
    for number in range(episodes):
        shard.add(episode(golds[number % TASKS], number // TASKS, rng))
    shard.close()
    (folder / GRAPHS).write_text("".join(json.dumps(one.to_row()) + "\n" for one in golds))
    return folder


def gold(task: str) -> Gold:
    """Three needs in a chain."""
    needs = tuple(Need(f"s{i}", f"step {i}", (f"answer {i}",), (f"{task}-{i}",)) for i in range(3))
    return Gold("musique", task, ("answer 2",), NeedGraph(needs, (("s0", "s1"), ("s1", "s2"))), task, "s2")


def episode(gold: Gold, seed: int, rng: random.Random) -> Episode:
    """Questions that fetch anything of a pool of twenty."""
    turns = tuple(
        Turn(
            f"what is the {rng.choice(('name', 'place', 'year'))} of number {turn} of {gold.task}", "why", (),
            tuple(f"{gold.task}-{place}" for place in rng.sample(range(20), 5)), "an answer " * 10,
            "a draft of it " * 70, "0" * 16, 25, Spent(2000, 200),
        )
        for turn in range(rng.randint(1, 8))
    )  # fmt: skip
    return Episode(
        gold.suite, gold.task, "pool", "prompted", seed, {"drafter": "d"}, Limits(), Said("none"), turns,
        "policy_stop", "", "", "perhaps answer 2", Spent(20_000, 2_000),
    )  # fmt: skip


def _fresh(folder: Path) -> tuple[float, float]:
    """(seconds, peak MiB) of reading a folder in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_read, folder).result()


def _read(folder: Path) -> tuple[float, float]:
    began = time.perf_counter()
    arm_readings(folder)
    seconds = time.perf_counter() - began
    return seconds, high_water()
