"""A chain of recipes as one job: each step runs in processes of its own and finds what others left.

A step is a recipe and overrides in which `{name}` stands for the output of an earlier step and `{seed}` for
the seed. Outputs go to `output_dir/<seed>/<name>`, what a step printed to `<name>.log` beside it. The chain
runs once for each seed; then the steps marked `once` run, for which `{name}` is the list of its outputs
under all seeds. A new start skips what is done and goes on.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.atomic import write_json
from tasks.errors import InputError
from tasks.strict import build, closest
from train.recipe import load

STEPS = "steps"
TOLD = 15
"""Lines of the log of a step that failed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One recipe of the chain."""

    recipe: Path
    set: tuple[str, ...] = ()
    """Overrides; `{name}` is the output of an earlier step, `{seed}` the seed."""
    launch: str | None = None
    """What starts the recipe, such as `accelerate launch --num_processes 4`; by default Python alone."""
    once: bool = False
    """Run it after all seeds, on the outputs of all."""


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: train.pipeline` recipe."""

    steps: Mapping[str, Any]
    recipes: Path
    """The folder of the steps' recipes."""
    output_dir: Path
    seeds: tuple[int, ...] = (0,)
    set: tuple[str, ...] = ()
    """Overrides of all steps of a seed, such as `seed={seed}`."""

    def __post_init__(self) -> None:
        if not self.steps:
            raise InputError("steps: give at least one")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError("seeds: give each seed once, at least one")

    def preflight(self, world: int) -> None:
        """Raise `InputError` for a launcher around the chain, and for a step that is wrong."""
        if world > 1:
            raise InputError(
                "train.pipeline starts its steps itself: run it without a launcher, and name one in the "
                "steps that need it (launch:)"
            )
        self._check_steps()

    def report(self, world: int) -> Iterator[tuple[str, list[str]]]:
        """What `askrl check` tells, as (title, lines); steps have launchers of their own."""
        self._check_steps()
        yield "steps", [f"{name}: {step.recipe.name}" for name, step in steps_of(self).items()]

    def _check_steps(self) -> None:
        """Raise `InputError`, naming the step, for one whose recipe or overrides are wrong."""
        steps = steps_of(self)
        # Outputs are not there yet: a folder that is stands for them.
        places = {**dict.fromkeys(steps, self.recipes), "seed": self.seeds[0]}
        for name, step in steps.items():
            overrides = [_filled(one, places) for one in (*(() if step.once else self.set), *step.set)]
            try:
                load(step.recipe, overrides)
            except InputError as error:
                raise InputError(f"step {name!r}: {error}") from error


def _words(override: str) -> list[str]:
    """What it refers to: words alone in braces, which YAML's mappings never are."""
    return [part.split("}")[0] for part in override.split("{")[1:] if part.split("}")[0].isidentifier()]


def steps_of(config: Config) -> dict[str, Step]:
    """The steps in order. Raises InputError for references that lead to no earlier step."""
    found: dict[str, Step] = {}
    for name, section in config.steps.items():
        if not str(name).isidentifier() or name in ("seed", STEPS):
            raise InputError(f"steps: {name!r} cannot be the name of a step; use a word")
        step = build(Step, section, f"step {name!r}", config.recipes)
        for word in (word for one in step.set for word in _words(one)):
            if word != "seed" and word not in found:
                raise InputError(
                    f"step {name!r}: {{{word}}} is no earlier step; {closest(word, [*found, 'seed'])}"
                )
            if word in found and found[word].once and not step.once:
                raise InputError(f"step {name!r}: {{{word}}} runs after all seeds; mark this one once: true")
        if step.once and any("{seed}" in one for one in step.set):
            raise InputError(f"step {name!r} runs once, for all seeds: it has no {{seed}}")
        found[str(name)] = step
    return found


@dataclass(frozen=True, slots=True)
class Unit:
    """A step under a seed (None: once for all)."""

    name: str
    step: Step
    seed: int | None
    output: Path
    overrides: tuple[str, ...]

    @property
    def title(self) -> str:
        """For messages."""
        return self.name if self.seed is None else f"{self.name}, seed {self.seed}"

    @property
    def mark(self) -> Path:
        """What says that the step is done, and with which settings."""
        return self.output.parent / STEPS / f"{self.name}.json"


def units(config: Config) -> Iterator[Unit]:
    """Everything that is to be run, in order."""
    steps = steps_of(config)
    for seed in config.seeds:
        folder = config.output_dir / str(seed)
        places: dict[str, object] = {"seed": seed, **{name: folder / name for name in steps}}
        for name, step in steps.items():
            if not step.once:
                overrides = tuple(_filled(one, places) for one in (*config.set, *step.set))
                yield Unit(name, step, seed, folder / name, overrides)
    everywhere = {
        name: config.output_dir / name
        if step.once
        else f"[{', '.join(str(config.output_dir / str(seed) / name) for seed in config.seeds)}]"
        for name, step in steps.items()
    }
    for name, step in steps.items():
        if step.once:
            overrides = tuple(_filled(one, everywhere) for one in step.set)
            yield Unit(name, step, None, config.output_dir / name, overrides)


def _filled(override: str, places: Mapping[str, object]) -> str:
    for word in _words(override):
        if word in places:
            override = override.replace(f"{{{word}}}", str(places[word]))
    return override


def run(config: Config) -> None:
    """Run what is not done yet. Raises InputError for a step that fails, with the end of its log."""
    todo = list(units(config))
    began, ran = time.monotonic(), 0
    for number, unit in enumerate(todo, 1):
        settings = {"recipe": unit.step.recipe.name, "set": list(unit.overrides)}
        if unit.mark.is_file():
            if json.loads(unit.mark.read_text(encoding="utf-8")) != settings:
                raise InputError(
                    f"{unit.title}: done before under other settings, see {unit.mark}; give another "
                    "output_dir"
                )
            print(f"{number}/{len(todo)} {unit.title}: done before", flush=True)
            continue
        start = time.monotonic()
        _run(unit)
        write_json(unit.mark, settings)
        ran += 1
        left = (time.monotonic() - began) / ran * (len(todo) - number)
        print(
            f"{number}/{len(todo)} {unit.title}: {time.monotonic() - start:.0f} s, about {left:.0f} s left",
            flush=True,
        )


def _run(unit: Unit) -> None:
    unit.output.parent.mkdir(parents=True, exist_ok=True)
    log = unit.output.with_name(f"{unit.name}.log")
    started = shlex.split(unit.step.launch) if unit.step.launch else [sys.executable]
    command = [*started, str(unit.step.recipe), *unit.overrides, f"output_dir={unit.output}"]
    with log.open("ab") as file:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
    if done.returncode:
        told = "\n".join(_end(log))
        print(told, file=sys.stderr, flush=True)
        raise InputError(f"{unit.title} failed (exit code {done.returncode}); the whole log: {log}")
    for line in _end(log)[-1:]:
        print(f"    {line}", flush=True)


def _end(log: Path) -> Sequence[str]:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-TOLD:]
