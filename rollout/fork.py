"""Fork recorded runs: try other moves at their states, and follow each to its end.

`records` is the folder of a `rollout.record` job; task, roles and limits are those of its recipe. Shards, the
memo and a new start work as there. States whose frontier is too small are written too, with the recorded
move alone: they cost nothing, and what was done there is learned from like anything else.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rollout.agents.build import Built, build_roles
from rollout.agents.config import Role
from rollout.episode import Episode, Stage
from rollout.forker import Forkable, Plan, candidates_at, fork, key_of, states_of
from rollout.gather import gather
from rollout.record import MEMO, begin, is_of, shard_of, suite_of, task_of
from rollout.recorder import Indexes, recorded
from rollout.shards import GRAPHS, RECORDS, Shard, read
from tasks import multi_hop_sources
from tasks.errors import InputError
from tasks.multi_hop import MultiHopSet, MultiHopTask, pool_hash


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: rollout.fork` recipe."""

    task: Mapping[str, Any]
    questioner: Role
    drafter: Role
    output_dir: Path
    records: Path | None = None
    """Has to be given where it matters; a recipe that ships cannot know it."""
    answerer: Role | None = None
    n: int = 8
    """Candidates of a state, the recorded move among them."""
    temperature: float = 1.0
    """Of the moves that are tried; what follows is the policy as it is."""
    min_frontier: int = 2
    """Open needs that a state must have to be forked; 0 forks all."""
    max_states: int | None = None
    """Fork so many states at most; the others keep their recorded move alone."""
    max_calls: int | None = None
    """Fork no further state after so many calls of the frozen roles."""
    concurrency: int = 64
    """States under way at once."""
    shard: int = 0
    shards: int = 1
    memo: Path | None = None
    """By default that of the records: what was said there is not paid for again."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 1 or self.concurrency < 1 or self.min_frontier < 0:
            raise InputError("n and concurrency must be at least 1, min_frontier at least 0")
        if any(limit is not None and limit < 0 for limit in (self.max_states, self.max_calls)):
            raise InputError("max_states and max_calls must be at least 0; leave them out for no limit")
        if not self.temperature > 0.0:
            raise InputError(f"temperature is {self.temperature:g}; at 0 all candidates would be one")
        if not 0 <= self.shard < self.shards:
            raise InputError(f"shard is {self.shard} of {self.shards}; shards count from 0")


def run(config: Config) -> None:
    """Fork what is not forked yet. Raises InputError where records and recipe do not belong together."""
    if config.records is None:
        raise InputError(
            "records is not given; name the run folder of a rollout.record job: records=runs/..."
        )
    tasks = multi_hop_sources.load(config.task, config.seed)
    built = build_roles(
        config.questioner, config.drafter, config.answerer or config.drafter,
        word_cap=multi_hop_sources.word_cap(suite_of(tasks)),
        memo_folder=config.memo or config.records / MEMO,
    )  # fmt: skip
    try:
        if not hasattr(built.roles.questioner, "sample"):
            raise InputError("questioner: it cannot sample several moves at one state")
        # A first state before the folder is claimed: what does not fit together leaves nothing behind.
        next(_states(config, config.records, tasks, built, set()), None)
        _claim(config, config.records, tasks, built)
        asyncio.run(_fork(config, config.records, tasks, built))
    finally:
        built.close()


def _claim(config: Config, records: Path, tasks: MultiHopSet, built: Built) -> None:
    """Write the folder's manifest and graphs, or check that those there are of this forking."""
    manifest = {
        "n": config.n, "temperature": config.temperature, "min_frontier": config.min_frontier,
        "pins": built.pins, "hashes": dict(tasks.hashes), "task": task_of(config.task, tasks),
    }  # fmt: skip
    if is_of(config.output_dir, manifest, "forking"):
        return
    graphs = records / GRAPHS
    if not graphs.is_file():
        raise InputError(f"{records}: no {GRAPHS} there; records is the folder of a rollout.record job")
    begin(config.output_dir, manifest, graphs.read_text(encoding="utf-8"))


async def _fork(config: Config, records: Path, tasks: MultiHopSet, built: Built) -> None:
    from tqdm import tqdm

    plan = Plan(config.n, config.temperature, config.min_frontier)
    have = recorded(config.output_dir)
    indexes = Indexes(kept=2 * config.concurrency)
    shard = Shard(config.output_dir / RECORDS / f"{config.shard:05d}-of-{config.shards:05d}.jsonl")
    counts: Counter[str] = Counter()
    todo = _states(config, records, tasks, built, have)
    questioner = cast(Forkable, built.roles.questioner)

    async def worker() -> None:
        for episode, turn, task, n in todo:
            pool = indexes.of(episode.pool, task)
            stage = Stage(task.question, pool, episode.pool, episode.policy, episode.pins)
            if config.max_calls is not None and built.memo.calls - built.memo.saved >= config.max_calls:
                n = 1
            found = await fork(stage, questioner, built.roles, episode, turn, n, plan)
            if found is None:
                counts["prompt differs from the recorded one"] += 1
                continue
            shard.add(found)
            counts["states"] += 1
            counts["candidates"] += len(found.candidates)
            bar.update()

    with tqdm(desc="forks", unit="state", disable=None) as bar:
        try:
            await gather(worker() for _ in range(config.concurrency))
        finally:
            shard.close()
    told = (
        ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) or "nothing was left to do"
    )
    print(f"{config.output_dir}: {told}; {len(have)} states were there")
    if counts["prompt differs from the recorded one"] and not counts["states"] and not have:
        raise InputError(f"{records}: no state has the prompt that was recorded; fork with its own roles")


def _states(
    config: Config, records: Path, tasks: MultiHopSet, built: Built, have: set[str]
) -> Iterator[tuple[Episode, int, MultiHopTask, int]]:
    """(run, turn, its task, candidates to try) of each state of this shard that is not there yet."""
    by_id = {task.question.id: task for task in tasks.tasks}
    plan = Plan(config.n, config.temperature, config.min_frontier)
    forked = 0
    for episode in read(records):
        _check(episode, built, records)
        if shard_of(episode.task, config.shards) != config.shard:
            continue
        task = by_id.get(episode.task)
        if task is None:
            raise InputError(
                f"{records}: task {episode.task!r} is recorded there, but task: has none of this id"
            )
        if episode.pool != pool_hash(task.pool):
            raise InputError(
                f"{records}: the pool of task {episode.task!r} was another; check task: and seed:"
            )
        for turn in states_of(episode):
            n = candidates_at(episode, turn, task.gold.graph, plan)
            forked += n > 1
            if config.max_states is not None and forked > config.max_states:
                n = 1
            if key_of(episode, turn) not in have:
                yield episode, turn, task, n


def _check(episode: Episode, built: Built, records: Path) -> None:
    differing = [name for name in built.pins if episode.pins.get(name) != built.pins[name]]
    if differing:
        name = differing[0]
        raise InputError(
            f"{records}: recorded with another {name} ({episode.pins.get(name)}, now {built.pins[name]}); "
            "states can be forked by the same roles alone"
        )
