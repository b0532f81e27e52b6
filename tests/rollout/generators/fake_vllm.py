"""A server in a thread that speaks vLLM's protocol and misbehaves on demand; its model is a hash."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

MODEL, STOP = "tiny", 7
Reply = tuple[int, Any]
"""Status and body (JSON, or text as it is)."""


def tokens(body: dict[str, Any]) -> list[int]:
    """What the model says: a function of prompt, seed, adapter and budget alone."""
    draws = Random(f"{body['prompt']}/{body.get('seed')}/{body['model']}")
    found = [draws.randrange(8, 1000) for _ in range(body["max_tokens"])]
    if draws.random() < 0.5:
        found = found[: draws.randrange(len(found))] + [STOP]
    return found


def answer(body: dict[str, Any], ids: list[int] | None = None) -> dict[str, Any]:
    """The body of a completion, as vLLM writes it."""
    if body.get("allowed_token_ids"):
        ids, logprobs = [body["allowed_token_ids"][0]], [0.0]
    else:
        ids = tokens(body) if ids is None else ids
        logprobs = [-i / 1000 for i in ids]
    choice: dict[str, Any] = {
        "index": 0, "text": "", "token_ids": ids, "prompt_token_ids": body["prompt"],
        "finish_reason": "stop" if ids[-1:] == [STOP] else "length", "logprobs": {"token_logprobs": logprobs},
    }  # fmt: skip
    if "prompt_logprobs" in body:
        choice["prompt_logprobs"] = [None, *({str(i): {"logprob": -i / 1000}} for i in body["prompt"][1:])]
    return {"choices": [choice], "usage": {"prompt_tokens_details": {"cached_tokens": 2}}}


@dataclass
class FakeVllm:
    """One server; `behave` sees each completion request first and may answer it (or raise to drop it)."""

    model: str = MODEL
    max_model_len: int = 640
    lora_rank: int | None = 8
    runtime_lora: bool = True
    raw_logprobs: bool = False
    key: str = ""
    delay: float = 0.0
    behave: Callable[[dict[str, Any]], Reply | None] = lambda body: None
    port: int = 0
    adapters: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    running: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, again on the same port after `kill`."""
        fake, self.connections = self, set[Any]()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                fake.connections.add(self.connection)

            def do_GET(self) -> None:
                self.reply(*fake.get(self.path))

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                try:
                    body = json.loads(self.rfile.read(length))
                    allowed = not fake.key or self.headers.get("Authorization") == f"Bearer {fake.key}"
                    self.reply(*(fake.post(self.path, body) if allowed else (401, {"error": "Unauthorized"})))
                except (ConnectionError, ValueError, OSError):
                    self.close_connection = True

            def reply(self, status: int, body: Any) -> None:
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_: Any) -> None:
                pass

        self.http = Server(("127.0.0.1", self.port), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def kill(self) -> None:
        """Cut every connection, unanswered, and forget all adapters."""
        import contextlib
        import socket

        self.http.shutdown()
        self.http.server_close()
        self.adapters = {}
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def get(self, path: str) -> Reply:
        if path == "/health":
            return 200, ""
        self.probes.append(time.monotonic())
        base = {"id": self.model, "root": self.model, "parent": None, "max_model_len": self.max_model_len}
        loras = [{"id": name, "root": root, "parent": self.model} for name, root in self.adapters.items()]
        return 200, {"data": [base, *loras]}

    def post(self, path: str, body: dict[str, Any]) -> Reply:
        if path == "/v1/completions":
            return self.complete(body)
        if not self.runtime_lora:
            return 404, {"detail": "Not Found"}
        if path == "/v1/unload_lora_adapter":
            known = self.adapters.pop(body["lora_name"], None)
            return (200, "Success") if known else (404, error("cannot be found"))
        if self.lora_rank is None:
            return 500, error("failed: 'LoRA is not enabled. Use --enable-lora to enable LoRA.'")
        if body["lora_name"] in self.adapters:
            return 400, error("has already been loaded")
        folder = Path(body["lora_path"])
        if not (folder / "adapter_config.json").is_file():
            return 404, error("Loading lora failed: No adapter found for <path>")
        rank = json.loads((folder / "adapter_config.json").read_text())["r"]
        if rank > self.lora_rank:
            return 500, error(f"LoRA rank {rank} is greater than max_lora_rank {self.lora_rank}.")
        if not (folder / "adapter_model.safetensors").is_file():
            return 500, error("<path> doesn't contain tensors")
        self.adapters[body["lora_name"]] = str(folder)
        return 200, "Success"

    def complete(self, body: dict[str, Any]) -> Reply:
        if body["model"] not in {self.model, *self.adapters}:
            return 404, error(f"The model `{body['model']}` does not exist.")
        if body.get("allowed_token_ids"):
            found = answer(body)
            if self.raw_logprobs:
                found["choices"][0]["logprobs"]["token_logprobs"] = [-3.0]
            return 200, found
        with self.lock:
            self.asked.append(body)
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            time.sleep(self.delay)
            return self.behave(body) or (200, answer(body))
        finally:
            with self.lock:
                self.running -= 1


def error(message: str) -> dict[str, Any]:
    """An error as vLLM words it."""
    return {"error": {"message": message, "code": 0}}
