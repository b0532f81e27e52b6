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
    stage, micro = section.get("stage", 0), given.get("train_micro_batch_size_per_gpu", "auto")
    if stage not in (0, 1, 2, 3):
        raise InputError(f"trainer.deepspeed: zero_optimization.stage is {stage!r}; it is 0, 1, 2 or 3")
    return Zero(int(stage), micro if isinstance(micro, int) else None)
