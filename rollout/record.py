"""Record episodes: who asks what of which tasks, appended as each ends; a new start goes on where it was.

`output_dir` gets `records/` (one shard a process), `graphs.jsonl` (what readings score by: no role sees it),
`manifest.json` (settings, pins, data hashes), `memo/` (what the frozen roles said) and `metrics.jsonl`.
N array jobs share a recording without talking: each takes `shard=I shards=N`.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollout.agents import policies
from rollout.agents.build import Built, build_roles
from rollout.agents.config import Role
from rollout.episode import Episode, Limits
from rollout.recorder import Recipe, record, recorded, units
from rollout.shards import GRAPHS, MANIFEST, RECORDS, Shard
from tasks import multi_hop_sources
from tasks.atomic import write_json, write_text
from tasks.errors import InputError
from tasks.multi_hop import MultiHopSet
from tasks.plain import plain

MEMO, METRICS = "memo", "metrics.jsonl"


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: rollout.record` recipe."""

    task: Mapping[str, Any]
    questioner: Role
    drafter: Role
    output_dir: Path
    answerer: Role | None = None
    """By default the drafter's model answers too."""
    policy: policies.Config = field(default_factory=policies.Prompted)
    name: str | None = None
    """Of the policy in the records; by default its kind."""
    seeds: tuple[int, ...] = (0,)
    """Each task is played once for each."""
    cap: int = 8
    """Questions of an episode that are retrieved for; no role knows it."""
    max_turns: int = 16
    k: int | None = None
    """Paragraphs that a question fetches; by default the suite's own number."""
    concurrency: int = 256
    """Episodes under way at once."""
    shard: int = 0
    shards: int = 1
    memo: Path | None = None
    """A folder that other recordings may share; by default one in `output_dir`."""
    seed: int = 0
    """Of the pools, where a suite draws distractors."""

    def __post_init__(self) -> None:
        Limits(self.cap, self.max_turns, 1 if self.k is None else self.k)  # names what is out of range
        if self.concurrency < 1:
            raise InputError(f"concurrency is {self.concurrency}; it must be at least 1")
        if not 0 <= self.shard < self.shards:
            raise InputError(f"shard is {self.shard} of {self.shards}; shards count from 0")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError("seeds: give each seed once, at least one")


def run(config: Config) -> None:
    """Play what is not recorded yet. Raises InputError for a folder of another recording."""
    tasks = multi_hop_sources.load(config.task, config.seed)
    built = build_roles(
        config.questioner, config.drafter, config.answerer or config.drafter,
        word_cap=multi_hop_sources.word_cap(suite_of(tasks)),
        memo_folder=config.memo or config.output_dir / MEMO,
    )  # fmt: skip
    try:
        _record(config, tasks, built)
    finally:
        built.close()


def _record(config: Config, tasks: MultiHopSet, built: Built) -> None:
    recipe = recipe_of(config, tasks, built.pins)
    claim(config, tasks, recipe)
    arm = policies.build(config.policy, built, tasks, recipe.limits)
    mine = [task for task in tasks.tasks if shard_of(task.question.id, config.shards) == config.shard]
    have = recorded(config.output_dir)
    todo = [unit for unit in units(mine, config.seeds, recipe) if unit.key not in have]
    progress = Progress(config, len(mine) * len(config.seeds), len(todo), built)
    shard = Shard(config.output_dir / RECORDS / f"{config.shard:05d}-of-{config.shards:05d}.jsonl")
    try:
        asyncio.run(record(todo, arm, recipe, shard, min(config.concurrency, len(todo)), progress.done))
    finally:
        shard.close()
        progress.close()
    print(f"{config.output_dir}: {len(todo)} episodes recorded, {progress.total - len(todo)} were there")


def recipe_of(config: Config, tasks: MultiHopSet, pins: Mapping[str, str]) -> Recipe:
    """What the keys of the records depend on, beside task and seed."""
    k = config.k if config.k is not None else multi_hop_sources.top_k(suite_of(tasks))
    return Recipe(config.name or config.policy.kind, pins, Limits(config.cap, config.max_turns, k))


def suite_of(tasks: MultiHopSet) -> str:
    """The suite of all tasks. Raises InputError for several."""
    suites = {task.question.suite for task in tasks.tasks}
    if len(suites) > 1:
        raise InputError(f"task: one suite a recording, not {', '.join(sorted(suites))}")
    return suites.pop()


def claim(config: Config, tasks: MultiHopSet, recipe: Recipe) -> None:
    """Write the folder's manifest and graphs, or check that those there are of this recording."""
    manifest = {
        "task": task_of(config.task, tasks), "seed": config.seed, "hashes": dict(tasks.hashes),
        "left_out": dict(tasks.left_out), "policy": plain(config.policy), "name": recipe.policy,
        "pins": dict(recipe.pins), "limits": plain(recipe.limits),
    }  # fmt: skip
    folder = config.output_dir
    if is_of(folder, manifest, "recording"):
        return
    if (folder / RECORDS).exists():
        raise InputError(f"output_dir {folder} holds records without {MANIFEST}; give another")
    begin(folder, manifest, graphs(tasks))


def task_of(section: Mapping[str, Any], tasks: MultiHopSet) -> dict[str, Any]:
    """The `task:` section for a manifest. Files go by their digests: they may have been moved."""
    return {key: value for key, value in plain(section).items() if key not in tasks.hashes}


def is_of(folder: Path, manifest: Mapping[str, Any], what: str) -> bool:
    """Whether the folder has this manifest; False for none. Raises InputError for that of another `what`."""
    place = folder / MANIFEST
    if not place.is_file():
        return False
    try:
        old = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        old = {}
    differing = [name for name in manifest if not isinstance(old, dict) or old.get(name) != manifest[name]]
    if differing:
        raise InputError(
            f"output_dir {folder} holds another {what}: {', '.join(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}; give another output_dir"
        )
    return True


def begin(folder: Path, manifest: Mapping[str, Any], scored_by: str) -> None:
    """Write the graphs, then the manifest. Raises InputError where nothing can be written."""
    try:
        write_text(folder / GRAPHS, scored_by)
        write_json(folder / MANIFEST, dict(manifest))
    except OSError as error:
        raise InputError(
            f"output_dir {folder}: cannot be written ({error.strerror}); give another output_dir"
        ) from None


def graphs(tasks: MultiHopSet) -> str:
    """What the episodes are scored by, one JSON line a task, with the titles of its pool."""
    rows = (
        {**task.gold.to_row(), "question": task.question.text, "titles": {p.uid: p.title for p in task.pool}}
        for task in tasks.tasks
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def shard_of(task: str, shards: int) -> int:
    """Which of so many shards a task belongs to, by its id alone."""
    return int.from_bytes(hashlib.sha256(task.encode()).digest()[:6], "big") % shards


class Progress:
    """A bar with an ETA, and a line of metrics every half minute."""

    EVERY_S = 30.0

    def __init__(self, config: Config, total: int, todo: int, built: Built) -> None:
        from tqdm import tqdm

        self.total, self._left, self._built = total, todo, built
        self._file = config.output_dir / METRICS
        self._shard = config.shard
        self._bar = tqdm(total=total, initial=total - todo, desc="episodes", unit="episode", disable=None)
        self._started = self._told = time.monotonic()
        self._done = self._asks = 0

    def done(self, episode: Episode) -> None:
        """Count an episode."""
        self._done += 1
        self._asks += len(episode.turns)
        self._bar.update()
        if time.monotonic() - self._told > self.EVERY_S:
            self._tell()

    def close(self) -> None:
        """Write the last line."""
        self._bar.close()
        if self._done:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        seconds = self._told - self._started
        memo = self._built.memo
        line = {
            "time": round(time.time(), 1), "shard": self._shard, "episodes": self._done,
            "episodes_per_second": self._done / seconds, "asks_per_episode": self._asks / self._done,
            "memo_calls": memo.calls, "memo_saved": memo.saved,
        }  # fmt: skip
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise InputError(f"{self._file}: cannot be written ({error.strerror})") from None
