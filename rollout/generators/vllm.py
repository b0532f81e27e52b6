"""Generation with vLLM engines of this process's own.

Engines run in processes of their own, fed from one background loop, so that a generator serves any number of
`asyncio.run` calls. Log-probabilities are those of the distribution that was sampled (`processed_logprobs`).
A new adapter is served under a new name, id and path each time: the engine keys its weights by id and its
prefix cache by name and path, and reads the files of a known one never again.
"""

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollout.gather import gather
from rollout.generators.adapter import PACKED_MODULES, SERVED_MODULES, check_servable, engine_rank
from rollout.generators.background import Background
from rollout.generators.config import Needs, Vllm
from rollout.generators.places import Places
from rollout.generators.protocol import (
    Generation,
    GenerationError,
    Ids,
    Item,
    Logprobs,
    OnDone,
    OnScored,
    Request,
    Sampling,
)
from tasks.errors import InputError

if TYPE_CHECKING:
    from vllm import RequestOutput, SamplingParams
    from vllm.lora.request import LoRARequest
    from vllm.v1.engine.async_llm import AsyncLLM

# A launcher's variables; an engine that sees them takes itself for a rank of the training.
_LAUNCHER = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
)


class VllmGenerator:
    """Completes and scores with `config.engines` copies of `model`; `stop_ids` end a turn.

    Raises InputError when an engine cannot be started this way, or cannot serve the adapter.
    """

    def __init__(
        self,
        config: Vllm,
        model: str,
        stop_ids: frozenset[int],
        needs: Needs | None = None,
        adapter: Path | None = None,
    ) -> None:
        needs = needs or Needs()
        ranks = [needs.lora_rank or 0, check_servable(adapter) if adapter else 0]
        self.lora_rank = engine_rank(max(ranks)) if any(ranks) else None
        self.stop_ids = stop_ids
        self.version = 0
        self._lora: LoRARequest | None = None
        self._seen: set[str] = set()
        self._names = itertools.count(1)
        self._background = Background("vllm")
        self._engines: list[AsyncLLM] = []
        arguments = _arguments(config, model, needs, self.lora_rank)
        try:
            for place in range(config.engines):
                with _environment(_devices(config, place)):
                    self._engines.append(self._background.run(_start(model, arguments)))
            if adapter is not None:
                self._background.run(self._load(adapter, 0))
        except BaseException:
            self.close()
            raise
        self.max_model_len = int(self._engines[0].model_config.max_model_len)
        self._places = Places(len(self._engines), config.concurrency)

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`."""
        for request in requests:
            self._check_length(len(request.prompt_ids), sampling.max_new_tokens)
        caller = asyncio.get_running_loop()

        async def one(index: int, request: Request) -> Generation:
            output, seconds = await self._ask(request.prompt_ids, self._sampling(request, sampling))
            generation = self._read(output, seconds)
            if on_done is not None:
                await Background.tell(caller, on_done, index, generation)
            return generation

        return await self._background.wait(gather(one(i, request) for i, request in enumerate(requests)))

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """See `Generator`. Each continuation pays for its context: vLLM scores past its prefix cache."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        for item in items:
            self._check_length(len(item.context) + max(map(len, item.continuations)), 1)
        caller = asyncio.get_running_loop()
        parameters = SamplingParams(
            max_tokens=1, prompt_logprobs=0, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
        )

        async def continuation(context: Ids, ids: Ids) -> Logprobs:
            output, _ = await self._ask(context + ids, parameters)
            entries = (output.prompt_logprobs or [])[len(context) :]
            return tuple(float(entry[i].logprob) for entry, i in zip(entries, ids, strict=True) if entry)

        async def one(index: int, item: Item) -> list[Logprobs]:
            found = await gather(continuation(item.context, ids) for ids in item.continuations)
            if on_done is not None:
                await Background.tell(caller, on_done, index, found)
            return found

        return await self._background.wait(gather(one(i, item) for i, item in enumerate(items)))

    async def load_adapter(self, folder: Path, version: int) -> None:
        """See `FollowsPolicy`. Raises InputError for an adapter that the engine cannot serve exactly."""
        await self._background.wait(self._load(folder, version))

    def close(self) -> None:
        """See `Generator`."""
        engines, self._engines = self._engines, []
        for engine in engines:
            self._background.run(_shut_down(engine))
        self._background.stop()

    async def _load(self, folder: Path, version: int) -> None:
        from vllm.lora.request import LoRARequest

        if self.lora_rank is None:
            raise InputError(
                "this engine was started without LoRA; a job that loads adapters says so in `Needs`"
            )
        check_servable(folder, self.lora_rank)
        if str(folder) in self._seen:
            raise GenerationError(f"{folder} was loaded before: vLLM would keep the weights that it knows")
        self._seen.add(str(folder))
        number = next(self._names)
        new, old = LoRARequest(f"policy-{number}", number, str(folder)), self._lora
        for engine in self._engines:
            await engine.add_lora(new)
            if old is not None:
                await engine.remove_lora(old.lora_int_id)
        self._lora, self.version = new, version

    async def _ask(self, prompt_ids: Ids, parameters: "SamplingParams") -> "tuple[RequestOutput, float]":
        """The finished output of one request, from the engine whose turn it is, and the seconds it took."""
        from vllm.inputs.engine import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        place = await self._places.enter(prompt_ids)
        began = time.monotonic()
        try:
            stream = self._engines[place].generate(
                tokens_input(list(prompt_ids)), parameters, str(next(self._names)), lora_request=self._lora
            )
            async for output in stream:
                if output.finished:
                    return output, time.monotonic() - began
        except (EngineDeadError, EngineGenerateError) as error:
            raise GenerationError(f"vLLM engine {place} died (its own log says why): {error}") from error
        finally:
            self._places.leave(place)
        raise GenerationError(f"vLLM engine {place} ended a request without an answer")

    def _sampling(self, request: Request, sampling: Sampling) -> "SamplingParams":
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        schema = request.json_schema
        return SamplingParams(
            max_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            seed=request.seed,
            logprobs=0,  # of the sampled token alone
            stop_token_ids=sorted(self.stop_ids),
            structured_outputs=None if schema is None else StructuredOutputsParams(json=schema),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _read(self, output: "RequestOutput", seconds: float) -> Generation:
        (choice,) = output.outputs
        ids = tuple(choice.token_ids)
        if choice.finish_reason not in ("stop", "length") or not ids or choice.logprobs is None:
            raise GenerationError(f"vLLM ended a request with {choice.finish_reason!r} and {len(ids)} tokens")
        logprobs = tuple(float(entry[i].logprob) for entry, i in zip(choice.logprobs, ids, strict=True))
        cached = output.num_cached_tokens or 0
        return Generation(ids, logprobs, choice.finish_reason, seconds, cached, self.version)

    def _check_length(self, prompt: int, new: int) -> None:
        if prompt + new > self.max_model_len:
            raise InputError(
                f"a prompt of {prompt} tokens and {new} new ones are more than the engine's "
                f"{self.max_model_len}; raise generator.max_model_len or lower max_prompt_length"
            )


def _arguments(config: Vllm, model: str, needs: Needs, rank: int | None) -> dict[str, Any]:
    """Keywords of vLLM's AsyncEngineArgs."""
    import torch

    arguments: dict[str, Any] = {
        "model": model,
        "revision": needs.revision,
        "tokenizer_revision": needs.revision,
        "dtype": config.dtype,
        "tensor_parallel_size": config.tensor_parallel_size,
        "gpu_memory_utilization": config.gpu_memory_utilization,
        "max_model_len": config.max_model_len or needs.max_model_len,
        "max_num_seqs": config.concurrency,
        "enforce_eager": config.enforce_eager,
        "logprobs_mode": "processed_logprobs",
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        "enable_log_requests": False,
        "disable_log_stats": True,
    }
    if not torch.cuda.is_available():
        # vLLM rewinds the random numbers of a prompt that it reads in parts, which a CPU's generator cannot:
        # the engine dies ("CPU Generator does not use offset").
        arguments["enable_chunked_prefill"] = False
    if rank is not None:
        arguments |= {
            "enable_lora": True,
            "max_lora_rank": rank,
            "max_loras": 1,
            "max_cpu_loras": 2,  # the new one is loaded before the old one goes
            # Without a list, scoring with LoRA kills the engine on a CPU: its head is wrapped for one row.
            "lora_target_modules": [*SERVED_MODULES, *PACKED_MODULES],
        }
    return arguments


async def _start(model: str, arguments: dict[str, Any]) -> "AsyncLLM":
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    try:
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
    except ValueError as error:  # what vLLM finds wrong with the model or the arguments
        cause = str(error).strip().splitlines() or ["no reason given"]
        raise InputError(f"vLLM cannot be started with {model}: {cause[-1][:300]}") from error
    except RuntimeError as error:
        raise GenerationError(f"vLLM did not start with {model}; its own log says why: {error}") from error


async def _shut_down(engine: "AsyncLLM") -> None:
    engine.shutdown()


def _devices(config: Vllm, place: int) -> str | None:
    """The value of CUDA_VISIBLE_DEVICES for an engine of this rank, or None where there is no GPU."""
    import torch

    if not torch.cuda.is_available():
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if visible == [""]:
        visible = [str(i) for i in range(torch.cuda.device_count())]
    first = (int(os.environ.get("LOCAL_RANK", "0")) * config.engines + place) * config.tensor_parallel_size
    mine = visible[first : first + config.tensor_parallel_size]
    if len(mine) < config.tensor_parallel_size:
        raise InputError(
            f"generator: {config.engines} engines of {config.tensor_parallel_size} GPUs on each rank are "
            f"more than the {len(visible)} GPUs that are visible"
        )
    return ",".join(mine)


@contextlib.contextmanager
def _environment(devices: str | None) -> Iterator[None]:
    """The environment that an engine is started in: its devices, quiet, and no rank of anything."""
    before = dict(os.environ)
    for name in _LAUNCHER:
        os.environ.pop(name, None)
    if devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    # A fork would take over threads, and a CUDA that asking for GPUs has begun to start.
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
