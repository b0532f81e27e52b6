"""What a vLLM server's answer means: trouble that passes, a refusal, or a completion that is checked here.

Nothing of an answer is believed: a completion that is short, is another prompt's or does not fit its own stop
reason would go into training without a trace.
"""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from rollout.generators.protocol import GenerationError, Ids, Logprobs, StopReason


class Fault(Exception):
    """The server is lost, broken or out of time; the request may be tried again, here or elsewhere."""


class Busy(Fault):
    """The server is well and takes no more for now (429)."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds
        """How long the server asked to be left alone."""


class Refused(GenerationError):
    """The server will not do this, however often it is asked (4xx)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion as the server gave it, checked."""

    token_ids: Ids
    logprobs: tuple[float, ...]
    stop: StopReason
    cached_tokens: int


def check_status(status: int, headers: Mapping[str, str], text: str) -> None:
    """Raise Busy, Fault or Refused for a status other than 2xx."""
    if 200 <= status < 300:
        return
    cause = f"HTTP {status}: {message(text)}"
    if status == 429:
        raise Busy(cause, _seconds(headers.get("retry-after", "")))
    if status >= 500:
        raise Fault(cause)
    raise Refused(cause, status)


def message(text: str) -> str:
    """The server's own words in the body of an error, in one line of bounded length."""
    try:
        found = json.loads(text)
        found = found.get("error", found)
        found = found.get("message") or found.get("detail") or text
    except (ValueError, AttributeError, RecursionError):
        found = text
    return " ".join(str(found).split())[:300] or "no reason given"


def parse(text: str) -> Any:
    """The JSON of a body; ValueError for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"an answer that is no JSON: {' '.join(text.split())[:80]!r}") from None


def completion(data: object, prompt_ids: Ids, budget: int, stop_ids: Set[int]) -> Answer:
    """The completion of a prompt, `budget` tokens at most. Raises ValueError, or Fault where it broke off."""
    choice = _choice(data, prompt_ids)
    ids = _ids(choice.get("token_ids"), "token_ids")
    reason = choice.get("finish_reason")
    if reason == "abort":
        raise Fault("broke off a completion")
    block = choice.get("logprobs")
    logprobs = block.get("token_logprobs") if isinstance(block, dict) else None
    if not isinstance(logprobs, list) or not all(map(_is_logprob, logprobs)):
        raise ValueError("an answer without the log-probabilities of its tokens")
    if len(logprobs) != len(ids):
        raise ValueError(f"{len(ids)} tokens with {len(logprobs)} log-probabilities")
    if not ids:
        raise ValueError("a completion without tokens")
    if any(i in stop_ids for i in ids[:-1]):
        raise ValueError("a completion that goes on after its stop token")
    if reason == "stop":
        if ids[-1] not in stop_ids:
            raise ValueError(f"a completion that stops at token {ids[-1]}, which ends no turn of this model")
    elif reason != "length":
        raise ValueError(f"a completion with finish_reason {reason!r}")
    elif ids[-1] in stop_ids:
        raise ValueError("a completion with finish_reason 'length' that ends in a stop token")
    if len(ids) > budget or (reason == "length" and len(ids) < budget):
        raise ValueError(f"{len(ids)} tokens with finish_reason {reason!r} where {budget} were asked for")
    return Answer(ids, tuple(map(float, logprobs)), reason, _cached(data))


def scores(data: object, prompt_ids: Ids, count: int) -> Logprobs:
    """Log-probabilities of the prompt's last `count` tokens. Raises ValueError."""
    entries = _choice(data, prompt_ids).get("prompt_logprobs")
    if not isinstance(entries, list) or len(entries) != len(prompt_ids):
        raise ValueError("an answer without a log-probability for each token of the prompt")
    found = []
    for token, entry in zip(prompt_ids[-count:], entries[-count:], strict=True):
        one = entry.get(str(token)) if isinstance(entry, dict) else None
        value = one.get("logprob") if isinstance(one, dict) else None
        if value is None or not _is_logprob(value):
            raise ValueError(f"no log-probability for token {token} of the prompt")
        found.append(float(value))
    return tuple(found)


def _choice(data: object, prompt_ids: Ids) -> dict[str, Any]:
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError("an answer without exactly one choice")
    choice: dict[str, Any] = choices[0]
    if _ids(choice.get("prompt_token_ids"), "prompt_token_ids") != prompt_ids:
        raise ValueError("the answer to another prompt")
    return choice


def _ids(found: object, name: str) -> Ids:
    if not isinstance(found, list) or not all(type(i) is int and i >= 0 for i in found):
        raise ValueError(f"an answer without {name} (vLLM gives them from 0.10.2 on)")
    return tuple(found)


def _is_logprob(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e6 < value < 1e-3


def _cached(data: object) -> int:
    """Given by servers with --enable-prompt-tokens-details."""
    try:
        return int(data["usage"]["prompt_tokens_details"]["cached_tokens"] or 0)  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return 0


def _seconds(text: str) -> float:
    """A Retry-After in seconds; a date, or anything else, asks for nothing."""
    return min(float(text), 60.0) if text.isascii() and text.isdigit() else 0.0
