"""`askrl bench fork`: what labels cost by forking, and by playing each candidate from the start.

Runs are recorded, then every decision is forked: 8 candidates, of which those that ask the same are followed
once. The other side plays the whole run of each candidate, its sampled move included, without a memo. Both
have as many requests under way at once, on one real vLLM engine; they label the same pairs, so ratios are
per pair.

* `calls_ratio`, `time_ratio`: calls of a model, and time, at decisions after the first question.
* `calls_ratio_all`, `time_ratio_all`: at all decisions.
* `calls_limit`: calls of ours that differ in content, which no cache can answer, over the other side's.
* `time_ratio_async`: against all candidates at once, each a coroutine of its own without a memo.

Sampled questions are drawn with weights 1, 1/2, 1/3, … over 40 words, so that about five of eight differ.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from rollout.agents import Reply, Roles, Said, State
from rollout.agents.memo import Memo, MemoDrafter
from rollout.episode import Episode, Stage, play
from rollout.forker import Plan, fork, states_of
from rollout.gather import gather
from rollout.generators import Generation, Generator, Needs, Request, Sampling
from rollout.recorder import Indexes, record, units
from rollout.seeds import derive
from rollout.shards import Shard, read
from tasks.errors import InputError
from tasks.move import STOP_TEXT, Ask, Stop, spell
from tasks.multi_hop import MultiHopTask, Question
from train.bench.episodes import RECIPE, TINY, Players, made_up
from train.bench.rollout import engine_of, prompt_ids, random_model

TASKS, CONCURRENCY, N = 12, 16, 8
PLAN = Plan(n=N, min_frontier=0)
WORDS = [f"word{rank}" for rank in range(40)]
WEIGHTS = [1 / (rank + 1) for rank in range(40)]

Decision = tuple[Episode, int]
"""A recorded run and the number of questions before one of its moves."""


def run(arguments: Sequence[str]) -> int:
    """Print each side and, as the last line, the numbers as JSON."""
    if arguments:
        raise InputError(f"askrl bench fork takes no arguments, not {' '.join(arguments)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = random_model(TINY, folder / "tiny")
        with engine_of(model, Needs(max_model_len=8192)) as engine:
            print(json.dumps(_measure(engine, folder)))
    return 0


@dataclass
class Side:
    """Time, calls of a model, and how many of them differ."""

    seconds: float
    calls: int
    distinct: int


def _measure(engine: Generator, folder: Path) -> dict[str, float | int]:
    tasks = {task.question.id: task for task in made_up(TASKS, seed=0)}
    memo = Memo(folder / "memo")
    recording = Forkers(engine, memo)
    shard = Shard(folder / "records" / "a.jsonl")
    asyncio.run(record(units(tasks.values(), (0,), RECIPE), recording, RECIPE, shard, CONCURRENCY))
    shard.close()
    decisions = [(one, turn) for one in read(folder) for turn in states_of(one)]
    later, first = ([one for one in decisions if bool(one[1]) is after] for after in (True, False))
    sides: dict[str, tuple[Side, Side]] = {}
    for name, some in (("after the first question", later), ("before it", first)):
        ours = timed(Forkers(Gate(engine), memo), partial(Forkers.fork_all, some=some, tasks=tasks))
        from_start = partial(Forkers.play_all, some=some, tasks=tasks, at_once=CONCURRENCY)
        again = timed(Forkers(Gate(engine)), from_start)
        sides[name] = ours, again
        print(
            f"{len(some)} decisions {name}: forked {ours.seconds:.1f} s, {ours.calls} calls; from the start "
            f"{again.seconds:.1f} s, {again.calls} calls",
            flush=True,
        )
    all_of_them = partial(Forkers.play_all, some=later, tasks=tasks, at_once=len(later) * N)
    at_once = timed(Forkers(engine), all_of_them)
    memo.close()
    (ours, again), (ours_first, again_first) = sides.values()
    return {
        "calls_ratio": round(ours.calls / again.calls, 3),
        "time_ratio": round(ours.seconds / again.seconds, 3),
        "calls_limit": round(ours.distinct / again.calls, 3),
        "calls_ratio_all": round((ours.calls + ours_first.calls) / (again.calls + again_first.calls), 3),
        "time_ratio_all": round(
            (ours.seconds + ours_first.seconds) / (again.seconds + again_first.seconds), 3
        ),
        "time_ratio_async": round(ours.seconds / at_once.seconds, 3),
        "decisions": len(decisions),
    }


def timed(players: "Forkers", work: "Callable[[Forkers], Coroutine[Any, Any, None]]") -> Side:
    """Do the work and count what it took."""
    began = time.perf_counter()
    asyncio.run(work(players))
    seconds = time.perf_counter() - began
    return Side(seconds, len(players.asked), len(set(players.asked)))


class Gate:
    """Lets at most `CONCURRENCY` requests through to the engine at once."""

    def __init__(self, engine: Generator) -> None:
        self.engine = engine
        self._free = asyncio.Semaphore(CONCURRENCY)

    async def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Generation]:
        """Each as soon as there is room; those of one prompt find it in the engine's cache."""

        async def one(request: Request) -> Generation:
            async with self._free:
                return (await self.engine.generate([request], sampling))[0]

        return await gather(one(request) for request in requests)


class Forkers(Players):
    """Players whose questioner can be sampled at a state; without a memo everything is said anew."""

    def __init__(self, engine: "Generator | Gate", memo: Memo | None = None) -> None:
        super().__init__(engine, memo or Memo())
        self.asked: list[int] = []
        self.indexes = Indexes(kept=TASKS)
        self.roles = Roles(self, self if memo is None else MemoDrafter(self, memo, ""), self)

    def for_task(self, question: Question, seed: int) -> tuple[Roles, Sequence[str]]:
        """The same roles for every task."""
        return self.roles, ()

    def prompt(self, state: State) -> str:
        """What the questioner reads; it is known by its content."""
        return str(derive("next", state))

    async def next(self, state: State, seed: int) -> Reply:
        """The move of the recorded policy, under the prompt of the state."""
        reply = await super().next(state, seed)
        return Reply(reply.move, reply.text, self.prompt(state), reply.spent)

    async def sample(self, state: State, seeds: Sequence[int], temperature: float) -> list[Reply]:
        """One move for each seed, from one request list."""
        prompt, length = self.prompt(state), 96 + 32 * len(state.evidence)
        ids = tuple(prompt_ids(int(prompt), length))
        self.asked += [derive(prompt, seed) for seed in seeds]
        requests = [Request(ids, seed % 2**31) for seed in seeds]
        await self.engine.generate(requests, Sampling(24))  # type: ignore[attr-defined]
        return [self._sampled(prompt, seed) for seed in seeds]

    def _sampled(self, prompt: str, seed: int) -> Reply:
        draw = Random(derive(prompt, seed))
        if draw.random() < 0.1:
            return Reply(Stop(), STOP_TEXT, prompt)
        move = Ask(f"what is {draw.choices(WORDS, WEIGHTS)[0]}")
        return Reply(move, spell(move), prompt)

    async def _say(self, length: int, *content: object) -> Said:
        self.asked.append(derive(*content))
        return await super()._say(length, *content)

    def stage(self, episode: Episode, task: MultiHopTask) -> Stage:
        """Where a run was played."""
        pool = self.indexes.of(episode.pool, task)
        return Stage(task.question, pool, episode.pool, episode.policy, episode.pins)

    async def fork_all(self, some: Sequence[Decision], tasks: dict[str, MultiHopTask]) -> None:
        """Fork each decision, `CONCURRENCY` at once; the gate is what bounds their requests."""
        todo = iter(some)

        async def worker() -> None:
            for one, turn in todo:
                stage = self.stage(one, tasks[one.task])
                if await fork(stage, self, self.roles, one, turn, N, PLAN) is None:
                    raise RuntimeError("a state is not what was recorded")

        await gather(worker() for _ in range(CONCURRENCY))

    async def play_all(self, some: Sequence[Decision], tasks: dict[str, MultiHopTask], at_once: int) -> None:
        """Play the run of every candidate from the start, so many at once."""
        todo = iter([(one, turn, place) for one, turn in some for place in range(1, N)])

        async def worker() -> None:
            for one, turn, place in todo:
                task = tasks[one.task]
                forced = Forced(self, turn, derive(one.seed, task.question.id, turn, place))
                roles = Roles(forced, self.roles.drafter, self.roles.answerer)
                await play(self.stage(one, task), roles, one.limits, one.seed)

        await gather(worker() for _ in range(at_once))


@dataclass(frozen=True)
class Forced:
    """The policy, but for one move, which is sampled."""

    players: Forkers
    turn: int
    seed: int

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        if len(state.history) != self.turn:
            return await self.players.next(state, seed)
        (reply,) = await self.players.sample(state, [self.seed], 1.0)
        return reply
