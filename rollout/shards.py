"""Recorded episodes on disk: JSON lines that are appended whole, in one file for each process that records.

A file can be read while it grows. What a kill left of a last line is passed over by readers, and cut off when
its writer comes back.
"""

import fcntl
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from rollout.append import append
from rollout.episode import Episode
from tasks.errors import InputError

_KEY = re.compile(rb'\{"version": \d+, "key": "([0-9a-f]{32})"')

RECORDS, GRAPHS, MANIFEST = "records", "graphs.jsonl", "manifest.json"
"""In a run folder: the folder of the shards, what the episodes are scored by, and what was recorded."""


def files(path: Path) -> list[Path]:
    """The shards of a run folder, of a folder of shards, or the file itself. Raises InputError for none."""
    folder = path / RECORDS if (path / RECORDS).is_dir() else path
    found = [folder] if folder.is_file() else sorted(folder.glob("*.jsonl"))
    found = [file for file in found if file.name != GRAPHS]
    if not found:
        raise InputError(f"{path}: no records there; give a run folder of rollout.record, or a file of one")
    return found


def lines(file: Path) -> Iterator[tuple[str, bytes]]:
    """(where it stands, the line) of each whole line. Raises InputError for a file that cannot be read."""
    try:
        with file.open("rb") as content:
            for number, line in enumerate(content, 1):
                if not line.endswith(b"\n"):
                    return  # its writer is at it, or was killed
                yield f"{file}, row {number}", line
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None


def keyed(file: Path) -> Iterator[tuple[str, bytes]]:
    """(key, line) of each record in a file, not parsed. Raises InputError for a line that is no record."""
    for where, line in lines(file):
        yield _key(line, where), line


def read(path: Path) -> Iterator[Episode]:
    """The episodes of all shards, each once, in the order of files and lines. Raises InputError."""
    return (episode for _, episode in placed(path))


def placed(path: Path) -> Iterator[tuple[str, Episode]]:
    """As `read`, each with where it stands: file and row."""
    seen: set[str] = set()
    for file in files(path):
        for where, line in lines(file):
            episode = Episode.from_line(line, where)
            if (key := _key(line, where)) not in seen:
                seen.add(key)
                yield where, episode


def _key(line: bytes, where: str) -> str:
    """The key that stands in a line, which is that of the record's content."""
    found = _KEY.match(line)
    if found is None:
        raise InputError(f"{where}: not a record; remove the row, it is made again")
    return found[1].decode()


class Recordable(Protocol):
    """An episode, or a forked state."""

    def to_row(self) -> dict[str, Any]:
        """As a JSON object."""
        ...


class Shard:
    """The file of one process. Raises InputError where another process has it, or the disk will not."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._handle = file.open("a+b", buffering=0)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{file}: another process is recording there; wait for it, or give another shard"
            ) from None
        except OSError as error:
            raise InputError(
                f"{file}: cannot be written ({error.strerror}); give another output_dir"
            ) from None
        self._cut_torn_line()

    def add(self, record: Recordable) -> None:
        """Append a record; once this returns, a kill of this process cannot take it back."""
        append(self._handle, json.dumps(record.to_row()).encode() + b"\n")

    def close(self) -> None:
        """Let others have the file."""
        self._handle.close()

    def _cut_torn_line(self) -> None:
        end = size = self._handle.seek(0, 2)
        while end:
            start = max(0, end - 65536)
            self._handle.seek(start)
            place = self._handle.read(end - start).rfind(b"\n")
            if place >= 0:
                end = start + place + 1
                break
            end = start
        if end < size:
            self._handle.truncate(end)
