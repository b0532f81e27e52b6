"""Rows of our own as `askrl export` writes them, and the recipes that train on them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.strict import build
from train import imitate, prefer

CITIES = ("Oslo", "Lima", "Accra", "Hanoi", "Quito", "Tunis", "Sofia", "Minsk", "Dakar", "Amman")
TRAINER: dict[str, Any] = {
    "learning_rate": 1e-3, "lr_scheduler_type": "constant", "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 2, "num_train_epochs": 1, "logging_steps": 1, "save_steps": 1,
    "gradient_checkpointing": False, "report_to": "none", "disable_tqdm": True, "use_cpu": True,
    "bf16": False,
}  # fmt: skip
LORA: dict[str, Any] = {"r": 4, "alpha": 8, "dropout": 0.05, "targets": ["q_proj", "v_proj"]}


def _row(number: int, kind: str, **said: str) -> dict[str, Any]:
    city = CITIES[number % len(CITIES)]
    turns = {name: [{"role": "assistant", "content": text}] for name, text in said.items()}
    return {
        "prompt": [{"role": "user", "content": f"Who built the harbour of {city}? In hand: {'x ' * number}"}],
        **turns, "weight": 1.0, "chat_template_kwargs": {"enable_thinking": False},
        "id": f"{number:032x}", "suite": "own", "task": f"t{number % 3}", "kind": kind,
        "state": f"s{number}", "policy": "p", "seed": 0, "turn": number % 4,
    }  # fmt: skip


def imitation_row(number: int, **changes: Any) -> dict[str, Any]:
    """An ask, or for every third row a stop."""
    city = CITIES[number % len(CITIES)]
    if number % 3 == 2:
        return _row(number, "stop", completion="STOP") | changes
    return _row(number, "ask", completion=f"ASK: Which firm built {city}?") | changes


def pair_row(number: int, kind: str = "ask_ask", reason: str = "outcome", **changes: Any) -> dict[str, Any]:
    """A pair; where STOP is a side of it, the one that the reason says."""
    city = CITIES[number % len(CITIES)]
    ask, other = f"ASK: Which firm built {city}?", f"ASK: What is {city}?"
    sides = {"ask_ask": (ask, other), "stop_done": ("STOP", ask), "not_done": (ask, "STOP")}
    chosen, rejected = sides["ask_ask" if kind == "ask_ask" else reason]
    return _row(number, kind, chosen=chosen, rejected=rejected) | {"reason": reason} | changes


def export(folder: Path, **files: Sequence[dict[str, Any]]) -> Path:
    """A folder with the files that are given by name, as JSON lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def imitation(model: Path, data: Path, folder: Path, **fields: Any) -> imitate.Config:
    """The config of a small imitation; `trainer` adds to the settings of all."""
    return build(imitate.Config, _recipe(model, data, folder, {"lora": LORA} | fields), "test", folder)


def preference(model: Path, data: Path, folder: Path, adapter: Path, **fields: Any) -> prefer.Config:
    """The config of a small training on pairs."""
    return build(
        prefer.Config, _recipe(model, data, folder, {"adapter": str(adapter)} | fields), "test", folder
    )


def _recipe(model: Path, data: Path, folder: Path, fields: dict[str, Any]) -> dict[str, Any]:
    trainer = TRAINER | fields.pop("trainer", {})
    return {
        "model": str(model), "data": str(data), "output_dir": str(folder), "trainer": trainer, **fields,
    }  # fmt: skip
