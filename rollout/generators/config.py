"""The `generator:` section of a recipe: one dataclass for each `kind`. Imports no engine."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from tasks.errors import InputError

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
"""Of the weights; `auto` takes what the checkpoint holds."""


@dataclass(frozen=True, slots=True)
class Transformers:
    """The model in this process, see `rollout.generators.transformers`."""

    kind: Literal["transformers"] = "transformers"
    batch_size: int = 16
    """Requests that are generated side by side."""
    dtype: Dtype = "auto"

    def __post_init__(self) -> None:
        _at_least_one("batch_size", self.batch_size)


@dataclass(frozen=True, slots=True)
class Vllm:
    """vLLM engines of this process's own, see `rollout.generators.vllm`."""

    kind: Literal["vllm"]
    engines: int = 1
    """Copies of the model, each on devices of its own; requests are spread over them."""
    tensor_parallel_size: int = 1
    """GPUs that share one copy."""
    gpu_memory_utilization: float = 0.9
    """Share of a GPU's memory (on a CPU: of the machine's) for weights and KV cache; beside a trainer on the
    same GPU take 0.3 or less."""
    max_model_len: int | None = None
    """Longest prompt and completion together; by default what the job needs, else what the model allows."""
    concurrency: int = 256
    """Requests under way at once in one engine."""
    enforce_eager: bool = False
    """No CUDA graphs: a faster start, slower decoding."""
    dtype: Dtype = "auto"

    def __post_init__(self) -> None:
        for name in ("engines", "tensor_parallel_size", "concurrency"):
            _at_least_one(name, getattr(self, name))
        if self.max_model_len is not None:
            _at_least_one("max_model_len", self.max_model_len)
        if not 0.0 < self.gpu_memory_utilization <= 1.0:
            raise InputError(
                f"gpu_memory_utilization is {self.gpu_memory_utilization}; it is a share, above 0"
            )


@dataclass(frozen=True, slots=True)
class VllmServer:
    """vLLM's OpenAI-compatible servers, one or many, see `rollout.generators.server`."""

    kind: Literal["vllm_server"]
    urls: tuple[str, ...]
    """Such as `http://node7:8000`, one for each server."""
    served_model: str | None = None
    """The name under which the servers have the model, where it is not the recipe's `model`."""
    api_key_variable: str = "VLLM_API_KEY"
    """Environment variable that holds the key, if the servers ask for one."""
    concurrency: int = 128
    """Requests under way at once at one server."""
    timeout_s: float = 600.0
    """For one completion."""
    patience_s: float = 900.0
    """How long a request is tried again, from its first failure on, before the job gives up."""

    def __post_init__(self) -> None:
        _at_least_one("concurrency", self.concurrency)
        if not self.urls:
            raise InputError("urls is empty; give the address of a server, such as http://node7:8000")
        for url in self.urls:
            try:
                parts = urlsplit(url)
                _ = parts.port
            except ValueError as error:
                raise InputError(f"urls: {url!r} is no address ({error}); see http://node7:8000") from None
            if parts.username or parts.password:
                raise InputError("urls holds a password; put a key into the variable api_key_variable names")
            if parts.scheme not in ("http", "https") or not parts.netloc:
                raise InputError(f"urls: {url!r} is no address; write it like http://node7:8000")
        if len(set(self.urls)) < len(self.urls):
            raise InputError("urls names a server twice")
        for name in ("timeout_s", "patience_s"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name):g}; it is a number of seconds above 0")


@dataclass(frozen=True, slots=True)
class Scripted:
    """Completions that a function writes, for dry runs and tests, see `rollout.generators.scripted`."""

    kind: Literal["scripted"]
    script: str
    """`package.module.function`: from a `Request` to the ids of its completion."""


Config = Transformers | Vllm | VllmServer | Scripted


@dataclass(frozen=True, slots=True)
class Needs:
    """What a job asks of an engine beyond its configuration."""

    max_model_len: int | None = None
    """Longest prompt and completion together; None: unknown."""
    lora_rank: int | None = None
    """Of the adapters that the job will load; None: it loads none."""
    revision: str | None = None
    """Of a model on the hub; servers have the one that they were started with."""


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise InputError(f"{name} is {value}; it must be at least 1")
