"""Study: many GRPO runs over cells, label noises and seeds; it resumes where it stopped.

A cell is a list of recipe overrides. Each unit trains one cell under one noise from one seed's start,
evaluates it on unseen tools, and writes `units/<noise>/<cell>/<seed>.json`. `table.md` sets every cell beside
its unweighted twin of the same noise and seeds: mean and standard deviation, and the paired difference with a
95 % t interval. Every unit's recipe is checked before the first one runs; units that fail are named in the
end.
"""

import hashlib
import json
import logging
import multiprocessing
import shutil
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.atomic import write_json, write_text
from tasks.errors import InputError
from train.mini_start import MINIS, mini_start
from train.recipe import load
from train.same_recipe import essence, plain

logger = logging.getLogger(__name__)

SPREAD = "groups/certainty_spread"
"""The observer's reading of how much certainty varies between the completions of one prompt."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Overrides of the base recipe; `noises` and `seeds` narrow the study's own (None: all)."""

    set: tuple[str, ...] = ()
    noises: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: train.study` recipe."""

    recipe: Path
    """The recipe that cells override."""
    cells: Mapping[str, Any]
    noises: Mapping[str, Any]
    """Name of a noise level -> overrides that make it."""
    seeds: tuple[int, ...]
    output_dir: Path
    twin: str = "plain"
    """The cell that every other one is compared with."""
    set: tuple[str, ...] = ()
    """Overrides for all cells."""
    workers: int = 2
    """Processes side by side, one thread each: on small models faster than one process with more threads."""

    def __post_init__(self) -> None:
        if self.twin not in self.cells:
            raise InputError(f"twin is {self.twin!r}, which is none of the cells: {', '.join(self.cells)}")
        if not self.seeds or not self.noises:
            raise InputError("seeds and noises: give at least one of each")

    def preflight(self, world: int) -> None:
        """Raise `InputError` for the first unit whose recipe does not load or cannot run.

        Units run in processes of their own, one rank each, whatever `world` is.
        """
        for unit in units(self):
            try:
                load(self.recipe, unit.overrides).config.preflight(1)
            except InputError as error:
                raise InputError(f"cell {unit.cell!r}, noise {unit.noise!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class Unit:
    """One run of a study."""

    noise: str
    cell: str
    seed: int
    overrides: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.noise} {self.cell} seed {self.seed}"

    def path(self, folder: Path) -> Path:
        """Where the unit's result stands."""
        return folder / "units" / self.noise / self.cell / f"{self.seed}.json"


def run(config: Config) -> None:
    """Run the units that have no result of today's recipe yet, then write the table.

    Raises `RuntimeError` in the end when units have failed; a new start tries them again.
    """
    from train.study_table import table

    done_before = results(config)
    todo = [unit for unit in units(config) if unit.seed not in done_before.get((unit.noise, unit.cell), {})]
    for unit in todo:
        if unit.path(config.output_dir).is_file():
            print(f"{unit}: its result is of another recipe, it runs again", flush=True)
    base = fingerprint(config.recipe)
    started = time.monotonic()
    failed: list[str] = []
    # Spawned: each worker is a fresh single-threaded process, and whoever is free takes the next unit.
    with multiprocessing.get_context("spawn").Pool(config.workers, _one_thread) as pool:
        model = load(config.recipe, config.set).config.model
        if model in MINIS:  # each start once, before two workers want the same
            pool.starmap(mini_start, {(model, unit.seed): None for unit in todo}, chunksize=1)
        work = [(unit, config.recipe, config.output_dir, base) for unit in todo]
        for done, (unit, error) in enumerate(pool.imap_unordered(_run_unit, work), 1):
            left = (time.monotonic() - started) / done * (len(todo) - done)
            state = f"failed: {error}" if error else "done"
            print(f"{done}/{len(todo)} {unit} {state}, {left / 60:.0f} min left", flush=True)
            if error:
                failed.append(f"{unit} ({error})")
            write_text(config.output_dir / "table.md", table(config))
    write_text(config.output_dir / "table.md", table(config))
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(todo)} units failed: {'; '.join(failed)}")


def units(config: Config) -> list[Unit]:
    """All runs, cell by cell: put what matters most first, an unfinished study then has it whole."""
    from tasks.strict import build

    cells = {name: build(Cell, body or {}, f"cells.{name}") for name, body in config.cells.items()}
    return [
        Unit(noise, name, seed, (*config.set, *overrides, *cell.set, f"seed={seed}"))
        for name, cell in cells.items()
        for seed in config.seeds
        for noise, overrides in config.noises.items()
        if (cell.noises is None or noise in cell.noises) and (cell.seeds is None or seed in cell.seeds)
    ]


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _run_unit(work: tuple[Unit, Path, Path, str]) -> tuple[Unit, str]:
    unit, recipe, folder, base = work
    try:
        write_json(unit.path(folder), {"recipe": base} | measure(unit, recipe, folder))
    except Exception as error:  # one broken run must not end a study of hours; it stays without a result
        logger.error("%s", traceback.format_exc())
        return unit, str(error).splitlines()[0] if str(error) else type(error).__name__
    return unit, ""


def measure(unit: Unit, recipe: Path, folder: Path) -> dict[str, Any]:
    """Train one unit in this process and evaluate its last policy on unseen tools."""
    from eval.when2call import evaluate
    from rollout.generators import Sampling
    from rollout.generators.transformers import TransformersGenerator
    from tasks import sources
    from train import grpo
    from train.metrics_log import METRICS, records
    from train.recipe import resolved
    from train.run_dir import RunDir

    scratch = folder / "runs" / unit.noise / unit.cell / str(unit.seed)
    shutil.rmtree(scratch, ignore_errors=True)
    config = load(
        recipe,
        [*unit.overrides, f"output_dir={scratch}", "trainer.save_strategy=no", "trainer.disable_tqdm=true"],
    ).config
    task_set = sources.load(config.task, "train", config.seed)
    run_dir = RunDir.open(scratch, resolved("train.grpo", config), task_set.hashes)
    began = time.monotonic()
    trainer = grpo.build(config, task_set, run_dir)
    try:
        if config.trainer.get("max_steps") != 0:
            trainer.train()
    finally:
        trainer.close()
    seconds = time.monotonic() - began
    generator = TransformersGenerator(trainer.model, trainer.processing_class, batch_size=256)
    test = sources.load(config.task, "test", 0).tasks
    budget = Sampling(trainer.args.max_completion_length, temperature=0.0)
    report = evaluate(generator, test, trainer.processing_class, sampling=budget)
    log = records(run_dir.path / METRICS) if (run_dir.path / METRICS).is_file() else []
    spread = [entry[SPREAD] for entry in log if entry.get(SPREAD) is not None]
    return {
        "overrides": list(unit.overrides),
        "seconds": seconds,
        "certainty_spread": sum(spread) / len(spread) if spread else None,
        **report.to_dict(),
    }


def results(config: Config) -> dict[tuple[str, str], dict[int, dict[str, Any]]]:
    """(noise, cell) -> seed -> result, of the units that are done under today's overrides and base recipe."""
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    base = fingerprint(config.recipe)
    for unit in units(config):
        path = unit.path(config.output_dir)
        if path.is_file():
            result = json.loads(path.read_text(encoding="utf-8"))
            if result.get("overrides") == list(unit.overrides) and result.get("recipe", base) == base:
                found.setdefault((unit.noise, unit.cell), {})[unit.seed] = result
    return found


def fingerprint(recipe: Path) -> str:
    """A hash of what decides a run of the base recipe: not its folder, its generator or what it logs."""
    decides = essence(plain(load(recipe).resolved))
    kept = {name: value for name, value in decides.items() if not name.startswith("generator.")}
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:16]
