"""From a name in a recipe to a function that scores: our own modules by name, a user's own by dotted path."""

import importlib
import inspect
import math
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import rewards
from rewards.own import own_score
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
    if config_class is not None and not (isinstance(config_class, type) and is_dataclass(config_class)):
        raise InputError(f"{where}: Config of {use} is no dataclass, so it cannot take options; make it one")
    if config_class is not None:
        config = build(config_class, options, f"{where} ({use})")
    elif options:
        raise InputError(f"{where}: {use} has no Config, so it takes no options; remove {', '.join(options)}")
    else:
        config = None
    if "." not in use:
        scorer: Scorer = partial(function, config=config)
    elif _takes_config(function, use, where):
        scorer = partial(own_score, use, function, config)
    else:
        scorer = partial(own_score, use, function)
    return Reward(
        scorer, _range(module, config, f"{where}: {use}"), _replaces(module, config, f"{where}: {use}")
    )


def _range(module: ModuleType, config: Any, where: str) -> tuple[float, float]:
    try:
        low, high = getattr(module, "RANGE", lambda _: (-math.inf, math.inf))(config)
        if not low <= high:
            raise ValueError(f"{low} and {high}")
    except Exception as error:  # a user's file may fail in any way
        raise InputError(
            f"{where}: RANGE(config) must return two numbers, the lower first "
            f"({type(error).__name__}: {error})"
        ) from error
    return float(low), float(high)


def _replaces(module: ModuleType, config: Any, where: str) -> tuple[str, ...]:
    try:
        return tuple(getattr(module, "REPLACES", lambda _: ())(config))
    except Exception as error:  # a user's file may fail in any way
        raise InputError(
            f"{where}: REPLACES(config) must return names of rewards ({type(error).__name__}: {error})"
        ) from error


def names() -> list[str]:
    """The rewards that ship: modules of this package with a `score`."""
    return [name for name in _modules() if hasattr(importlib.import_module(f"rewards.{name}"), "score")]


def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(rewards.__path__)]


def _find(use: str, where: str) -> tuple[ModuleType, Callable[..., Any]]:
    if "." not in use:
        module = importlib.import_module(f"rewards.{use}") if use in _modules() else None
        if module is None or not hasattr(module, "score"):
            raise InputError(f"{where}: unknown reward {use!r}; {_own_file(use) or closest(use, names())}")
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
        except (Exception, SystemExit) as error:  # a user's file may fail in any way
            raise InputError(
                f"{where}: {path} cannot be imported ({type(error).__name__}: {error})"
            ) from error
        if callable(getattr(module, attribute, None)):
            return module, getattr(module, attribute)
    raise InputError(
        f"{where}: {use!r} is neither a module with a function `score` nor an importable function"
    )


def _own_file(use: str) -> str:
    """The mend where `use` names a file of the user's; "" where there is none."""
    if not use.isidentifier() or not any((Path(place) / f"{use}.py").is_file() for place in sys.path):
        return ""
    return f"a reward of your own needs a dotted path, file and function: use: {use}.score"


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
