"""The batch arithmetic of GRPO as TRL does it, and the nearest valid values where it does not divide.

One generation makes `per_device_train_batch_size x ranks x steps_per_generation` completions. They are whole
groups of `num_generations` completions of one prompt, so the number must divide (huggingface/trl#2858,
#3061).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.errors import InputError


@dataclass(frozen=True, slots=True)
class Batch:
    """Counts of completions (one prompt has `num_generations` of them) and of steps."""

    per_device: int
    world: int
    accumulation: int
    steps_per_generation: int
    num_generations: int
    num_iterations: int

    @property
    def generation(self) -> int:
        """Completions of one generation, over all ranks."""
        return self.per_device * self.world * self.steps_per_generation

    @property
    def prompts(self) -> int:
        """Prompts of one generation."""
        return self.generation // self.num_generations

    @property
    def update(self) -> int:
        """Completions of one optimizer step, over all ranks."""
        return self.per_device * self.world * self.accumulation

    @property
    def updates_per_generation(self) -> float:
        """Optimizer steps that one generation feeds."""
        return self.steps_per_generation * self.num_iterations / self.accumulation

    @property
    def prompts_per_update(self) -> float:
        """New prompts per optimizer step: what an epoch is counted in."""
        return self.prompts / self.updates_per_generation


def batch_of(trainer: Mapping[str, Any], world: int) -> Batch:
    """The arithmetic of a `trainer:` section (TRL's names and defaults) on `world` ranks.

    Raises `InputError` when a number is below its least or the groups do not divide, with the nearest values
    that do.
    """
    per_device = _at_least(trainer, "per_device_train_batch_size", 8, 1)
    accumulation = _at_least(trainer, "gradient_accumulation_steps", 1, 1)
    group = _at_least(trainer, "num_generations", 8, 2)
    iterations = _at_least(trainer, "num_iterations", 1, 1)
    if world < 1:
        raise InputError(f"--num-processes is {world}; it is at least 1")
    generation = trainer.get("generation_batch_size")
    if generation is None:
        steps = _at_least(trainer, "steps_per_generation", accumulation, 1)
    elif trainer.get("steps_per_generation") is not None:
        raise InputError("trainer: give generation_batch_size or steps_per_generation, not both")
    else:
        micro = per_device * world
        if generation < 1 or generation % micro:
            raise InputError(
                f"trainer.generation_batch_size {generation} does not divide by per_device_train_batch_size "
                f"{per_device} x {world} {_ranks(world)} = {micro}; nearest valid: {_near(generation, micro)}"
            )
        steps = generation // micro
    batch = Batch(per_device, world, accumulation, steps, group, iterations)
    if batch.generation % group:
        raise InputError(_does_not_divide(batch))
    return batch


def _does_not_divide(batch: Batch) -> str:
    group, total = batch.num_generations, batch.generation
    per_device = group // math.gcd(group, batch.world * batch.steps_per_generation)
    steps = group // math.gcd(group, batch.world * batch.per_device)
    groups = [n for n in range(2, total + 1) if total % n == 0]
    around = [
        max((n for n in groups if n < group), default=0),
        min((n for n in groups if n > group), default=0),
    ]
    valid_groups = " or ".join(str(n) for n in around if n)
    return (
        f"trainer: per_device_train_batch_size {batch.per_device} x {batch.world} {_ranks(batch.world)} "
        f"x steps_per_generation {batch.steps_per_generation} = {total} completions "
        f"do not divide into groups of num_generations {group}; "
        f"nearest valid: per_device_train_batch_size {_near(batch.per_device, per_device)}, "
        f"steps_per_generation {_near(batch.steps_per_generation, steps)}"
        + (f", num_generations {valid_groups}" if valid_groups else "")
    )


def _near(value: int, unit: int) -> str:
    below = value // unit * unit
    return f"{below} or {below + unit}" if below else str(unit)


def _ranks(world: int) -> str:
    return "rank" if world == 1 else "ranks"


def _at_least(trainer: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = trainer.get(key)
    if value is None:
        return default
    if value < least:
        raise InputError(f"trainer.{key} is {value}; it is at least {least}")
    return int(value)
