"""From a recipe's `task:` section to its tasks: `use` names a module with `Config` and `load`."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any, Literal

from tasks.errors import InputError
from tasks.strict import build, closest
from tasks.tool_task import TaskSet

OURS = ("mini", "when2call")


def module(use: object, where: str = "task", ours: Sequence[str] = OURS) -> ModuleType:
    """The module that `use` names: one of ours, or the path of the user's own (`my_tasks`, `my.tasks`).

    Raises InputError, naming the closest of ours, when there is none with `Config` and `load`.
    """
    name = f"tasks.{use}" if use in ours else str(use)
    is_path = all(part.isidentifier() for part in name.split("."))
    try:
        found = importlib.import_module(name) if is_path else None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{where}: {name} cannot be imported ({error})") from error
        found = None
    except (Exception, SystemExit) as error:  # a user's file may fail in any way
        raise InputError(f"{where}: {name} cannot be imported ({type(error).__name__}: {error})") from error
    if found is None or not (is_dataclass(getattr(found, "Config", None)) and hasattr(found, "load")):
        raise InputError(
            f"{where}: use is {use!r}, not a task (a module with a dataclass Config and load); "
            f"{closest(use, ours)}"
        )
    return found


def load(section: Mapping[str, Any], split: Literal["train", "test"], seed: int) -> TaskSet:
    """Read a split of the task that `section` describes. Raises InputError for bad sections and bad rows."""
    found = module(section.get("use"))
    options = {key: value for key, value in section.items() if key != "use"}
    tasks: TaskSet = found.load(build(found.Config, options, "task"), split, seed)
    return tasks


def spread(tasks: TaskSet, limit: int | None) -> TaskSet:
    """At most `limit` tasks, evenly spaced over the set so that every part of a sorted file is seen."""
    n = len(tasks.tasks)
    if limit is None or limit >= n:
        return tasks
    kept = tuple(tasks.tasks[i * n // limit] for i in range(limit))
    return TaskSet(kept, {**tasks.counts, "kept": limit, "over_limit": n - limit}, tasks.hashes)
