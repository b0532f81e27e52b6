"""A generator whose completions are written by a function: for tests, baselines and dry runs."""

import importlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from rollout.generators.protocol import Generation, Item, Logprobs, OnDone, OnScored, Request, Sampling
from tasks.errors import InputError

Script = Callable[[Request], Sequence[int]]
"""From a request to the ids of its completion, the stop token included if the script wants one."""


def find(dotted: str) -> Script:
    """The function that `package.module.function` names. Raises InputError."""
    module, _, name = dotted.rpartition(".")
    try:
        found: Script = getattr(importlib.import_module(module), name)
    except Exception as error:  # a module of the user's own may raise anything
        raise InputError(f"generator.script: {dotted!r} is no package.module.function ({error})") from None
    if not callable(found):
        raise InputError(f"generator.script: {dotted!r} is no function")
    return found


class Scripted:
    """Completes each request with what `script` says, cut at the token budget.

    A script has no distribution: every log-probability is NaN, which an importance ratio takes for 1.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.version = 0

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`."""
        generations = []
        for index, request in enumerate(requests):
            ids = tuple(self.script(request))
            kept = ids[: sampling.max_new_tokens]
            generation = Generation(
                kept, (math.nan,) * len(kept), "stop" if kept == ids else "length", version=self.version
            )
            generations.append(generation)
            if on_done is not None:
                on_done(index, generation)
        return generations

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """See `Generator`."""
        scores = [[(math.nan,) * len(ids) for ids in item.continuations] for item in items]
        if on_done is not None:
            for index, found in enumerate(scores):
                on_done(index, found)
        return scores

    async def load_adapter(self, folder: Path, version: int) -> None:
        """See `FollowsPolicy`: the script stays what it is, its completions carry the version."""
        self.version = version

    def close(self) -> None:
        """See `Generator`."""
