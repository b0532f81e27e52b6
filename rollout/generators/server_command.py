"""How a vLLM server is started for a job: the mend in every refusal, and what the tests start."""

import json
import shlex

from rollout.generators.adapter import PACKED_MODULES, SERVED_MODULES, engine_rank

ENVIRONMENT = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
"""What a server needs to take adapters while it runs."""

ON_A_CPU = ("--no-enable-chunked-prefill", "--dtype", "float32")
"""What a server on a CPU needs besides. vLLM rewinds the random numbers of a prompt that it reads in parts,
which a CPU's generator cannot: the engine dies ("CPU Generator does not use offset"). A CPU that has no
bfloat16 of its own takes minutes to start with it."""


def arguments(
    model: str,
    served_model: str | None = None,
    max_model_len: int | None = None,
    lora_rank: int | None = None,
) -> list[str]:
    """The server's command-line arguments, but for its address.

    `lora_rank` is that of the adapters to come, None for none.
    """
    found = ["--model", model]
    if served_model is not None:
        found += ["--served-model-name", served_model]
    if max_model_len is not None:
        found += ["--max-model-len", str(max_model_len)]
    # Log-probabilities of the distribution that is sampled from, not of the logits before the temperature.
    found += ["--logprobs-mode", "processed_logprobs", "--enable-prompt-tokens-details"]
    # Without it a weak model fills its budget with white space between two tokens of JSON.
    grammar = {"backend": "xgrammar", "disable_any_whitespace": True}
    found += ["--structured-outputs-config", json.dumps(grammar)]
    if lora_rank is not None:
        found += ["--enable-lora", "--max-lora-rank", str(engine_rank(lora_rank))]
        found += ["--max-loras", "1", "--max-cpu-loras", "2"]  # the new one comes before the old one goes
        # Without a list, scoring with LoRA kills the engine on a CPU: its head is wrapped for one row.
        found += ["--lora-target-modules", *SERVED_MODULES, *PACKED_MODULES]
    return found


def command(port: int, found: list[str]) -> str:
    """One line for a shell: start a server on `port` with these arguments; and what a CPU needs besides."""
    variables = [f"{name}={value}" for name, value in ENVIRONMENT.items() if "--enable-lora" in found]
    start = ["python", "-m", "vllm.entrypoints.openai.api_server", "--port", str(port), *found]
    return f"{' '.join([*variables, shlex.join(start)])} (on a CPU add {' '.join(ON_A_CPU)})"
