"""The folder of `model: mini`: made once, however many ask for it; meanwhile a line says so."""

import contextlib
import fcntl
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

FIRST_WORD, NEXT_WORDS = 3.0, 30.0
"""Seconds before the first line and between the next ones: a start that is in the cache says nothing."""


def mini_start(seed: int) -> str:
    """The folder of the warm-started mini model of this seed, see `train.mini_model`.

    Processes of one machine that ask at the same time wait for the first of them.
    """
    from train import mini_model

    with told("model: mini is being made and warm-started, once; it is kept for later runs"), alone(seed):
        return str(mini_model.build(mini_model.WarmStart(seed=seed)))


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
def alone(seed: int) -> Iterator[None]:
    """Keep out other processes that make the same start; file systems without locks let all in."""
    path = Path(tempfile.gettempdir()) / f"askrl-{os.getuid()}-mini-{seed}.lock"
    with path.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
