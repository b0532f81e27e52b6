"""A recipe: strict YAML that names a job and the fields of that job's `Config`.

    recipe = load("recipes/grpo_certainty.yaml", ["trainer.max_steps=10"])
    recipe.run()

A job is a module with a `Config` dataclass and `run(config)`. Paths in a recipe resolve against the recipe's
folder, `output_dir` against the working directory. The recipe's folder is on `sys.path`, whatever launched
it, so a reward or task of the user's own can stand beside it.
"""

import dataclasses
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewards import stack
from tasks.errors import InputError
from tasks.strict import build, closest
from train import overrides
from train.yaml_strict import read_yaml

MINI = "mini"
"""The value of `model:` that builds the tiny model of the miniature world."""

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_HUB_MODEL = re.compile(r"[\w.-]+(/[\w.-]+)?")
_TRAINER_FILES = ("deepspeed", "fsdp_config", "accelerator_config")
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
        """Run the job in this process."""
        importlib.import_module(self.job).run(self.config)


def load(file: str | Path, arguments: Sequence[str] = ()) -> Recipe:
    """Read a recipe, apply `key.sub=value` overrides and build the job's `Config`.

    Raises `InputError` for a file that is missing or no YAML mapping, an unknown job, key or name, a wrong
    type, and a file or model folder that the recipe names and that is not there. Imports the job's module, no
    model and no data.
    """
    path = Path(file).expanduser().absolute()
    document = _read(path)
    overrides.apply(document, arguments)
    document.pop("launch", None)
    base, where = path.parent, path.name
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    job = document.pop("job", None)
    module = _job(job, where)
    if "output_dir" in document and isinstance(document["output_dir"], str):
        document["output_dir"] = str(Path(document["output_dir"]).expanduser().absolute())
    if isinstance(document.get("model"), str):
        document["model"] = _model(document["model"], where, base)
    if isinstance(document.get("task"), dict):
        document["task"] = _task(document["task"], where, base)
    if isinstance(document.get("rewards"), list):
        document["rewards"] = _rewards(document["rewards"], where)
    if isinstance(document.get("trainer"), dict):
        _find_trainer_files(document["trainer"], where, base)
    return Recipe(path, str(job), build(module.Config, document, where, base))


def resolved(job: str, config: Any) -> dict[str, Any]:
    """Job and config as plain values: what the run directory keeps; it loads again as the same recipe."""
    return {"job": job, **plain(config)}


def plain(value: Any) -> Any:
    """Dataclasses and mappings as dicts, sequences as lists, paths as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


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
    """The module, or None if there is none of this name; an import that fails inside it raises as it is."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _model(model: str, where: str, base: Path) -> str:
    """A hub name as it is; a folder resolved, once it is known to hold a model or an adapter."""
    folder = base / Path(model).expanduser()
    if not model.startswith((".", "/", "~")) and not (folder / "config.json").is_file():
        if not _HUB_MODEL.fullmatch(model):
            raise InputError(f"{where}: key 'model' is {model!r}: neither a folder nor owner/name")
        return model
    if not folder.is_dir():
        raise InputError(f"{where}: key 'model': no folder {folder}")
    if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
        raise InputError(f"{where}: key 'model': {folder} is not a model folder: it has no config.json")
    return str(folder.resolve())


def _task(section: Mapping[str, Any], where: str, base: Path) -> dict[str, Any]:
    """The `task:` section with the defaults of the module that `use` names, its files found."""
    module = task_module(section.get("use"), where)
    config = build(module.Config, {k: v for k, v in section.items() if k != "use"}, f"{where}: task", base)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, Path) and not value.exists():
            raise InputError(f"{where}: key 'task.{field.name}': no file {value}")
    return {"use": section["use"], **plain(config)}


def task_module(use: object, where: str = "task") -> ModuleType:
    """The module that `task.use` names: `tasks.<use>`, or a dotted path to the user's own."""
    if not isinstance(use, str) or not _DOTTED.fullmatch(use):
        raise InputError(f"{where}: key 'task.use' is {use!r}; expected a name such as when2call")
    module = _import(use if "." in use else f"tasks.{use}") or _import(use)
    if module is None or not hasattr(module, "load") or not hasattr(module, "Config"):
        raise InputError(
            f"{where}: key 'task.use': {use!r} is not a task (a module with Config and load); "
            f"{closest(use, ('when2call', 'mini'))}"
        )
    return module


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


def _find_trainer_files(trainer: dict[str, Any], where: str, base: Path) -> None:
    for key in _TRAINER_FILES:
        if isinstance(trainer.get(key), str):
            file = base / Path(trainer[key]).expanduser()
            if not file.is_file():
                raise InputError(f"{where}: key 'trainer.{key}': no file {file}")
            trainer[key] = str(file.resolve())
