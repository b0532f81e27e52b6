"""The folder of `model: mini` or `mini_hops`: made once, however many ask for it; a line says so."""

import contextlib
import fcntl
import importlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

FIRST_WORD, NEXT_WORDS = 3.0, 30.0
"""Seconds before the first line and between the next ones: a start that is in the cache says nothing."""


MINIS = {"mini": "train.mini_model", "mini_hops": "train.mini_hops_model"}
"""Names of ours that `model:` takes."""


def mini_start(name: str, seed: int) -> str:
    """The folder of the warm-started model of this name and seed.

    Processes of one machine that ask at the same time wait for the first of them.
    """
    made = importlib.import_module(MINIS[name])
    what = f"model: {name} is being made and warm-started, once; it is kept for later runs"
    with told(what), alone(f"{name}-{seed}"):
        return str(made.build(made.WarmStart(seed=seed)))


@contextlib.contextmanager
def told(what: str, first: float = FIRST_WORD, then: float = NEXT_WORDS) -> Iterator[None]:
    """Say on stderr, now and then while the block runs, what is under way and for how long; rank 0 speaks."""
    over, began = threading.Event(), time.monotonic()

    def speak() -> None:
        pause = first
        while not over.wait(pause):
            print(f"{what} ({time.monotonic() - began:.0f} s so far)", file=sys.stderr, flush=True)
            pause = then

    speaker = threading.Thread(target=speak, daemon=True)
    if os.environ.get("RANK", "0") == "0":
        speaker.start()
    try:
        yield
    finally:
        over.set()


@contextlib.contextmanager
def alone(what: str) -> Iterator[None]:
    """Keep out other processes that make the same start; file systems without locks let all in."""
    path = Path(tempfile.gettempdir()) / f"askrl-{os.getuid()}-{what}.lock"
    with path.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
