"""Where a rank spends its time, and a word when it spends too much in one place.

Distributed training hangs rather than fails: one rank waits for another that waits for an engine. The
watchdog tells which rank stands in which phase, with the stacks of all threads, while the evidence is there.
"""

import contextlib
import faulthandler
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

UPDATE = "update"
"""The phase between the others: forward, backward, optimizer."""


class Watchdog:
    """Times the phases of one rank; after `limit` seconds (None: never) without `beat` it dumps all stacks.

    A stall is told once; the next beat arms it again. Use `stop` at the end.
    """

    def __init__(self, limit: float | None, rank: int, folder: Path) -> None:
        self.limit, self.rank = limit, rank
        self.file = folder / f"stacks-rank{rank}.txt"
        self._seconds: dict[str, float] = {}
        self._phase = UPDATE
        self._since = self._moved = time.monotonic()
        self._told = self._waiting = False
        self._stopped = threading.Event()
        if limit is not None:
            threading.Thread(target=self._watch, args=(limit,), name="watchdog", daemon=True).start()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """The phase inside; the outer one goes on afterwards."""
        before = self._enter(name)
        try:
            yield
        finally:
            self._enter(before)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Another rank works inside; what keeps it is for that rank to tell."""
        self._waiting = True
        try:
            yield
        finally:
            self.beat()
            self._waiting = False

    def beat(self) -> None:
        """Something moved."""
        self._moved, self._told = time.monotonic(), False

    def read(self) -> dict[str, float]:
        """Seconds in each phase since the last reading."""
        self._enter(self._phase)
        seconds, self._seconds = self._seconds, {}
        return seconds

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    def _enter(self, name: str) -> str:
        now, before = time.monotonic(), self._phase
        self._seconds[before] = self._seconds.get(before, 0.0) + now - self._since
        self._phase, self._since = name, now
        self.beat()
        return before

    def _watch(self, limit: float) -> None:
        while not self._stopped.wait(min(limit / 4, 30.0)):
            still = time.monotonic() - self._moved
            if still > limit and not self._told and not self._waiting:
                self._told = True
                self._tell(still)

    def _tell(self, still: float) -> None:
        logger.error(
            "rank %d: nothing has moved for %.0f s in phase %r; the stacks of all threads are in %s",
            self.rank, still, self._phase, self.file,
        )  # fmt: skip
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%F %T')} rank {self.rank}, phase {self._phase}, {still:.0f} s\n")
            file.flush()
            faulthandler.dump_traceback(file, all_threads=True)
