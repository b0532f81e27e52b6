"""`key.sub=value` arguments: changes to a recipe, as if they had been written in it."""

from collections.abc import Iterable
from typing import Any

from tasks.errors import InputError
from train.yaml_strict import read_yaml


def apply(document: dict[str, Any], arguments: Iterable[str]) -> set[str]:
    """Change `document` in place and return the keys that were given.

    Values are YAML; a number picks an item of a list (`rewards.2.weight=0.5`).
    Raises `InputError` for an argument that is not of this form or that leads nowhere.
    """
    given = set()
    for argument in arguments:
        key, equals, value = argument.partition("=")
        steps = key.split(".")
        if not equals or key.startswith("-") or not all(steps) or steps[0] == "launch":
            raise InputError(f"argument {argument!r}: not an override; write key.sub=value")
        where: Any = document
        for depth, step in enumerate(steps):
            index: int | str
            if isinstance(where, list):
                index = _index(where, step, argument, ".".join(steps[:depth]))
            elif isinstance(where, dict):
                index = step
            else:
                raise InputError(f"argument {argument!r}: {'.'.join(steps[:depth])!r} has no keys")
            if depth == len(steps) - 1:
                where[index] = read_yaml(value, f"argument {argument!r}")
            else:
                if isinstance(where, dict) and where.get(index) is None:
                    where[index] = {}  # whether such a key exists is the loader's to say
                where = where[index]
        given.add(key)
    return given


def _index(items: list[Any], step: str, argument: str, name: str) -> int:
    if not step.isdecimal() or int(step) >= len(items):
        raise InputError(
            f"argument {argument!r}: {name!r} is a list of {len(items)}; "
            + (f"pick one of 0 to {len(items) - 1}" if items else f"write {name}=[...]")
        )
    return int(step)
