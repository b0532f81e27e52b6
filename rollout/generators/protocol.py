"""What every generator takes and gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

StopReason = Literal["stop", "length"]
"""`stop`: the model ended its turn (the stop token is the last id); `length`: the token budget ran out."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample; `temperature: 0` takes the likeliest token."""

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
    batching, which can tip a draw).
    """

    prompt_ids: tuple[int, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Generation:
    """One completion: ids, and the log-probability of each under the distribution that it was drawn from.

    Log-probabilities include the temperature; at temperature 0 they are those of the model itself.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: StopReason


OnDone = Callable[[int, Generation], None]
"""Called with (index of the request, its completion) as soon as it is finished, in any order."""


class Generator(Protocol):
    """Completes prompts."""

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """One completion for each request, in the order of the requests."""
        ...
