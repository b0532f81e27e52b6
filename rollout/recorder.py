"""Thousands of episodes at once, each at its own pace; whoever ends is written down and makes room."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rollout.agents.protocol import Roles
from rollout.episode import Episode, Limits, Pool, Stage, episode_key, play
from rollout.gather import gather
from rollout.shards import Shard, files, keyed
from tasks.errors import InputError
from tasks.multi_hop import MultiHopTask, Question, pool_hash


class Arm(Protocol):
    """Who plays a task, and the uids in hand before the first question."""

    def for_task(self, question: Question, seed: int) -> tuple[Roles, Sequence[str]]:
        """Roles and start of one episode."""
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """What all episodes of a recording share."""

    policy: str
    pins: Mapping[str, str]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Unit:
    """One episode to be played."""

    task: MultiHopTask
    pool: str
    """Digest of the task's pool."""
    seed: int
    key: str


def units(tasks: Iterable[MultiHopTask], seeds: Sequence[int], recipe: Recipe) -> Iterator[Unit]:
    """All episodes: the seeds of a task side by side, so that they share its index and its drafts."""
    pool, digest = None, ""
    for task in tasks:
        if task.pool is not pool:  # the tasks of a corpus share theirs
            pool, digest = task.pool, pool_hash(task.pool)
        question = task.question
        for seed in seeds:
            key = episode_key(
                question.suite, question.id, digest, recipe.policy, seed, recipe.pins, recipe.limits
            )
            yield Unit(task, digest, seed, key)


def recorded(folder: Path) -> set[str]:
    """The keys of the episodes that are in a run folder, in whichever shard."""
    try:
        found = files(folder)
    except InputError:
        return set()
    return {key for file in found for key, _ in keyed(file)}


async def record(
    todo: Iterable[Unit],
    arm: Arm,
    recipe: Recipe,
    shard: Shard,
    concurrency: int,
    on_done: Callable[[Episode], None] = lambda episode: None,
) -> None:
    """Play all of `todo`, at most `concurrency` at a time, and append each to the shard as it ends.

    The first failure (GenerationError, a disk that is full) ends the others and is raised; what has been
    appended stays.
    """
    indexes = Indexes(kept=2 * concurrency)
    remaining = iter(todo)

    async def worker() -> None:
        for unit in remaining:
            stage = Stage(
                unit.task.question, indexes.of(unit.pool, unit.task), unit.pool, recipe.policy, recipe.pins
            )
            roles, start = arm.for_task(unit.task.question, unit.seed)
            episode = await play(stage, roles, recipe.limits, unit.seed, start=start)
            shard.add(episode)
            on_done(episode)

    await gather(worker() for _ in range(concurrency))


class Indexes:
    """Pools made ready for retrieval, one for each digest; of many only the latest are kept."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._found: dict[str, Pool] = {}

    def of(self, digest: str, task: MultiHopTask) -> Pool:
        """The pool of a task, whose digest is given."""
        if digest not in self._found:
            while len(self._found) >= self._kept:
                del self._found[next(iter(self._found))]
            self._found[digest] = Pool(task.pool)
        return self._found[digest]
