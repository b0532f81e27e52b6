"""Mappings (from YAML or JSON) to frozen dataclasses, strictly: no key is ignored, no type is guessed."""

import dataclasses
import difflib
import functools
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from tasks.errors import InputError
from tasks.user_path import user_path

T = TypeVar("T")
# YAML 1.1 reads 1e-6 and 1E6 as strings, so numbers in the shape of a float are floats where one is expected.
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def build(cls: type[T], mapping: object, where: str, base: Path | None = None) -> T:
    """Build an instance of the dataclass `cls` from `mapping`, recursively.

    `where` names the source (a file) in messages; relative values of `Path` fields are resolved on `base`.
    Understands str, int, float, bool, None, Any, Literal, unions, Path, nested dataclasses, tuple, list, dict
    and Mapping with string keys. In a union of dataclasses with a field `kind: Literal[...]` that
    field decides; without it the first is meant. Raises `InputError` for an unknown key (naming the closest
    known one), a missing key, a value of the wrong type, and for a `ValueError` of the class's own
    `__post_init__`.
    """
    return typing.cast(T, _Builder(where, base).dataclass(cls, mapping, ""))


def closest(name: object, known: Iterable[str]) -> str:
    """Return a phrase with what `name` may have been meant to be: the closest known name, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(names)}" if names else "none is known here"


class _Mismatch(Exception):
    """The value does not fit the hint; unions catch it and try the next member."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Builder:
    where: str
    base: Path | None

    def dataclass(self, cls: type, mapping: object, path: str) -> object:
        place = f"{self.where}: key {path!r}" if path else self.where
        if not isinstance(mapping, Mapping):
            raise InputError(f"{place} is {_show(mapping)}; expected a mapping of keys to values")
        hints = _hints(cls)
        fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
        for key in mapping:
            if key not in fields:
                inside = f" under {path!r}" if path else ""
                raise InputError(f"{self.where}: unknown key {key!r}{inside}; {closest(key, fields)}")
        values: dict[str, object] = {}
        for name, field in fields.items():
            full = f"{path}.{name}" if path else name
            if name in mapping:
                values[name] = self.value(mapping[name], hints[name], full)
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                raise InputError(f"{self.where}: missing key {full!r} ({_describe(hints[name])}); add it")
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error

    def value(self, value: object, hint: Any, path: str) -> object:
        try:
            return self.convert(value, hint, path)
        except _Mismatch:
            message = f"{self.where}: key {path!r} is {_show(value)}; expected {_describe(hint)}"
            if isinstance(value, str) and typing.get_origin(hint) is Literal:
                message += f"; {closest(value, (str(choice) for choice in typing.get_args(hint)))}"
            raise InputError(message) from None

    def convert(self, value: object, hint: Any, path: str) -> object:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if hint is Any or hint is object:
            return value
        if origin is Literal:
            for choice in arguments:
                if value == choice and type(value) is type(choice):
                    return choice
            raise _Mismatch
        if origin in (typing.Union, types.UnionType):
            return self.union(value, arguments, path)
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise _Mismatch
            return self.dataclass(typing.cast(type, hint), value, path)
        if origin in (tuple, list, Sequence) or hint in (tuple, list):
            return self.sequence(value, origin or hint, arguments, path)
        if origin in (dict, Mapping) or hint in (dict, Mapping):
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise _Mismatch
            inner = arguments[1] if arguments else Any
            return {key: self.value(item, inner, f"{path}.{key}") for key, item in value.items()}
        if hint is Path:
            if not isinstance(value, str | Path) or not str(value):
                raise _Mismatch
            try:
                expanded = user_path(str(value))
            except InputError as error:
                raise InputError(f"{self.where}: key {path!r}: {error}") from None
            return expanded if self.base is None else self.base / expanded
        return _scalar(value, hint)

    def union(self, value: object, members: Sequence[Any], path: str) -> object:
        kinds = _kinds(members)
        if kinds and isinstance(value, Mapping):
            kind = value.get("kind", next(iter(kinds)))
            if not isinstance(kind, str) or kind not in kinds:
                raise InputError(
                    f"{self.where}: key '{path}.kind' is {_show(kind)}; expected one of "
                    f"{', '.join(map(repr, kinds))}; {closest(kind, map(str, kinds))}"
                )
            return self.dataclass(kinds[kind], value, path)
        # A member that the value already is goes before one that it could be turned into.
        for member in sorted(members, key=lambda member: not _is_already(value, member)):
            try:
                return self.convert(value, member, path)
            except _Mismatch:
                continue
        raise _Mismatch

    def sequence(self, value: object, kind: Any, arguments: Sequence[Any], path: str) -> object:
        if not isinstance(value, list | tuple):
            raise _Mismatch
        if kind is tuple and arguments and arguments[-1] is not Ellipsis:
            if len(arguments) != len(value):
                raise _Mismatch
            hints = list(arguments)
        else:
            hints = [arguments[0] if arguments else Any] * len(value)
        items = [
            self.value(item, hint, f"{path}.{i}")
            for i, (item, hint) in enumerate(zip(value, hints, strict=True))
        ]
        return items if kind is list else tuple(items)


def _scalar(value: object, hint: Any) -> object:
    if hint is float:
        if isinstance(value, str) and _FLOAT.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
            return float(value)
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif hint is None or hint is type(None):
        if value is None:
            return None
    elif isinstance(hint, type) and isinstance(value, hint):
        return value
    raise _Mismatch


def _kinds(members: Sequence[Any]) -> dict[object, type]:
    """The dataclasses of a union whose field `kind` tells them apart, by its value."""
    found = {}
    for member in members:
        if dataclasses.is_dataclass(member) and "kind" in _hints(typing.cast(type, member)):
            (value,) = typing.get_args(_hints(typing.cast(type, member))["kind"])
            found[value] = typing.cast(type, member)
    return found


def _is_already(value: object, hint: Any) -> bool:
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    return type(value) is hint


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _describe(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return "null"
    if origin is Literal:
        return f"one of {', '.join(repr(choice) for choice in arguments)}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(member) for member in arguments)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return f"a list of {len(arguments)} values ({', '.join(_describe(member) for member in arguments)})"
    if origin in (tuple, list, Sequence):
        return f"a list of {_describe(arguments[0])}"
    if origin in (dict, Mapping) or dataclasses.is_dataclass(hint):
        return "a mapping"
    return {tuple: "a list", list: "a list", dict: "a mapping", Path: "a path", Any: "any value"}.get(
        hint, getattr(hint, "__name__", str(hint))
    )


def _show(value: object) -> str:
    if value is None:
        return "null"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
