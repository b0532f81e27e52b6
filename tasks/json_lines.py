"""Strict reading of JSON-lines files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.json_text import loads


def read_rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row number, object) for each line of a JSON-lines file; rows count from 1, the end may be blank.

    Raises `InputError`, naming file and row, for a file that is missing, unreadable or has no rows, and for a
    row that is blank, not UTF-8, not JSON, not an object, or holds half of a character (a lone surrogate).
    """
    path = Path(path)
    empty, blank = True, 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    blank = blank or number
                    continue
                if blank:
                    raise InputError(f"{path}, row {blank}: the row is empty; remove the blank line")
                empty, blank = False, 0
                yield number, _parse_line(line, f"{path}, row {number}")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a JSON-lines file") from None
    if empty:
        raise InputError(f"{path}: the file has no rows; it needs one JSON object on each line")


def _parse_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error}); write one JSON object on each line") from None
    if b"\\u" in line and _has_surrogate(row):  # "\ud800" is valid JSON, and no text that can be written
        raise InputError(f"{where}: half of a surrogate pair (\\ud800 to \\udfff); write whole characters")
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected a JSON object, found {_JSON_NAMES[type(row)]}")
    return row


def _has_surrogate(row: Any) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


_JSON_NAMES: dict[type, str] = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}
