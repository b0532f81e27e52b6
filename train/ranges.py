"""Values of a `trainer:` section that have the right type and still end a run, late and with a traceback."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.errors import InputError
from tasks.strict import closest

LOSSES = ("bnpo", "cispo", "dapo", "dr_grpo", "grpo", "luspo", "sapo", "vespo")
"""What TRL's GRPOTrainer computes as `loss_type`."""
TRACKERS = (
    "azure_ml clearml codecarbon comet_ml dagshub dvclive flyte kubeflow mlflow neptune swanlab tensorboard "
    "trackio wandb"
).split()
"""What transformers reports to, beside `none` and `all`."""
MAX_SEED = 2**32 - 1  # numpy's

_ABOVE = {"temperature": 0, "learning_rate": 0, "repetition_penalty": 0, "logging_steps": 0, "save_steps": 0}
_AT_LEAST = {
    "top_k": 0, "max_completion_length": 1, "beta": 0, "warmup_steps": 0, "weight_decay": 0,
    "max_grad_norm": 0, "adam_epsilon": 0,
}  # fmt: skip
_CHOICES = {
    "loss_type": LOSSES,
    "importance_sampling_level": ("token", "sequence"),
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
}
_SHARES = ("top_p", "min_p")


def check_trainer(trainer: Mapping[str, Any]) -> None:
    """Raise `InputError` for the first value that is out of its range; all have their types already."""
    for key, value in trainer.items():
        where = f"trainer.{key} is {value!r}"
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}; give a finite number")
        if isinstance(value, int | float):
            _check_number(key, value, where)
    for key, known in _CHOICES.items():
        _check_choice(key, trainer.get(key), known)
    trackers = trainer.get("report_to")
    if isinstance(trackers, list | tuple):
        for name in trackers:
            _check_choice("report_to", name, TRACKERS)
    else:
        _check_choice("report_to", trackers, [*TRACKERS, "none", "all"])
    check_seed("trainer.data_seed", trainer.get("data_seed"))


def check_seed(key: str, seed: int | None) -> None:
    """Raise `InputError` for a seed that a random number generator does not take."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise InputError(f"{key} is {seed}; it is 0 to {MAX_SEED}")


def _check_number(key: str, value: float, where: str) -> None:
    if key in _ABOVE and value <= _ABOVE[key]:
        raise InputError(f"{where}; it is above {_ABOVE[key]}")
    if key in _AT_LEAST and value < _AT_LEAST[key]:
        raise InputError(f"{where}; it is at least {_AT_LEAST[key]}")
    if key in _SHARES and not 0 <= value <= 1:
        raise InputError(f"{where}; it is 0 to 1")
    if key == "top_p" and value == 0:
        raise InputError(f"{where}; it is above 0, and 1 samples from all tokens")
    if key in ("logging_steps", "save_steps") and value > 1 and value != int(value):
        raise InputError(f"{where}; it is a whole number, or a share of all steps below 1")


def _check_choice(key: str, value: object, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise InputError(f"trainer.{key} is {value!r}; {closest(value, known)}; known: {', '.join(known)}")
