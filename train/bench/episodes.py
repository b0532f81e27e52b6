"""`askrl bench episodes`: what recording at each episode's own pace is worth, on one real vLLM engine.

* `async_over_lockstep`: episodes a second of the recorder over those of waves, in which every call waits for
  the slowest of its wave. Episodes ask 1 to 8 questions (geometric, mean 3); what the roles write is
  log-normal (median 24 tokens, sigma 0.8, 4 to 160). Both sides play the same episodes by the same code.
* `memo_saved`: share of the drafter's calls that the memo answered; `repeated` counts them by what they
  ask, before any memo.
* `bm25_share`: time in which paragraphs were indexed and searched, over that of the recording.

Rounds of both sides alternate and the fastest of each counts: other work can only slow a side down.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from rollout.agents import Reply, Roles, Said, Spent, State
from rollout.agents.memo import Memo, MemoDrafter
from rollout.agents.protocol import Evidence
from rollout.episode import Limits, Pool
from rollout.gather import gather
from rollout.generators import Generation, Generator, Needs, Request, Sampling
from rollout.recorder import Recipe, record, units
from rollout.seeds import derive
from rollout.shards import Shard
from tasks.errors import InputError
from tasks.move import STOP_TEXT, Ask, Stop, spell
from tasks.multi_hop import Gold, MultiHopTask, Paragraph, Question, uid_of
from tasks.need_graph import NeedGraph
from train.bench.rollout import SMALL, engine_of, prompt_ids, random_model

EPISODES, CONCURRENCY, ROUNDS = 128, 16, 2
TINY = SMALL | {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 2}
"""So small that, as on a GPU, a step takes about as long beside the prompts of others as without them."""
RECIPE = Recipe("bench", {}, Limits(cap=8, k=2))


def run(arguments: Sequence[str]) -> int:
    """Print each round and, as the last line, the numbers as JSON."""
    if arguments:
        raise InputError(f"askrl bench episodes takes no arguments, not {' '.join(arguments)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = random_model(TINY, folder / "tiny")
        with engine_of(model, Needs(max_model_len=8192)) as engine, timed_search() as search:
            print(json.dumps(_measure(engine, folder, search)))
    return 0


def _measure(engine: Generator, folder: Path, search: list[float]) -> dict[str, float | int]:
    tasks = made_up(EPISODES, seed=0)
    play_all(engine, tasks[:16], folder / "warm-up", 0, lockstep=False)
    best: dict[str, float] = {}
    shares: list[float] = []
    for number in range(ROUNDS):
        for form in ("async", "lockstep"):
            search.clear()
            # Another seed each time, so that nobody finds the prefixes of an earlier round.
            side = play_all(engine, tasks, folder / f"{form}-{number}", 1 + len(shares), form == "lockstep")
            shares.append(sum(search) / side.seconds)
            print(f"round {number + 1}: {form} {EPISODES / side.seconds:.2f} episodes/s", flush=True)
            best[form] = min(best.get(form, side.seconds), side.seconds)
    return {
        "async_over_lockstep": round(best["lockstep"] / best["async"], 2),
        "episodes_per_second": round(EPISODES / best["async"], 2),
        "memo_saved": round(side.memo.saved / side.memo.calls, 4),
        "repeated": round(1 - len(set(side.calls)) / len(side.calls), 4),
        "bm25_share": round(max(shares[::2]), 4),
        "episodes": EPISODES,
    }


@dataclass
class Side:
    """One recording: how long it took, and what the frozen roles were asked."""

    seconds: float
    memo: Memo
    calls: list[object]


def play_all(engine: Generator, tasks: list[MultiHopTask], folder: Path, seed: int, lockstep: bool) -> Side:
    """Record the tasks, each at its own pace or in waves."""
    calls: list[object] = []
    memo = Memo(folder / "memo")
    gate = Lockstep(engine) if lockstep else engine
    wave = CONCURRENCY if lockstep else len(tasks)
    began = time.perf_counter()
    shard = Shard(folder / "records" / "a.jsonl")
    for start in range(0, len(tasks), wave):
        some = tasks[start : start + wave]
        if isinstance(gate, Lockstep):
            gate.alive = len(some)
        arm = Players(gate, memo, calls)
        todo = units(some, (seed,), RECIPE)
        asyncio.run(record(todo, arm, RECIPE, shard, CONCURRENCY, lambda episode: _ended(gate)))
    seconds = time.perf_counter() - began
    shard.close()
    memo.close()
    return Side(seconds, memo, calls)


def _ended(gate: object) -> None:
    if isinstance(gate, Lockstep):
        gate.leave()


class Lockstep:
    """Holds requests back until every episode of a wave has one, and answers until all are answered."""

    def __init__(self, engine: Generator) -> None:
        self.engine, self.alive = engine, 0
        self._waiting: list[tuple[Request, Sampling, asyncio.Future[Generation]]] = []

    async def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Generation]:
        """One request, with those of the others."""
        future: asyncio.Future[Generation] = asyncio.get_running_loop().create_future()
        self._waiting.append((requests[0], sampling, future))
        self._go()
        return [await future]

    def leave(self) -> None:
        """An episode has ended; the others need not wait for it."""
        self.alive -= 1
        self._go()

    def _go(self) -> None:
        if self._waiting and len(self._waiting) >= self.alive:
            batch, self._waiting = self._waiting, []
            self._running = asyncio.ensure_future(self._all(batch))

    async def _all(self, batch: list[tuple[Request, Sampling, "asyncio.Future[Generation]"]]) -> None:
        found = await gather(self.engine.generate([request], sampling) for request, sampling, _ in batch)
        for (_, _, future), (generation,) in zip(batch, found, strict=True):
            future.set_result(generation)


@dataclass
class Players:
    """Roles that write as much as real ones would, drawn from the content of each call."""

    engine: object
    memo: Memo
    calls: list[object] = field(default_factory=list)

    def for_task(self, question: Question, seed: int) -> tuple[Roles, Sequence[str]]:
        """The same roles for every task."""
        drafter = Counted(MemoDrafter(self, self.memo, ""), self.calls)
        return Roles(self, drafter, self), ()

    async def next(self, state: State, seed: int) -> Reply:
        """Ask what this task's draw says, then STOP."""
        said = await self._say(96 + 32 * len(state.evidence), "next", state, seed)
        draw = Random(derive(state.question.id, "asks"))
        asks = next((n for n in range(1, 9) if draw.random() < 1 / 3), 8)
        if len(state.history) >= asks:
            return Reply(Stop(), STOP_TEXT, said.text, said.spent)
        word = Random(derive(state.question.id, len(state.history))).randrange(40)
        move = Ask(f"what is word{word}")
        return Reply(move, spell(move), said.text, said.spent)

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """As long as its content draws."""
        return await self._say(64 + 32 * len(evidence), "resolve", question, asked, evidence, seed)

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """As long as its content draws."""
        return await self._say(64 + 32 * len(evidence), "draft", question, evidence, seed)

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """As long as its content draws."""
        return await self._say(64 + 32 * len(evidence), "answer", question, evidence, seed)

    async def _say(self, length: int, *content: object) -> Said:
        key = derive(*content)
        new = min(160, max(4, round(24 * Random(key).lognormvariate(0.0, 0.8))))
        request = Request(tuple(prompt_ids(key, length)), key % 2**31)
        (found,) = await self.engine.generate([request], Sampling(new))  # type: ignore[attr-defined]
        return Said(str(key), Spent(length, len(found.token_ids)))


@dataclass(frozen=True)
class Counted:
    """A drafter that notes what it is asked, before any memo."""

    drafter: MemoDrafter
    calls: list[object]

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """The drafter's own."""
        self.calls.append(("resolve", question, asked, evidence, fetched, seed))
        return await self.drafter.resolve(question, asked, evidence, fetched, seed)

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """The drafter's own."""
        self.calls.append(("draft", question, evidence, seed))
        return await self.drafter.draft(question, evidence, seed)


@contextmanager
def timed_search() -> Iterator[list[float]]:
    """Seconds of every indexing of a pool and every search in one, while it lasts."""
    spent: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent.append(time.perf_counter() - began)

        return measured

    with patch.multiple(Pool, __init__=timed(Pool.__init__), retrieve=timed(Pool.retrieve)):
        yield spent


def made_up(count: int, seed: int) -> list[MultiHopTask]:
    """Tasks over pools of 20 paragraphs of 60 words."""
    draw = Random(seed)
    tasks = []
    for number in range(count):
        name = f"t{number}"
        texts = [" ".join(f"word{draw.randrange(40)}" for _ in range(60)) for _ in range(20)]
        pool = tuple(Paragraph(uid_of("bench", name, i, text), f"p{i}", text) for i, text in enumerate(texts))
        gold = Gold("bench", name, ("a",), NeedGraph((), ()), name)
        tasks.append(MultiHopTask(Question("bench", name, "what is it"), pool, gold))
    return tasks
