"""Generation with vLLM's OpenAI-compatible servers, one or many, on any machines.

Token ids travel both ways, so no text is ever encoded anew. Requests run on a background loop, so that a
generator serves any number of `asyncio.run` calls and servers rejoin while nothing is generated.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rollout.gather import gather
from rollout.generators import answers
from rollout.generators.adapter import check_servable
from rollout.generators.background import Background
from rollout.generators.config import Needs, VllmServer
from rollout.generators.endpoint import Adapter, Endpoint, Wanted
from rollout.generators.pool import Pool
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
from tasks.json_text import loads

T = TypeVar("T")

# A server's own defaults come from the model's generation config, which truncates for many models.
UNTRUNCATED = {
    "n": 1,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


class ServerGenerator:
    """Completes and scores with the servers of `config`; `stop_ids` end a turn.

    Raises InputError naming the server and the mend when one is unreachable, serves another model, or lacks
    what `needs` and `adapter` ask for.
    """

    def __init__(
        self,
        config: VllmServer,
        model: str,
        stop_ids: frozenset[int],
        needs: Needs | None = None,
        adapter: Path | None = None,
    ) -> None:
        needs = needs or Needs()
        ranks = [needs.lora_rank or 0, check_servable(adapter) if adapter else 0]
        wanted = Wanted(model, config.served_model, needs.max_model_len, max(ranks) or None)
        key = os.environ.get(config.api_key_variable)
        logging.getLogger("httpx").setLevel(logging.WARNING)  # else one line for each request
        self.stop_ids = stop_ids
        self._pool = Pool(
            [Endpoint(url, key, wanted, config.concurrency, config.timeout_s) for url in config.urls],
            config.concurrency,
            config.patience_s,
        )
        self._background: Background | None = Background("vllm servers")
        try:
            self._background.run(self._pool.begin(_named(adapter, 0) if adapter else None))
        except BaseException:
            self.close()
            raise

    @property
    def version(self) -> int:
        """Of the adapter that is generated with, see `FollowsPolicy`."""
        return self._pool.adapter.version if self._pool.adapter else 0

    @property
    def max_model_len(self) -> int:
        """The longest prompt and completion together that every server takes."""
        return self._pool.max_model_len

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`."""
        for request in requests:
            self._check_length(len(request.prompt_ids), sampling.max_new_tokens)
        bodies = [self._body(request, sampling) for request in requests]
        caller = asyncio.get_running_loop()

        async def one(index: int, prompt_ids: Ids) -> Generation:
            def read(data: Any) -> answers.Answer:
                return answers.completion(data, prompt_ids, sampling.max_new_tokens, self.stop_ids)

            found, seconds, version = await self._pool.ask(prompt_ids, bodies[index], read)
            generation = Generation(
                found.token_ids, found.logprobs, found.stop, seconds, found.cached_tokens, version
            )
            if on_done is not None:
                await Background.tell(caller, on_done, index, generation)
            return generation

        return await self._wait(gather(one(i, request.prompt_ids) for i, request in enumerate(requests)))

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """See `Generator`. Each continuation pays for its context: vLLM scores without its prefix cache."""
        for item in items:
            self._check_length(len(item.context) + max(map(len, item.continuations)), 1)
        caller = asyncio.get_running_loop()

        async def continuation(prompt: Ids, count: int) -> Logprobs:
            body = {
                "prompt": list(prompt),
                "max_tokens": 1,
                "prompt_logprobs": 0,
                "return_token_ids": True,
                "temperature": 0.0,
                **UNTRUNCATED,
            }
            return (await self._pool.ask(prompt, body, lambda data: answers.scores(data, prompt, count)))[0]

        async def one(index: int, item: Item) -> list[Logprobs]:
            found = await gather(continuation(item.context + ids, len(ids)) for ids in item.continuations)
            if on_done is not None:
                await Background.tell(caller, on_done, index, found)
            return found

        return await self._wait(gather(one(i, item) for i, item in enumerate(items)))

    async def load_adapter(self, folder: Path, version: int) -> None:
        """See `FollowsPolicy`. Every server reads `folder` itself; one that is away loads it as it rejoins.

        Raises InputError for an adapter that a server cannot serve exactly, or does not find.
        """
        check_servable(folder)
        await self._wait(self._pool.follow(_named(folder, version)))

    def close(self) -> None:
        """See `Generator`. The servers run on, without the adapter."""
        background, self._background = self._background, None
        if background is not None:
            background.run(self._pool.end())
            background.stop()

    async def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._background is None:
            work.close()
            raise GenerationError("the generator is closed")
        return await self._background.wait(work)

    def _body(self, request: Request, sampling: Sampling) -> dict[str, Any]:
        body: dict[str, Any] = {
            "prompt": list(request.prompt_ids),
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "seed": request.seed,
            "logprobs": 0,  # of the sampled token alone
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "stop_token_ids": sorted(self.stop_ids),
            **UNTRUNCATED,
        }
        if request.json_schema is not None:
            try:
                schema = json.loads(request.json_schema)
            except ValueError as error:
                raise InputError(f"a request's json_schema is no JSON: {error}") from None
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema},
            }
        return body

    def _check_length(self, prompt: int, new: int) -> None:
        if prompt + new > self.max_model_len:
            raise InputError(
                f"a prompt of {prompt} tokens and {new} new ones are more than the servers' "
                f"{self.max_model_len}; start them with a larger --max-model-len, or lower max_prompt_length"
            )


def _named(folder: Path, version: int) -> Adapter:
    """The adapter under a name that holds its content.

    So a server never takes new weights for those it knows, and ranks that share a server load them once.
    """
    config = loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(repr([config.get(key) for key in ("r", "lora_alpha", "use_rslora")]).encode())
    for file in sorted(folder.glob("adapter_model*")):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return Adapter(f"policy-v{version}-{digest.hexdigest()[:12]}", folder.resolve(), version)
