"""Rows of data sets as they are published: JSON lines, or one JSON list."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.json_text import loads

_SIGN = b"\xef\xbb\xbf"


def read(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (row number from 1, row). Raises InputError naming file and row."""
    if not _opens_with(path, b"["):
        yield from read_rows(path)
        return
    value = whole(path)
    if not value:
        raise InputError(f"{path}: the list is empty; it needs one JSON object for each row")
    for number, row in enumerate(value, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: expected a JSON object, found {type(row).__name__}")
        yield number, row


def whole(path: Path) -> Any:
    """The one JSON value of a file. Raises InputError naming the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        value = loads(text)
        if re.search(r"\\u[dD][89a-fA-F]", text):  # maybe half of a character, which no file can hold
            json.dumps(value, ensure_ascii=False).encode()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from None
    except UnicodeEncodeError:
        raise InputError(f"{path}: half of a surrogate pair (\\ud800 to \\udfff); write whole ones") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); mend the file") from None
    return value


def one_object(path: Path) -> dict[str, Any] | None:
    """The one JSON object that a `.json` file is; None for rows."""
    if path.suffix != ".json" or not _opens_with(path, b"{"):
        return None
    value = whole(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected one JSON object; mend the file")
    return value


def _opens_with(path: Path, sign: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(64).removeprefix(_SIGN).lstrip().startswith(sign)
    except OSError:
        return False  # `read_rows` says what is wrong


def listed(value: object) -> list[Any]:
    """A list of a row: as it is, as JSON text, or (as the hub keeps some) as columns, which give tuples."""
    if isinstance(value, str):
        value = loads(value)
    if isinstance(value, Mapping):
        return list(zip(*value.values(), strict=True))
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return value


def records(value: object) -> list[Mapping[str, Any]]:
    """A list of objects, from the same forms."""
    if isinstance(value, str):
        value = loads(value)
    if isinstance(value, Mapping):
        return [dict(zip(value, row, strict=True)) for row in listed(value)]
    return listed(value)
