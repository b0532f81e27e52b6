"""Finished units of work on disk, keyed by content: a killed job loses at most the units in flight."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def key(*parts: Any) -> str:
    """The key of a unit of work: a digest of everything that its result depends on (JSON values)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def is_first_rank() -> bool:
    """Whether this process does the work, where a launcher has started several of them for one evaluation."""
    return os.environ.get("RANK", "0") == "0"


class Ledger:
    """A JSON-lines file of `{"key": …, …}` records; appending is the only way to write.

    A last line that a kill cut short is dropped when the file is opened again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._done: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        for line in whole.splitlines():
            record = json.loads(line)
            self._done[record["key"]] = record
        self._file = path.open("r+b" if path.exists() else "wb")
        self._file.truncate(len(whole))
        self._file.seek(0, 2)

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a finished unit, or None."""
        return self._done.get(key)

    def add(self, key: str, record: dict[str, Any]) -> None:
        """Keep a finished unit; it is on its way to the disk when this returns."""
        self._done[key] = {"key": key, **record}
        self._file.write(json.dumps(self._done[key], ensure_ascii=True).encode() + b"\n")
        self._file.flush()
