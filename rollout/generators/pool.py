"""Several vLLM servers as one: who is asked, what is tried again, who is closed and comes back.

A server that is lost, broken or out of time is closed: its requests go to the others, and it rejoins once a
probe finds it fit, with the current adapter. Its pauses between probes grow with each failure and are short
again only after a finished completion. A request carries its seed, so it gives the same tokens wherever and
however often it is asked.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rollout.gather import gather
from rollout.generators.answers import Busy, Fault
from rollout.generators.endpoint import Adapter, Endpoint
from rollout.generators.places import NoneOpen, Places
from rollout.generators.protocol import GenerationError, Ids
from tasks.errors import InputError

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
FAREWELL_S = 5.0


class Pool:
    """Asks `endpoints`, each with `slots` requests at once; all methods run on one loop."""

    def __init__(self, endpoints: Sequence[Endpoint], slots: int, patience_s: float) -> None:
        self.endpoints = endpoints
        self.patience_s = patience_s
        self.adapter: Adapter | None = None
        self.max_model_len = 0
        """The least of the servers'; known after `begin`."""
        self._places = Places(len(endpoints), slots)
        self._random = random.Random()  # of its own: jitter must not move anybody's seeds
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, adapter: Adapter | None) -> None:
        """Hold each server against what the job wants. Raises InputError with the mend."""

        async def one(endpoint: Endpoint) -> int:
            try:
                card = await endpoint.check(probe_lora=adapter is None)
                if adapter is not None:
                    await endpoint.load(adapter)
            except Fault as fault:
                raise InputError(
                    f"server {endpoint.name} cannot be reached ({fault}); start it, or mend generator.urls"
                ) from None
            return card.max_model_len

        self.max_model_len = min(await gather(map(one, self.endpoints)))
        self.adapter = adapter

    async def ask(
        self, prompt_ids: Ids, body: dict[str, Any], read: Callable[[Any], T]
    ) -> tuple[T, float, int]:
        """An answer as `read` takes it, the seconds it took and the version of its adapter.

        Raises GenerationError for a refusal, an answer that cannot be, and when the patience ends.
        """
        since: float | None = None
        tries = 0
        while True:
            try:
                place = await self._places.enter(prompt_ids)
            except NoneOpen:
                since = since if since is not None else time.monotonic()
                await self._until_open(since)
                continue
            endpoint, adapter = self.endpoints[place], self.adapter
            term, began, pause = endpoint.term, time.monotonic(), 0.0
            try:
                found = await endpoint.complete(body, read, adapter)
                endpoint.failures = 0
                return found, time.monotonic() - began, adapter.version if adapter else 0
            except Busy as busy:
                endpoint.fault, tries = str(busy), tries + 1
                pause = max(busy.seconds, self._pause(tries))
            except Fault as fault:
                self._fail(place, term, fault)
            finally:
                self._places.leave(place)
            now = time.monotonic()
            since = since if since is not None else now
            if now + pause - since >= self.patience_s:
                raise self._give_up()
            await asyncio.sleep(pause)

    async def follow(self, new: Adapter) -> None:
        """Load an adapter on every server, then unload the one before.

        A server that is away loads it as it rejoins. Raises InputError when a server cannot serve it.
        """
        old, self.adapter = self.adapter, new  # at once: a server that rejoins now has to load this one
        began = time.monotonic()
        try:
            await gather(self._try(place, Endpoint.load, new) for place in sorted(self._places.open))
            await self._until_open(began)
        except BaseException:
            self.adapter = old
            raise
        if old is not None and old.name != new.name:
            await gather(self._try(place, Endpoint.unload, old) for place in sorted(self._places.open))

    async def end(self) -> None:
        """Take the adapter from the servers that are there, and close all connections."""
        for task in self._tasks:
            task.cancel()

        async def one(place: int, endpoint: Endpoint) -> None:
            if self.adapter is not None and place in self._places.open:
                with contextlib.suppress(Fault, TimeoutError):
                    async with asyncio.timeout(FAREWELL_S):
                        await endpoint.unload(self.adapter)
            await endpoint.close()

        await gather(one(*pair) for pair in enumerate(self.endpoints))

    async def _try(self, place: int, what: Callable[[Endpoint, Adapter], Any], adapter: Adapter) -> None:
        endpoint = self.endpoints[place]
        term = endpoint.term
        try:
            await what(endpoint, adapter)
        except Fault as fault:
            self._fail(place, term, fault)

    def _fail(self, place: int, term: int, fault: Fault) -> None:
        """Close a server, once for all the requests that met the same failure."""
        endpoint = self.endpoints[place]
        endpoint.fault = str(fault)
        if term != endpoint.term or place not in self._places.open:
            return
        endpoint.term += 1
        endpoint.failures += 1
        logger.warning("server %s is closed: %s", endpoint.name, fault)
        self._places.close_place(place)
        task = asyncio.get_running_loop().create_task(self._revive(place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _revive(self, place: int) -> None:
        """Probe a closed server, ever more rarely, until it is fit; then open it."""
        endpoint = self.endpoints[place]
        while True:
            await asyncio.sleep(self._pause(endpoint.failures))
            try:
                card = await endpoint.check(probe_lora=self.adapter is None)
                if card.max_model_len < self.max_model_len:
                    raise InputError(f"takes {card.max_model_len} tokens now, {self.max_model_len} before")
                has = set(card.adapters)
                while self.adapter is not None and self.adapter.name not in has:
                    adapter = self.adapter
                    await endpoint.load(adapter)
                    has.add(adapter.name)
            except Exception as error:  # whatever it is: the server is not back
                endpoint.fault = str(error)
                endpoint.failures += 1
                continue
            logger.warning("server %s is back", endpoint.name)
            self._places.open_place(place)
            return

    async def _until_open(self, since: float) -> None:
        """Wait for a server, for as long as the patience that began at `since` lasts."""
        try:
            async with asyncio.timeout(since + self.patience_s - time.monotonic()):
                await self._places.some_open.wait()
        except TimeoutError:
            raise self._give_up() from None

    def _give_up(self) -> GenerationError:
        causes = "; ".join(f"{one.name}: {one.fault}" for one in self.endpoints if one.fault)
        return GenerationError(
            f"no answer within generator.patience_s ({self.patience_s:g} s) of the first failure; {causes}"
        )

    def _pause(self, failures: int) -> float:
        """Seconds before the next try: doubled with each failure, and jittered."""
        longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures - 1, 16))
        return longest * self._random.uniform(0.5, 1.0)
