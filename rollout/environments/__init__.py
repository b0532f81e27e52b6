"""Environments: what answers the model between its turns.

An environment is a module with `Config` and `reply(task, turns, config)`: from the task and the texts of the
model's turns so far to the messages that follow, or None when nothing does. `use:` names one of this package
or is the dotted path of a module of your own.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tasks.errors import InputError
from tasks.strict import build as build_config
from tasks.strict import closest
from tasks.tool_task import Message, ToolTask

Reply = Callable[[ToolTask, Sequence[str]], Sequence[Message] | None]


@dataclass(frozen=True, slots=True)
class Environment:
    """Answers a turn; after `max_turns` of the model there is no further answer."""

    reply: Reply
    max_turns: int


def build(section: Mapping[str, Any], where: str = "environment") -> Environment:
    """The environment of a recipe's section: `use`, `max_turns` (2) and the options of its `Config`.

    Raises InputError for one that does not exist or does not take these options.
    """
    options = dict(section)
    use, max_turns = options.pop("use", None), options.pop("max_turns", 2)
    if not isinstance(max_turns, int) or isinstance(max_turns, bool) or max_turns < 1:
        raise InputError(f"{where}: max_turns is {max_turns!r}; it is a whole number of at least 1")
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    if not isinstance(use, str) or ("." not in use and use not in names):
        raise InputError(f"{where}: use is {use!r}; {closest(use, names)}, or a dotted path of your own")
    try:
        module = importlib.import_module(use if "." in use else f"{__name__}.{use}")
    except Exception as error:  # a module of the user's own may raise anything
        raise InputError(f"{where}: {use} cannot be imported: {error}") from None
    if not dataclasses.is_dataclass(getattr(module, "Config", None)) or not callable(
        getattr(module, "reply", None)
    ):
        raise InputError(f"{where}: {use} is no environment: it needs a Config dataclass and reply()")
    config = build_config(module.Config, options, f"{where} ({use})")
    return Environment(partial(module.reply, config=config), max_turns)
