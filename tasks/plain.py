"""Values of any kind as plain ones, which YAML and JSON can hold."""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any


def plain(value: Any, scalar: Callable[[Any], Any] = lambda value: value, hide: Collection[str] = ()) -> Any:
    """Dataclasses and mappings as dicts, sequences as lists, paths as text, the rest as `scalar` gives it.

    Values of the keys in `hide`, at any depth, read `<hidden>` where they are set. Of a dataclass only what
    its constructor takes is kept, so that it can be built again.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, Mapping):
        return {
            str(key): "<hidden>" if key in hide and inner else plain(inner, scalar, hide)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(inner, scalar, hide) for inner in value]
    return str(value) if isinstance(value, Path) else scalar(value)
