"""Put together and print what `askrl check` knows about a recipe."""

from collections.abc import Sequence

import yaml

from tasks.errors import InputError
from train.check.batch import Batch, batch_of
from train.check.deepspeed import zero_of
from train.check.known import Run, findings
from train.check.memory import ASSUMED_PROMPT, estimate
from train.check.shapes import SHAPES, shape_of
from train.grpo_config import Config
from train.recipe import load
from train.same_recipe import plain


def check(file: str, overrides: Sequence[str] = (), world: int = 1) -> None:
    """Print the resolved recipe and, for GRPO, its batch, memory, known failures and the reward self-test.

    Other jobs tell what their Config's `report(world)` gives, as (title, lines), if it has one.

    Raises `InputError` for a recipe that does not load, a batch that does not divide on `world` ranks, a
    combination that is known to fail, and rewards under which gold does not win.
    """
    recipe = load(file, overrides)
    _print("recipe", yaml.safe_dump(plain(recipe.resolved), sort_keys=False, allow_unicode=True).splitlines())
    if hasattr(recipe.config, "report"):
        try:
            for title, lines in recipe.config.report(world):
                _print(title, lines)
        except InputError as error:
            raise InputError(f"{recipe.path.name}: {error}") from error
        return
    if not isinstance(recipe.config, Config):
        if hasattr(recipe.config, "preflight"):
            recipe.config.preflight(world)
        print("ok: the recipe can be used (batch, memory and self-test are parts of train.grpo recipes)")
        return
    config = recipe.config
    with_name = f"{recipe.path.name}: "
    try:
        run = _run(config, world)
        _print(f"batch on {world} {'rank' if world == 1 else 'ranks'}", _batch_lines(run.batch))
        _print("memory per GPU, estimated", _memory_lines(run))
        found = findings(run)
        _print("known failures", [f"{finding.level}: {finding}" for finding in found] or ["none"])
        refused = [finding for finding in found if finding.level == "refused"]
        if refused:
            raise InputError(str(refused[0]))
        _self_test(config)
    except InputError as error:
        raise InputError(f"{with_name}{error}") from error


def preflight(config: Config, world: int) -> Batch:
    """What a run checks before anything heavy: batch, known failures, packages. Raises `InputError`."""
    run = _run(config, world)
    for finding in findings(run):
        if finding.level != "warning":
            raise InputError(str(finding))
    return run.batch


def _run(config: Config, world: int) -> Run:
    return Run(config, batch_of(config.trainer, world), zero_of(config.trainer))


def _batch_lines(batch: Batch) -> list[str]:
    steps, group = batch.steps_per_generation, batch.num_generations
    return [
        f"per generation: {batch.per_device} a device x {batch.world} ranks x {steps} steps_per_generation "
        f"= {batch.generation} completions",
        f"per generation: {batch.generation} / {group} completions a prompt = {batch.prompts} prompts",
        f"per optimizer step: {batch.update} completions, {batch.prompts_per_update:g} new prompts",
        f"optimizer steps per generation: {batch.updates_per_generation:g}",
    ]


def _memory_lines(run: Run) -> list[str]:
    shape = shape_of(run.config.model)
    if shape is None:
        return [f"no shape known for {run.config.model}; known: {', '.join(SHAPES)}, and local folders"]
    lora, count = run.config.lora, shape.parameters
    lines = [f"{count:,} parameters" + ("" if lora else ", all of them trained")]
    if lora:
        lines.append(f"{shape.adapter_parameters(lora.r, lora.targets):,} parameters in the adapter")
    if run.config.max_prompt_length is None:
        lines.append(f"max_prompt_length is not set: {ASSUMED_PROMPT} assumed")
    return lines + estimate(run.config, shape, run.batch, run.zero).lines()


def _self_test(config: Config) -> None:
    from rewards.stack import build
    from train.self_test import self_test

    found = self_test(build(config.rewards))
    _print("reward self-test", found.lines)
    if not found.ok:
        raise InputError(f"the rewards fail the self-test: {found.lines[0]}")


def _print(title: str, lines: Sequence[str]) -> None:
    print(title)
    for line in lines:
        print(f"  {line}")
