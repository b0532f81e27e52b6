"""Calls that come at the same moment are one batch; each gets its own answers, or its own error."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from rollout.generators import Generation, GenerationError, Request, Sampling
from rollout.generators.gathered import Gathered
from rollout.generators.scripted import Scripted


class Counted(Scripted):
    """Remembers the sizes of its batches."""

    def __init__(self) -> None:
        super().__init__(lambda request: [request.seed, 0])
        self.batches: list[int] = []

    async def generate(
        self, requests: Sequence[Request], sampling: Any, on_done: Any = None
    ) -> list[Generation]:
        self.batches.append(len(requests))
        if any(request.seed == 99 for request in requests):
            raise GenerationError("no seed 99")
        return await super().generate(requests, sampling)


async def dialogue(generator: Gathered, first: int, turns: int, temperature: float = 1.0) -> list[int]:
    found = []
    for turn in range(turns):
        for _ in range(turn % 3):
            await asyncio.sleep(0)
        (one,) = await generator.generate([Request((1,), first + turn)], Sampling(4, temperature))
        found.append(one.token_ids[0])
    return found


def test_who_asks_at_the_same_moment_shares_a_batch() -> None:
    inner = Counted()

    async def all_of_them() -> list[list[int]]:
        generator = Gathered(inner)
        return await asyncio.gather(*(dialogue(generator, 10 * i, 3) for i in range(8)))

    assert asyncio.run(all_of_them()) == [[10 * i, 10 * i + 1, 10 * i + 2] for i in range(8)]
    assert inner.batches == [8, 8, 8]


def test_other_sampling_is_another_batch() -> None:
    inner = Counted()

    async def both() -> None:
        generator = Gathered(inner)
        await asyncio.gather(*(dialogue(generator, i, 1, i % 2) for i in range(6)))

    asyncio.run(both())
    assert inner.batches == [3, 3]


def test_answers_come_in_order_and_are_told() -> None:
    told: list[tuple[int, int]] = []

    async def one() -> list[Generation]:
        requests = [Request((1,), seed) for seed in (5, 3, 4)]
        return await Gathered(Counted()).generate(
            requests, Sampling(4), lambda index, found: told.append((index, found.token_ids[0]))
        )

    assert [found.token_ids[0] for found in asyncio.run(one())] == [5, 3, 4]
    assert told == [(0, 5), (1, 3), (2, 4)]


def test_an_error_reaches_all_of_its_batch_and_no_later_one() -> None:
    async def three() -> list[Any]:
        generator = Gathered(Counted())
        found = await asyncio.gather(
            dialogue(generator, 99, 1), dialogue(generator, 1, 1), return_exceptions=True
        )
        return [*found, await dialogue(generator, 7, 1)]

    first, second, later = asyncio.run(three())
    assert isinstance(first, GenerationError)
    assert isinstance(second, GenerationError)
    assert later == [7]
    with pytest.raises(GenerationError, match="99"):
        raise first
