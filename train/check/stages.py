"""What `askrl check` and a run's preflight know about `train.imitate` and `train.prefer` recipes."""

from collections.abc import Iterator
from typing import Any

from tasks.errors import InputError
from train.check import fsdp
from train.check.deepspeed import zero_of
from train.check.memory import BYTES, TILE, Memory, block_bytes, state_bytes
from train.check.shapes import SHAPES, Shape, shape_of
from train.checkpoints import read_json
from train.grpo_config import Lora
from train.stage_config import StageConfig

ASSUMED = Lora(32, 64)
"""The adapter that comes in, where the recipe names none."""
_BATCH = ("per_device_train_batch_size", "gradient_accumulation_steps")
_BATCH_DEFAULTS = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1}
_ROWS = {"SFTConfig": "rows", "DPOConfig": "pairs"}


def preflight(config: StageConfig, world: int) -> None:
    """Raise `InputError` for what stops a run before anything heavy."""
    for told in (*faults(config, world), *config.missing()):
        raise InputError(told)


def report(config: StageConfig, world: int) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of batch, memory and known failures. Raises `InputError` for what cannot run at all."""
    for told in faults(config, world):
        raise InputError(told)
    yield f"batch on {world} {'rank' if world == 1 else 'ranks'}", [batch_line(config, world)]
    yield "memory per GPU, estimated", memory_lines(config, world)
    yield "known failures", [f"missing: {told}" for told in config.missing()] or ["none"]


def faults(config: StageConfig, world: int) -> Iterator[str]:
    """What stands against a recipe, whatever its data."""
    if world < 1:
        yield f"--num-processes is {world}; it is at least 1"
    for key in _BATCH:
        if _number(config, key) < 1:
            yield f"trainer.{key} is {_number(config, key)}; it is at least 1"
    micro = zero_of(config.trainer).micro_batch
    if micro is not None and micro != _number(config, "per_device_train_batch_size"):
        yield (
            f"trainer.deepspeed wants micro-batches of {micro}, and per_device_train_batch_size is "
            f'{_number(config, "per_device_train_batch_size")}; write "auto" there'
        )
    yield from fsdp.faults(config.trainer)
    if config.trainer.get("fsdp") and world < 2:
        yield "trainer.fsdp shards over ranks, and there is one; drop it, or start more with --num-processes"


def batch_line(config: StageConfig, world: int) -> str:
    """Rows of an optimizer step."""
    device, steps = (_number(config, key) for key in _BATCH)
    return (
        f"per optimizer step: {device} a device x {world} {'rank' if world == 1 else 'ranks'} x {steps} "
        f"gradient_accumulation_steps = {device * world * steps} {_ROWS[config.TRL]}"
    )


def memory_lines(config: StageConfig, world: int) -> list[str]:
    """Parameters and the bytes that a GPU needs, as far as the model's shape is known."""
    shape = shape_of(config.model)
    if shape is None:
        return [f"no shape known for {config.model}; known: {', '.join(SHAPES)}, and local folders"]
    lora = getattr(config, "lora", None) or _coming_in(config)
    lines = [f"{shape.parameters:,} parameters"]
    if config.adapter is None and getattr(config, "lora", None) is None:
        lines.append(f"adapter is not given: rank {ASSUMED.r} on all linear layers assumed")
    lines.append(f"{shape.adapter_parameters(lora.r, lora.targets):,} parameters in the adapter")
    return lines + estimate(config, lora, shape, world).lines()


def estimate(config: StageConfig, lora: Lora, shape: Shape, world: int) -> Memory:
    """Memory on each of `world` GPUs: B sequences of `max_length`, of pairs twice as many and two adapters.

    As in `train.check.memory`; nothing is generated.
    """
    trainer, stage = config.trainer, zero_of(config.trainer).stage
    if trainer.get("fsdp"):
        stage = 3
    half = trainer.get("bf16") is not False or trainer.get("fp16") is True
    weight_bytes = BYTES[config.dtype]
    compute_bytes = 2 if half else weight_bytes
    sides = 2 if config.TRL == "DPOConfig" else 1
    adapter = shape.adapter_parameters(lora.r, lora.targets)
    optimizer = adapter * state_bytes(str(trainer.get("optim") or "adamw_torch_fused"), 4)
    if trainer.get("deepspeed") and half:
        optimizer += adapter * 4
    tokens = sides * _number(config, _BATCH[0]) * config.max_length
    block = block_bytes(shape, compute_bytes)
    kept = shape.layers * block
    if trainer.get("gradient_checkpointing") is not False:
        kept = shape.layers * shape.hidden * compute_bytes + block
    return Memory(
        weights=shape.parameters * weight_bytes / (world if stage >= 3 else 1),
        adapter=sides * adapter * 4 / (world if stage >= 3 else 1),
        gradients=adapter * 4 * (2 if world > 1 and not stage else 1) / (world if stage >= 2 else 1),
        optimizer=optimizer / (world if stage >= 1 else 1),
        activations=tokens * kept + min(tokens, TILE[0]) * min(shape.vocabulary, TILE[1]) * 4,
        generation=0,
    )


def _coming_in(config: StageConfig) -> Lora:
    """What the adapter of the stage before is like."""
    if config.adapter is None:
        return ASSUMED
    known = read_json(config.adapter / "adapter_config.json")
    targets = known.get("target_modules") if isinstance(known, dict) else None
    if not isinstance(known, dict) or not isinstance(known.get("r"), int):
        raise InputError(f"adapter: {config.adapter} is no adapter: it has no adapter_config.json")
    names: Any = tuple(sorted(targets)) if isinstance(targets, list) else "all-linear"
    return Lora(known["r"], float(known.get("lora_alpha") or 1), targets=names)


def _number(config: StageConfig, key: str) -> int:
    value = config.trainer.get(key)
    return _BATCH_DEFAULTS[key] if value is None else int(value)
