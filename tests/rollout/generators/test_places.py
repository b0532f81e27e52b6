import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from rollout.generators.places import NoneOpen, Places


def run(coroutine: Coroutine[Any, Any, Any]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 10))


def test_who_waits_moves_to_a_place_that_falls_idle() -> None:
    async def play() -> None:
        places = Places(2, slots=1)
        known = tuple(range(32))
        first = await places.enter(known)
        other = await places.enter((9,) * 32)
        assert {first, other} == {0, 1}
        waits = asyncio.ensure_future(places.enter(known))  # at the place that knows its prompt
        await asyncio.sleep(0)
        places.leave(other)
        assert await waits == other

    run(play())


def test_who_waits_leaves_a_place_that_closes() -> None:
    async def play() -> None:
        places = Places(2, slots=1)
        taken = [await places.enter((i,) * 16) for i in range(2)]
        waits = [asyncio.ensure_future(places.enter((i % 2,) * 16)) for i in range(4)]
        await asyncio.sleep(0)
        places.close_place(taken[0])
        places.leave(taken[1])
        for _ in waits:
            finished, _ = await asyncio.wait(
                [one for one in waits if not one.done()], return_when=asyncio.FIRST_COMPLETED
            )
            assert len(finished) == 1
            places.leave(taken[1])
        assert [one.result() for one in waits] == [taken[1]] * 4
        places.close_place(taken[1])
        assert not places.some_open.is_set()
        with pytest.raises(NoneOpen):
            await places.enter((1,))

    run(play())


def test_when_all_close_those_who_wait_are_told() -> None:
    async def play() -> None:
        places = Places(1, slots=1)
        await places.enter((1,))
        waits = asyncio.ensure_future(places.enter((1,)))
        await asyncio.sleep(0)
        places.close_place(0)
        with pytest.raises(NoneOpen):
            await waits
        places.leave(0)
        places.open_place(0)
        assert places.some_open.is_set()
        assert await places.enter((1,)) == 0

    run(play())


def test_no_slot_is_lost_or_doubled_in_any_turmoil() -> None:
    """Places close and open and requests are cancelled at random; in the end every slot is free."""

    async def play(seed: int) -> None:
        draws, places, running = Random(seed), Places(3, slots=2), [0, 0, 0]

        async def one() -> None:
            while True:
                try:
                    place = await places.enter((draws.randrange(3),) * 16)
                    break
                except NoneOpen:
                    await places.some_open.wait()
            running[place] += 1
            assert running[place] <= 2
            try:
                await asyncio.sleep(draws.random() / 1000)
            finally:
                running[place] -= 1
                places.leave(place)

        tasks = [asyncio.ensure_future(one()) for _ in range(100)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(draws.random() / 1000)
            deed, place = draws.randrange(4), draws.randrange(3)
            if deed == 0:
                places.close_place(place)
            elif deed == 1:
                draws.choice(tasks).cancel()
            else:
                places.open_place(place)
        assert all(task.cancelled() or task.exception() is None for task in tasks)
        assert places._running == [0, 0, 0] == places._balancer.load

    for seed in range(10):
        run(play(seed))
