"""An event loop in a thread of its own, for engines that outlive the loop of their caller."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines on one loop, whichever loop or thread asks."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self.thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for the coroutine in a thread that runs no loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    async def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for it on another loop; if the waiting is cancelled, so is the coroutine."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self.loop))

    @staticmethod
    async def tell(caller: asyncio.AbstractEventLoop, call: Callable[..., object], *what: object) -> None:
        """Call `call(*what)` on the loop of a caller that waits; what it raises is raised here."""

        async def called() -> None:
            call(*what)

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called(), caller))

    def stop(self) -> None:
        """End the loop and its thread."""
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()
