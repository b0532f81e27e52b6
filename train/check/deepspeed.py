"""What of a DeepSpeed configuration bears on memory and on the batch."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import InputError


@dataclass(frozen=True, slots=True)
class Zero:
    """The ZeRO stage (0: no DeepSpeed) and the micro-batch that the configuration insists on, if it does."""

    stage: int = 0
    micro_batch: int | None = None


def zero_of(trainer: Mapping[str, Any]) -> Zero:
    """Read `trainer.deepspeed`, a mapping or a JSON file. Raises `InputError` when it is neither."""
    given = trainer.get("deepspeed")
    if given is None:
        return Zero()
    if isinstance(given, str):
        try:
            given = json.loads(Path(given).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"trainer.deepspeed: {trainer['deepspeed']} is not a JSON file: {error}"
            ) from error
    section = given.get("zero_optimization", {}) if isinstance(given, Mapping) else None
    if not isinstance(section, Mapping):
        raise InputError("trainer.deepspeed: expected a mapping; `zero_optimization` holds the stage")
    if not given:
        raise InputError("trainer.deepspeed is empty, which starts no DeepSpeed; name a stage, or drop it")
    stage = section.get("stage", 0)
    if isinstance(stage, bool) or stage not in (0, 1, 2, 3):
        raise InputError(f"trainer.deepspeed: zero_optimization.stage is {stage!r}; it is 0, 1, 2 or 3")
    for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"):
        _check_count(key, given.get(key, "auto"))
    for key in ("offload_optimizer", "offload_param"):
        _check_offload(key, section.get(key, {}))
    steps, ours = given.get("gradient_accumulation_steps", "auto"), trainer.get("gradient_accumulation_steps")
    if steps not in ("auto", ours or 1):
        raise InputError(
            f"trainer.deepspeed sets gradient_accumulation_steps to {steps}, and "
            f'trainer.gradient_accumulation_steps is {ours or 1}; write "auto" there'
        )
    micro = given.get("train_micro_batch_size_per_gpu", "auto")
    return Zero(stage, None if micro == "auto" else micro)


def _check_count(key: str, value: object) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value != "auto" and not whole:
        raise InputError(f'trainer.deepspeed: {key} is {value!r}; it is a whole number, or "auto"')


def _check_offload(key: str, section: object) -> None:
    device = section.get("device", "none") if isinstance(section, Mapping) else section
    if device not in ("none", "cpu", "nvme"):
        raise InputError(f"trainer.deepspeed: {key}.device is {device!r}; it is none, cpu or nvme")
