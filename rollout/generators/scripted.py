"""A generator whose completions are written by a function: for tests, baselines and dry runs."""

from collections.abc import Callable, Sequence

from rollout.generators.protocol import Generation, OnDone, Request, Sampling

Script = Callable[[Request], Sequence[int]]
"""From a request to the ids of its completion, the stop token included if the script wants one."""


class Scripted:
    """Completes each request with what `script` says, cut at the token budget; every log-probability is 0."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`."""
        generations = []
        for index, request in enumerate(requests):
            ids = tuple(self.script(request))
            kept = ids[: sampling.max_new_tokens]
            generation = Generation(kept, (0.0,) * len(kept), "stop" if kept == ids else "length")
            generations.append(generation)
            if on_done is not None:
                on_done(index, generation)
        return generations
