"""One vLLM server: asking it, and holding it against what the job needs."""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from rollout.generators import answers, server_command
from rollout.generators.answers import Fault, Refused
from rollout.generators.protocol import GenerationError
from tasks.errors import InputError

T = TypeVar("T")

CONNECT_S = 10.0
LOAD_S = 120.0
"""For anything but a completion: the list of models, loading an adapter."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter and the name that servers know it by."""

    name: str
    folder: Path
    version: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a job asks of each server: `model` under one of the `names`, and room for its requests."""

    model: str
    served_model: str | None
    max_model_len: int | None
    lora_rank: int | None

    @property
    def names(self) -> set[str]:
        """What the server may call the model, or say that it is made of."""
        if self.served_model is not None:
            return {self.served_model}
        return {self.model, str(Path(self.model).resolve())} if Path(self.model).is_dir() else {self.model}


@dataclass(frozen=True, slots=True)
class Card:
    """What a server says of itself: the model's name there, its length, the adapters that it has."""

    model: str
    max_model_len: int
    adapters: frozenset[str]


class Endpoint:
    """A server at `url`; every message names it, none holds `key`."""

    def __init__(self, url: str, key: str | None, wanted: Wanted, concurrency: int, timeout_s: float) -> None:
        parts = urlsplit(url)
        self.name = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/")
        self.wanted = wanted
        self.timeout_s = timeout_s
        self.model = ""
        self.failures = 0
        """Consecutive ones; a finished completion ends the row."""
        self.fault = ""
        """The last one."""
        self.term = 0
        """Times that it was closed: a failure counts once, however many requests it met."""
        self._port = parts.port or 8000
        self._key = (key or "").strip()
        if not self._key.isprintable() or not self._key.isascii():
            raise InputError(
                "the API key in the environment variable that generator.api_key_variable names holds a line "
                "break or a character that no key has"
            )
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/").removesuffix("/v1"),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            # vLLM drops idle connections after 5 s; one dropped in the moment of its use looks like a crash.
            limits=httpx.Limits(
                max_connections=concurrency + 8,
                max_keepalive_connections=concurrency + 8,
                keepalive_expiry=2.0,
            ),
        )

    async def complete(self, body: Mapping[str, Any], read: Callable[[Any], T], adapter: Adapter | None) -> T:
        """Send a completion request and `read` its answer.

        Raises Fault (Busy) for trouble that passes, GenerationError for a refusal or an impossible answer.
        """
        model = adapter.name if adapter else self.model
        try:
            text = await self._ask("POST", "/v1/completions", {**body, "model": model}, self.timeout_s)
            return read(answers.parse(text))
        except ValueError as error:
            raise GenerationError(f"server {self.name} gave {self._hide(str(error))}") from None
        except Refused as refusal:
            if refusal.status == 404 and adapter is not None:  # it was started anew while nobody asked
                raise Fault(f"no longer has adapter {adapter.name}") from None
            raise GenerationError(f"server {self.name} refused a request: {refusal}") from None

    async def check(self, probe_lora: bool) -> Card:
        """Hold the server against what the job wants. Raises InputError with the mend, or Fault.

        `probe_lora` offers it an adapter that cannot be loaded, which shows before the first real one whether
        that could be; the server logs it as an error.
        """
        try:
            card = self._card(answers.parse(await self._ask("GET", "/v1/models")))
            if probe_lora and self.wanted.lora_rank is not None:
                await self._check_lora(self.wanted.lora_rank)
            await self._check_logprobs()
        except Refused as refusal:
            if refusal.status in (401, 403):
                raise InputError(
                    f"server {self.name} does not take the API key ({refusal}); put the right one into the "
                    "environment variable that generator.api_key_variable names"
                ) from None
            raise self._unfit(f"is no vLLM server of this kind ({refusal})") from None
        except InputError:
            raise
        except ValueError as error:
            raise self._unfit(f"is no vLLM server of this kind: it gave {self._hide(str(error))}") from None
        return card

    async def load(self, adapter: Adapter) -> None:
        """Have the server load an adapter, if it has not. Raises InputError with the mend, or Fault."""
        status, text = await self._load(adapter.name, adapter.folder)
        if status == 200 or "already been loaded" in text:  # the name holds the content: it is this one
            return
        self._explain(status, text)
        if "No adapter found" in text:
            raise InputError(
                f"server {self.name} does not find {adapter.folder}: it has to run on this machine, or the "
                "folder has to lie on a file system that both share (under the same path)"
            )
        raise InputError(f"server {self.name} cannot load {adapter.folder}: {answers.message(text)}")

    async def unload(self, adapter: Adapter) -> None:
        """Have the server forget an adapter; it may have done so already. Raises Fault."""
        with contextlib.suppress(Refused):
            await self._ask("POST", "/v1/unload_lora_adapter", {"lora_name": adapter.name})

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _card(self, data: Any) -> Card:
        try:
            entries = [entry for entry in data["data"] if entry.get("parent") is None]
            adapters = frozenset(entry["id"] for entry in data["data"] if entry.get("parent") is not None)
            ours = [e for e in entries if {e["id"], e.get("root")} & self.wanted.names]
            if not ours:
                raise self._unfit(f"serves {self._hide(', '.join(repr(e['id']) for e in entries))}")
            self.model, length = str(ours[0]["id"]), int(ours[0]["max_model_len"])
        except (KeyError, TypeError, AttributeError):
            raise ValueError("a list of models without ids and max_model_len") from None
        if length < (self.wanted.max_model_len or 0):
            raise self._unfit(
                f"takes {length} tokens and the job needs {self.wanted.max_model_len} "
                "(prompt and completion together)"
            )
        return Card(self.model, length, adapters)

    async def _check_logprobs(self) -> None:
        """With one token allowed, its log-probability is 0; that of the raw logits is not."""
        body = {
            "model": self.model, "prompt": [0], "max_tokens": 1, "allowed_token_ids": [0], "logprobs": 0,
            "return_token_ids": True,
        }  # fmt: skip
        data = answers.parse(await self._ask("POST", "/v1/completions", body))
        if answers.completion(data, (0,), 1, frozenset()).logprobs[0] < -1e-3:
            raise self._unfit("gives raw log-probabilities, which are not those that it samples from")

    async def _check_lora(self, rank: int) -> None:
        """Offer an adapter without weights: LoRA and the rank are looked at before the weights are missed."""
        config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["q_proj"]}
        with tempfile.TemporaryDirectory(prefix="askrl-probe-") as folder:
            Path(folder).chmod(0o755)  # the server may be another user
            Path(folder, "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
            self._explain(*await self._load("askrl-probe", Path(folder)))

    async def _load(self, name: str, folder: Path) -> tuple[int, str]:
        body = {"lora_name": name, "lora_path": str(folder)}
        response = await self._send("POST", "/v1/load_lora_adapter", body, LOAD_S)
        # A refusal is a 500 as well; only an engine that is gone is trouble that passes.
        if response.status_code == 429 or (response.status_code >= 500 and not await self._is_well()):
            answers.check_status(response.status_code, response.headers, self._hide(response.text))
        return response.status_code, self._hide(response.text)

    def _explain(self, status: int, text: str) -> None:
        """Raise InputError where an answer to a load says that adapters like this will never be served."""
        found = answers.message(text)
        if status == 404 and "No adapter found" not in text:
            raise self._unfit("takes no adapters while it runs (VLLM_ALLOW_RUNTIME_LORA_UPDATING is not set)")
        if "LoRA is not enabled" in text:
            raise self._unfit("was started without LoRA")
        if "max_lora_rank" in text:
            raise self._unfit(f"serves adapters of lower rank only: {found}")
        if status in (401, 403):
            raise InputError(f"server {self.name} does not take the API key for adapters: {found}")

    async def _is_well(self) -> bool:
        try:
            return (await self._send("GET", "/health", None, CONNECT_S)).status_code == 200
        except Fault:
            return False

    async def _ask(self, method: str, path: str, body: Any = None, seconds: float = LOAD_S) -> str:
        response = await self._send(method, path, body, seconds)
        answers.check_status(response.status_code, response.headers, self._hide(response.text))
        return response.text

    async def _send(self, method: str, path: str, body: Any, seconds: float) -> httpx.Response:
        try:
            async with asyncio.timeout(seconds):
                return await self._client.request(method, path, json=body)
        except TimeoutError:
            raise Fault(f"no answer within {seconds:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise Fault(f"connection lost: {type(error).__name__} {self._hide(str(error))}".strip()) from None

    def _hide(self, text: str) -> str:
        for spelling in {self._key, json.dumps(self._key)[1:-1], repr(self._key)[1:-1]} - {""}:
            text = text.replace(spelling, "***")
        return text

    def _unfit(self, what: str) -> InputError:
        wanted = self.wanted
        found = server_command.arguments(
            wanted.model, wanted.served_model, wanted.max_model_len, wanted.lora_rank
        )
        return InputError(
            f"server {self.name} {what}; start it with: {server_command.command(self._port, found)}"
        )
