"""The `trainer:` keys of a recipe: TRL's own names and types, read from its source.

Importing `trl.GRPOConfig` takes seconds and pulls in torch; a recipe has to be checked in milliseconds. The
dataclass and its two ancestors state every name and type in plain annotations, which `ast` reads exactly.
The same holds for `SFTConfig` and `DPOConfig`.
"""

import ast
import functools
import importlib.util
from collections.abc import Mapping
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any, Literal

from tasks.errors import InputError
from tasks.strict import build

# Ancestors first, so that a subclass's annotation replaces its parent's, as in Python. Enumerations come
# along.
_SOURCES = (
    ("transformers", "trainer_utils.py", ()),
    ("transformers", "debug_utils.py", ()),
    ("transformers", "training_args.py", ("TrainingArguments",)),
    ("trl", "trainer/base_config.py", ("_BaseConfig",)),
)
Trl = Literal["GRPOConfig", "SFTConfig", "DPOConfig"]


def trainer_arguments(mapping: Mapping[str, Any], config: Trl = "GRPOConfig") -> dict[str, Any]:
    """Return the `trainer:` section with its values in TRL's types, the keys that it names and no others.

    Raises `InputError` for a key that TRL does not have (naming the closest) and for a value of another type.
    """
    built = build(_arguments_class(config), mapping, "trainer")
    return {name: getattr(built, name) for name in mapping}


@functools.cache
def trainer_types(config: Trl = "GRPOConfig") -> dict[str, Any]:
    """Name and type of every field of one of TRL's configurations, inherited ones included."""
    names: dict[str, Any] = {"Any": Any, "Literal": Literal, "ParallelismConfig": dict}
    types: dict[str, Any] = {}
    own = ("trl", f"trainer/{config.removesuffix('Config').lower()}_config.py", (config,))
    for package, file, classes in (*_SOURCES, own):
        for node in ast.parse(_source(package, file)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            if any(isinstance(base, ast.Name) and base.id == "ExplicitEnum" for base in node.bases):
                names[node.name] = Literal[_members(node)]
            elif node.name in classes:
                types |= {
                    line.target.id: eval(_without_str(line.annotation, names), {}, names)
                    for line in node.body
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                }
    types["fsdp"] = bool | types["fsdp"]  # a command line knows only text; `true` is what is meant
    return types


@functools.cache
def _arguments_class(config: Trl) -> Any:
    return make_dataclass(
        config, [(name, hint, field(default=None)) for name, hint in trainer_types(config).items()]
    )


def _source(package: str, file: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(f"{package} is not installed; run `make install`")
    return (Path(spec.origin).parent / file).read_text(encoding="utf-8")


def _members(node: ast.ClassDef) -> tuple[str, ...]:
    values = (line.value for line in node.body if isinstance(line, ast.Assign))
    return tuple(v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))


def _without_str(annotation: ast.expr, enums: Mapping[str, Any]) -> str:
    """The annotation as text; of `OptimizerNames | str` the enumeration, as only its values are accepted."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        left, right = annotation.left, ast.unparse(annotation.right)
        if right == "str" and isinstance(left, ast.Name) and left.id in enums:
            return left.id
    return ast.unparse(annotation)
