"""What every generator takes and gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

StopReason = Literal["stop", "length"]
"""`stop`: the model ended its turn (the stop token is the last id); `length`: the token budget ran out."""

Ids = tuple[int, ...]


class GenerationError(RuntimeError):
    """An engine or server failed, or answered what cannot be; the message names it."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample; `temperature: 0` takes the likeliest token.

    There is no truncation (top_p, top_k, …): it would bias every ratio built on the log-probabilities.
    """

    max_new_tokens: int = 512
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {self.max_new_tokens}; it must be at least 1")
        if not 0.0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}; it must be 0 or above")


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and the seed of its completion.

    Equal requests give equal completions, whatever runs beside them (up to the floating-point noise of
    batching, which can tip a draw). Requests with the same prompt, such as the n samples of a group, share
    its prefill.
    """

    prompt_ids: Ids
    seed: int = 0
    json_schema: str | None = None
    """Keeps the completion to JSON of this schema, where the engine can; log-probabilities are then those of
    the allowed tokens alone."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One completion: ids, and the log-probability of each under the distribution that it was drawn from.

    Log-probabilities include the temperature; at temperature 0 they are those of the model itself.
    """

    token_ids: Ids
    logprobs: tuple[float, ...]
    stop: StopReason
    seconds: float = field(default=0.0, compare=False)
    """From the moment that the engine took the request."""
    cached_tokens: int = field(default=0, compare=False)
    """Tokens of the prompt that the engine did not have to read again."""
    version: int = 0
    """Of the policy, see `FollowsPolicy`."""


@dataclass(frozen=True, slots=True)
class Item:
    """A context (at least one token) and continuations of it (at least one token each), to be scored."""

    context: Ids
    continuations: tuple[Ids, ...]


Logprobs = tuple[float, ...]
"""Log-probability of each token of a continuation, at temperature 1."""

OnDone = Callable[[int, Generation], None]
"""Called with (index of the request, its completion) as soon as it is finished, in any order."""

OnScored = Callable[[int, list[Logprobs]], None]
"""Called with (index of the item, the log-probabilities of its continuations), in any order."""


class Generator(Protocol):
    """Completes prompts, and scores given continuations."""

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """One completion for each request, in the order of the requests.

        Raises GenerationError, and what `on_done` raises: the first failure ends all requests.
        """
        ...

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """Log-probabilities of each continuation of each item, in order. Raises GenerationError."""
        ...

    def close(self) -> None:
        """Let go of processes and connections; nothing can be generated afterwards."""
        ...


@runtime_checkable
class FollowsPolicy(Protocol):
    """A generator whose weights are not the trainer's own: it has to be told of each update."""

    async def load_adapter(self, folder: Path, version: int) -> None:
        """Generate with the LoRA adapter in `folder` from now on, and let go of the one before.

        `folder` and `version` must be new each time: engines key adapters by name and path, and never read
        the files of a known one again. Call it while nothing is being generated.
        """
        ...
