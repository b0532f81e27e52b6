"""Which checkpoints of a run directory are whole, so that a run resumes from them exactly."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.whole_file import weights_fault, zip_fault

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin", "model.safetensors", "pytorch_model.bin")
SHARD_LISTS = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
SHARDED = (
    "global_step*",
    "pytorch_model_fsdp_*",
)  # folders with the parts of all ranks
OPTIMIZERS = ("optimizer.pt", "optimizer.bin")  # plain; FSDP with a full state


def checkpoints(path: Path) -> list[Path]:
    """The folders `checkpoint-N` of a run directory, the newest first."""
    found = [entry for entry in path.glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", entry.name)]
    return sorted(found, key=step_of, reverse=True)


def last_checkpoint(path: Path) -> Path | None:
    """The newest complete `checkpoint-N` of a run directory, or None."""
    return next((entry for entry in checkpoints(path) if is_complete(entry)), None)


def is_complete(checkpoint: Path) -> bool:
    """Whether a run that resumes here goes on as if it had never stopped."""
    return not fault(checkpoint)


def fault(checkpoint: Path) -> str:
    """The first thing that a checkpoint lacks, as "file: what is wrong"; "" when it is whole.

    Needed are the trainer's state (the last file that is written), the weights, the optimizer, the schedule
    and the random numbers: without one of them transformers resumes all the same, from a fresh one.
    """
    return next(_faults(checkpoint), "")


def weight_files(folder: Path) -> list[str]:
    """Names of the files of weights that a checkpoint or a model needs; none where it has no weights."""
    if single := [name for name in WEIGHTS if (folder / name).is_file()]:
        return single
    for name in SHARD_LISTS:
        index = read_json(folder / name)
        shards = index.get("weight_map") if isinstance(index, dict) else None
        if isinstance(shards, dict) and shards:
            return sorted({str(shard) for shard in shards.values()})
    return []


def step_of(checkpoint: Path) -> int:
    """The N of `checkpoint-N`."""
    return int(checkpoint.name.rpartition("-")[2])


def read_json(path: Path) -> Any:
    """The content of a JSON file; None when there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _faults(checkpoint: Path) -> Iterator[str]:
    state = read_json(checkpoint / "trainer_state.json")
    if not isinstance(state, dict) or state.get("global_step") != step_of(checkpoint):
        yield "trainer_state.json: missing or broken"
    weights = weight_files(checkpoint)
    if not weights and not any(folder.is_dir() for name in SHARDED for folder in checkpoint.glob(name)):
        yield "no weights"
    for name in weights:
        if told := weights_fault(checkpoint / name):
            yield f"{name}: {told}"
    yield from _state_faults(checkpoint)


def _state_faults(checkpoint: Path) -> Iterator[str]:
    """What is wrong with optimizer, schedule and random numbers."""
    deepspeed = [folder for folder in checkpoint.glob("global_step*") if folder.is_dir()]
    optimizers = [checkpoint / name for name in OPTIMIZERS if (checkpoint / name).is_file()]
    if deepspeed:
        optimizers = sorted(file for folder in deepspeed for file in folder.glob("*.pt"))
        if not any("optim_states" in file.name for file in optimizers):
            yield f"{deepspeed[0].name}: no optimizer"
    elif not optimizers and not any(folder.is_dir() for folder in checkpoint.glob("optimizer_*")):
        yield "optimizer.pt: missing"
    schedule = checkpoint / "scheduler.pt"
    if not schedule.is_file() and not deepspeed:  # DeepSpeed's own schedule is among its states
        yield "scheduler.pt: missing"
    random = sorted(checkpoint.glob("rng_state*.pth"))
    if not random:
        yield "rng_state.pth: missing"
    yield from _rank_faults([file.name for file in random])
    for file in (*optimizers, *([schedule] if schedule.is_file() else []), *random):
        if told := zip_fault(file):
            yield f"{file.relative_to(checkpoint)}: {told}"


def _rank_faults(names: list[str]) -> Iterator[str]:
    """Files of random numbers that must be there because those of other ranks are (`rng_state_N.pth`).

    A file with a number is one of at least two.
    """
    ranks = {int(found[1]) for name in names if (found := re.fullmatch(r"rng_state_(\d+)\.pth", name))}
    for rank in range(max(2, max(ranks) + 1) if ranks else 0):
        if rank not in ranks:
            yield f"rng_state_{rank}.pth: missing"
