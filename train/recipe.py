"""A recipe: strict YAML that names a job and the fields of that job's `Config`.

    recipe = load("recipes/grpo_certainty.yaml", ["trainer.max_steps=10"])
    recipe.run()

A job is a module with a `Config` dataclass and `run(config)`; a `Config` may refuse a world of ranks before
anything heavy happens, in `preflight(world)`. Paths in a recipe resolve against the recipe's folder,
`output_dir` against the working directory. The recipe's folder is on `sys.path`, whatever launched it, so a
reward or task of the user's own can stand beside it.
"""

import dataclasses
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewards import stack
from rollout.agents.config import ModelRole
from tasks.errors import InputError
from tasks.plain import plain
from tasks.strict import build, closest
from tasks.user_path import user_path
from train import overrides
from train.mini_start import MINIS, mini_start
from train.section import Source
from train.yaml_strict import read_yaml

ROLES = ("questioner", "drafter", "answerer")
"""Sections that name a model of their own."""

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_JOB_PACKAGES = ("train", "eval", "rollout")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A loaded recipe: its file, the name of the job's module, and the job's `Config`."""

    path: Path
    job: str
    config: Any

    @property
    def resolved(self) -> dict[str, Any]:
        """The recipe with every default written out, as plain values that YAML can hold."""
        return resolved(self.job, self.config)

    def run(self) -> None:
        """Run the job in this process, after its `Config.preflight(world)`, where it has one.

        `model: mini` and `mini_hops`, of the job or of a role, become the folder of the tiny model, made on
        first use; jobs of `train` do so themselves, on one rank.
        """
        config = self.config
        if hasattr(config, "preflight"):
            config.preflight(int(os.environ.get("WORLD_SIZE", "1")))
        if not self.job.startswith("train."):
            config = _with_minis(config)
        importlib.import_module(self.job).run(config)


def load(file: str | Path, arguments: Sequence[str] = ()) -> Recipe:
    """Read a recipe, apply `key.sub=value` overrides and build the job's `Config`.

    Raises `InputError` for a file that is missing or no YAML mapping, an unknown job, key or name, a wrong
    type, and a file or model folder that the recipe names and that is not there. Imports the job's module, no
    model and no data.
    """
    path = user_path(str(file)).absolute()
    document = _read(path)
    given = overrides.apply(document, arguments)
    document.pop("launch", None)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    job = document.pop("job", None)
    module = _job(job, path.name)
    source = Source(path.name, path.parent, frozenset(given))
    source.resolve_paths(document, module.Config, "")
    if isinstance(document.get("model"), str):
        document["model"] = source.model(document["model"])
    for role in ROLES:
        if isinstance(section := document.get(role), dict):
            source.resolve_paths(section, ModelRole, f"{role}.")
            if isinstance(section.get("model"), str):
                section["model"] = source.model(section["model"], f"{role}.model")
    if isinstance(document.get("task"), dict):
        document["task"] = source.task(document["task"])
    if isinstance(document.get("rewards"), list):
        document["rewards"] = _rewards(document["rewards"], path.name)
    if isinstance(document.get("trainer"), dict):
        source.resolve_trainer_files(document["trainer"])
    return Recipe(path, str(job), build(module.Config, document, path.name, path.parent))


def _with_minis(config: Any) -> Any:
    """The config with the folders of the tiny models that it names."""
    seed = getattr(config, "seed", 0)
    changes: dict[str, Any] = {}
    for role in ROLES:
        section = getattr(config, role, None)
        if isinstance(section, ModelRole) and section.model in MINIS:
            changes[role] = dataclasses.replace(section, model=mini_start(section.model, seed))
    if getattr(config, "model", None) in MINIS:
        changes["model"] = mini_start(config.model, seed)
    return dataclasses.replace(config, **changes)


def resolved(job: str, config: Any) -> dict[str, Any]:
    """Job and config as plain values: what the run directory keeps; it loads again as the same recipe."""
    return {"job": job, **plain(config)}


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = [other.name for other in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise InputError(f"{path}: no such recipe; {closest(path.name, others)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a recipe: {error}") from error
    document = read_yaml(text, path.name)
    if not isinstance(document, dict):
        raise InputError(f"{path.name}: not a recipe; expected keys and values, a `job:` among them")
    return document


def _job(job: object, where: str) -> ModuleType:
    if not isinstance(job, str) or not _DOTTED.fullmatch(job):
        raise InputError(f"{where}: key 'job' is {job!r}; expected a module such as train.grpo")
    module = _import(job)
    if module is None:
        raise InputError(f"{where}: unknown job {job!r}; {closest(job, _job_names())}")
    if not dataclasses.is_dataclass(getattr(module, "Config", None)) or not hasattr(module, "run"):
        raise InputError(f"{where}: {job} is not a job: it has no Config dataclass and run(config)")
    return module


def _job_names() -> Iterator[str]:
    for package in _JOB_PACKAGES:
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            spec = importlib.util.find_spec(found.name)
            if spec and spec.origin and "\ndef run(config" in Path(spec.origin).read_text(encoding="utf-8"):
                yield found.name


def _import(name: str) -> ModuleType | None:
    """The module, or None if there is none of this name. Raises InputError when importing it fails."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise _cannot_import(name, error) from error
    except SystemExit as error:  # or the command would end as if all were well
        raise InputError(f"job {name} cannot be imported: it ends the process ({error})") from error
    except Exception as error:  # whatever a module of the user's does
        raise _cannot_import(name, error) from error


def _cannot_import(name: str, error: Exception) -> InputError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return InputError(
        f"job {name} cannot be imported: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    )


def _rewards(entries: list[Any], where: str) -> list[dict[str, Any]]:
    """The `rewards:` list with the defaults of our own rewards."""
    specs = stack.build(entries, f"{where}: rewards").specs
    return [
        {"use": spec.use, "weight": spec.weight, "warmup_steps": spec.warmup_steps, **_reward_options(spec)}
        for spec in specs
    ]


def _reward_options(spec: stack.RewardSpec) -> dict[str, Any]:
    if "." in spec.use:
        return dict(spec.options)  # the user's own: whether it has a Config is theirs to say
    config = importlib.import_module(f"rewards.{spec.use}").Config
    return dict(plain(build(config, spec.options, spec.use)))
