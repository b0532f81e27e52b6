"""Slots of several servers: a request waits at the one that suits it, and never while another is idle."""

import asyncio
from collections import deque
from dataclasses import dataclass

from rollout.generators.balance import Balancer
from rollout.generators.protocol import Ids


class NoneOpen(Exception):
    """Every place is closed."""


@dataclass(eq=False, slots=True)
class _Waiter:
    prompt_ids: Ids
    place: int
    turn: "asyncio.Future[int]"


class Places:
    """`slots` requests at once in each of `count` places, all open at first.

    A request goes where its prompt is known or the load is least (see `Balancer`). Those that wait leave a
    place that closes, and move to one that has fallen idle.
    """

    def __init__(self, count: int, slots: int) -> None:
        self.slots = slots
        self.open = set(range(count))
        self.some_open = asyncio.Event()
        self.some_open.set()
        self._running = [0] * count
        self._waiting: list[deque[_Waiter]] = [deque() for _ in range(count)]
        self._balancer = Balancer(count, slack=max(1, slots // 4))

    async def enter(self, prompt_ids: Ids) -> int:
        """Wait for a slot and take it; the place. Raises NoneOpen. `leave` gives it back."""
        if not self.open:
            raise NoneOpen
        free = [place for place in self.open if self._running[place] < self.slots]
        place = self._balancer.pick(prompt_ids, free or self.open)
        if free:
            self._running[place] += 1
            return place
        waiter = _Waiter(prompt_ids, place, asyncio.get_running_loop().create_future())
        self._waiting[place].append(waiter)
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.cancelled():
                self._balancer.done(waiter.place)
            elif waiter.turn.exception() is None:  # its turn had come in the same moment
                self.leave(waiter.turn.result())
            raise

    def leave(self, place: int) -> None:
        """Give the slot back, to the next in line."""
        self._balancer.done(place)
        self._running[place] -= 1
        self._fill(place)

    def close_place(self, place: int) -> None:
        """Send nobody here any more; those who wait here wait elsewhere, or learn that there is nowhere."""
        self.open.discard(place)
        self._balancer.forget(place)
        waiting, self._waiting[place] = self._waiting[place], deque()
        if not self.open:
            self.some_open.clear()
        for waiter in waiting:
            if waiter.turn.done():
                continue
            self._balancer.done(place)
            if not self.open:
                waiter.turn.set_exception(NoneOpen())
                continue
            waiter.place = self._balancer.pick(waiter.prompt_ids, self.open)
            self._waiting[waiter.place].append(waiter)

    def open_place(self, place: int) -> None:
        """Send requests here again, those that wait elsewhere first."""
        self.open.add(place)
        self.some_open.set()
        self._fill(place)

    def _fill(self, place: int) -> None:
        while place in self.open and self._running[place] < self.slots:
            waiter = self._next(place)
            if waiter is None:
                return
            if waiter.place != place:
                self._balancer.done(waiter.place)
                waiter.place = self._balancer.pick(waiter.prompt_ids, (place,))
            self._running[place] += 1
            waiter.turn.set_result(place)

    def _next(self, place: int) -> _Waiter | None:
        """The first who waits here, else the last of the longest queue."""
        queue = self._waiting[place]
        while queue:
            waiter = queue.popleft()
            if not waiter.turn.done():  # else cancelled
                return waiter
        while queue := max(self._waiting, key=len):
            waiter = queue.pop()
            if not waiter.turn.done():
                return waiter
        return None
