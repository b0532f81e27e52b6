"""From a name in a recipe to a function that scores: our own modules by name, a user's own by dotted path."""

import importlib
import inspect
import math
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import rewards
from rewards.score import Score
from tasks.completion import Completion
from tasks.errors import InputError
from tasks.strict import build, closest
from tasks.tool_task import ToolTask

Scorer = Callable[[ToolTask, Completion], Score]


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward with its options bound, its declared range, and the rewards that it stands in place of."""

    scorer: Scorer
    range: tuple[float, float]
    replaces: tuple[str, ...]


def resolve(use: str, options: Mapping[str, Any], where: str) -> Reward:
    """Bind a reward to its options.

    `use` is the name of a module of `rewards`, or the dotted path of a user's module (its `score`) or
    function. Raises InputError when there is no such thing, naming the closest of our own, and for options it
    does not have.
    """
    module, function = _find(use, where)
    config_class = getattr(module, "Config", None)
    if config_class is not None:
        config = build(config_class, options, f"{where} ({use})")
    elif options:
        raise InputError(f"{where}: {use} has no Config, so it takes no options; remove {', '.join(options)}")
    else:
        config = None
    if "." not in use:
        scorer: Scorer = partial(function, config=config)
    elif _takes_config(function, use, where):
        scorer = partial(_call, function, config)
    else:
        scorer = partial(_call_bare, function)
    low, high = getattr(module, "RANGE", lambda _: (-math.inf, math.inf))(config)
    return Reward(scorer, (low, high), tuple(getattr(module, "REPLACES", lambda _: ())(config)))


def names() -> list[str]:
    """The rewards that ship: modules of this package with a `score`."""
    return [name for name in _modules() if hasattr(importlib.import_module(f"rewards.{name}"), "score")]


def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(rewards.__path__)]


def _find(use: str, where: str) -> tuple[ModuleType, Callable[..., Any]]:
    if "." not in use:
        module = importlib.import_module(f"rewards.{use}") if use in _modules() else None
        if module is None or not hasattr(module, "score"):
            raise InputError(f"{where}: unknown reward {use!r}; {closest(use, names())}")
        return module, module.score
    if os.getcwd() not in sys.path:  # the user's own file lies beside the run, not in our environment
        sys.path.append(os.getcwd())
    for path, attribute in ((use, "score"), use.rsplit(".", 1)):
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name and f"{path}.".startswith(f"{error.name}."):
                continue
            raise InputError(f"{where}: {path} cannot be imported ({error})") from None
        except Exception as error:  # a user's file may fail in any way
            raise InputError(
                f"{where}: {path} cannot be imported ({type(error).__name__}: {error})"
            ) from error
        if callable(getattr(module, attribute, None)):
            return module, getattr(module, attribute)
    raise InputError(
        f"{where}: {use!r} is neither a module with a function `score` nor an importable function"
    )


def _takes_config(function: Callable[..., Any], use: str, where: str) -> bool:
    try:
        signature = inspect.signature(function)
        count = 3 if len(signature.parameters) >= 3 else 2
        signature.bind(*range(count))
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: {use} must take (task, completion, config) or (task, completion)"
        ) from None
    return count == 3


def _call(function: Callable[..., Any], config: Any, task: ToolTask, completion: Completion) -> Score:
    return _as_score(function(task, completion, config), function)


def _call_bare(function: Callable[..., Any], task: ToolTask, completion: Completion) -> Score:
    return _as_score(function(task, completion), function)


def _as_score(value: object, function: Callable[..., Any]) -> Score:
    """A user's reward may return a bare number or None."""
    if isinstance(value, Score):
        return value
    if value is None or isinstance(value, int | float):
        return Score(None if value is None else float(value))
    name = f"{function.__module__}.{function.__qualname__}"
    raise TypeError(f"reward {name} returned {type(value).__name__}; return a Score, a number or None")
