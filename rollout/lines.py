"""A line of a shard becomes a record: parsed and checked in one pass, every field by its type."""

import functools
import json
from collections.abc import Hashable
from typing import Any, TypeVar, cast

from tasks.errors import InputError

T = TypeVar("T")


def decode(kind: type[T], line: bytes, version: int, where: str, again: str) -> T:
    """The record. Raises InputError, naming `where` and how to mend it, for anything but a record."""
    import msgspec

    if not line.startswith(b'{"version": %d, ' % version):
        raise InputError(_other(line, version, where, again))
    try:
        record: T = _decoder(cast(Hashable, kind)).decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{where}: not a record ({error}); {again}") from None
    return record


@functools.cache
def _decoder(kind: Hashable) -> Any:
    import msgspec

    return msgspec.json.Decoder(kind)


def _other(line: bytes, version: int, where: str, again: str) -> str:
    """Why a line that does not begin like a record is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"{where}: not a record ({error}); remove the row, it is made again"
    found = row.get("version") if isinstance(row, dict) else None
    return f"{where}: a record of version {found!r}, not {version}; {again}"
