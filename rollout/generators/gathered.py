"""Calls of many coroutines as one batch, for generators that make one batch at a time.

Episodes ask for one move each. Whoever has something to ask at the same moment shares a batch: it goes out
once a few rounds of the event loop have brought nobody else.
"""

import asyncio
from collections.abc import Sequence

from rollout.generators.protocol import (
    Generation,
    Generator,
    Item,
    Logprobs,
    OnDone,
    OnScored,
    Request,
    Sampling,
)

ROUNDS = 10
"""Of the event loop: between an answer and the next call lie a few awaits."""


class Gathered:
    """A generator that gathers calls of the same sampling."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self._waiting: list[tuple[Sequence[Request], Sampling, asyncio.Future[list[Generation]]]] = []
        self._flush: asyncio.Task[None] | None = None

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`."""
        future: asyncio.Future[list[Generation]] = asyncio.get_running_loop().create_future()
        self._waiting.append((requests, sampling, future))
        if self._flush is None:
            self._flush = asyncio.ensure_future(self._send())
        generations = await future
        if on_done is not None:
            for index, generation in enumerate(generations):
                on_done(index, generation)
        return generations

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """See `Generator`."""
        return await self.generator.score(items, on_done)

    def close(self) -> None:
        """See `Generator`."""
        self.generator.close()

    async def _send(self) -> None:
        size = 0
        while size != len(self._waiting):
            size = len(self._waiting)
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
        waiting, self._waiting, self._flush = self._waiting, [], None
        for sampling in dict.fromkeys(sampling for _, sampling, _ in waiting):
            calls = [(requests, future) for requests, other, future in waiting if other == sampling]
            try:
                found = iter(
                    await self.generator.generate(
                        [one for requests, _ in calls for one in requests], sampling
                    )
                )
            except Exception as error:
                for _, future in calls:
                    if not future.done():
                        future.set_exception(error)
                continue
            for requests, future in calls:
                mine = [next(found) for _ in requests]
                if not future.done():  # its episode may have been cancelled
                    future.set_result(mine)
