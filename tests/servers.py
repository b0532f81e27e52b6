"""Real vLLM servers as processes, for tests: start, kill, start again on the same port."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from rollout.generators.server_command import ENVIRONMENT, ON_A_CPU, arguments

SMALL = (*ON_A_CPU, "--enforce-eager", "--gpu-memory-utilization", "0.05")
START_S = 240.0


class Server:
    """One server of `model` on a free port of this machine; its output is in `log`.

    `more` are further arguments of vLLM's; without `updating` it takes no adapters while it runs.
    """

    def __init__(
        self,
        model: Path,
        log: Path,
        max_model_len: int = 640,
        lora_rank: int | None = None,
        more: Sequence[str] = (),
        updating: bool = True,
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        found = arguments(str(model), max_model_len=max_model_len, lora_rank=lora_rank)
        self.command = [
            *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *found,
            *SMALL,
            *more,
        ]
        self.environment = {**os.environ, **(ENVIRONMENT if updating else {})}
        self.environment |= {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        """Start the process; `wait` for it to answer."""
        with self.log.open("ab") as log:
            # A session of its own, so that a kill reaches the engine process too.
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        return self

    def wait(self) -> "Server":
        """Wait until it is ready. Raises RuntimeError with the end of its log when it is not."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process is not None and self.process.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer,
            ):
                if answer.status == 200:
                    return self
            time.sleep(0.2)
        self.kill()
        raise RuntimeError(f"the server did not start:\n{self.log.read_text(errors='replace')[-3000:]}")

    def kill(self) -> None:
        """SIGKILL to the server and its engine."""
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
