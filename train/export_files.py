"""The files of an export, JSON lines and Parquet: whole under their names, or not there."""

import itertools
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from rewards.consequence import weights
from train import export_rows

if TYPE_CHECKING:
    import pyarrow

ROW_GROUP = 8192
"""Rows of a Parquet row group, at the least."""


class Waiting(NamedTuple):
    """A row of imitation whose weight is not known yet."""

    prompt: str
    target: str
    id: str
    kind: str
    lineage: export_rows.Lineage

    @property
    def group(self) -> tuple[str, str]:
        """Task and kind, which share their weight."""
        return f"{self.lineage[0]}/{self.lineage[1]}", self.kind


class _Files:
    """`name`.jsonl and .parquet, written beside their places and renamed in the end."""

    def __init__(self, folder: Path, name: str) -> None:
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        self._done = {kind: folder / f"{name}.{kind}" for kind in ("jsonl", "parquet")}
        self._partial = {kind: folder / f".{name}.{kind}.tmp" for kind in self._done}
        self._jsonl = self._partial["jsonl"].open("wb")
        self._parquet = pq.ParquetWriter(self._partial["parquet"], export_rows.schema(name))
        self._batches: list[pyarrow.RecordBatch] = []

    def write(self, lines: bytes, batch: "pyarrow.RecordBatch") -> None:
        """Append rows in both forms."""
        self._jsonl.write(lines)
        self._batches.append(batch)
        if sum(map(len, self._batches)) >= ROW_GROUP:
            self._flush()

    def close(self, whole: bool) -> None:
        """Name the files if they are whole, else remove them."""
        if whole:
            self._flush()
        self._jsonl.close()
        self._parquet.close()
        for kind, partial in self._partial.items():
            if whole:
                os.replace(partial, self._done[kind])
            else:
                partial.unlink()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._parquet.write_table(table, row_group_size=len(table) or None)
        self._batches = []


class Pairs:
    """The file of preference pairs."""

    def __init__(self, folder: Path) -> None:
        self._files = _Files(folder, "pairs")

    def __enter__(self) -> Self:
        return self

    def add(self, lines: bytes, batch: "pyarrow.RecordBatch") -> None:
        """Append pairs."""
        self._files.write(lines, batch)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close(whole=kind is None)


class Imitation:
    """The file of imitation rows, which wait beside it until all are counted and can be weighed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._waiting = folder / ".imitation.waiting.tmp"
        self._file = self._waiting.open("wb")
        self._seen: set[bytes] = set()
        self._counts: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> Self:
        return self

    @property
    def kinds(self) -> Counter[str]:
        """Rows of each kind."""
        found: Counter[str] = Counter()
        for (_, kind), number in self._counts.items():
            found[kind] += number
        return found

    def add(self, rows: Sequence[Waiting]) -> int:
        """Keep the rows that are new; how many were not."""
        doubles = 0
        for row in rows:
            content = bytes.fromhex(row.id)
            if content in self._seen:
                doubles += 1
                continue
            self._seen.add(content)
            self._counts[row.group] += 1
            self._file.write(json.dumps(row).encode() + b"\n")
        return doubles

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        try:
            if kind is None:
                self._weigh()
        finally:
            self._waiting.unlink()

    def _weigh(self) -> None:
        weight = weights(self._counts)
        files, whole = _Files(self._folder, "imitation"), False
        try:
            with self._waiting.open("rb") as lines:
                while some := list(itertools.islice(lines, ROW_GROUP)):
                    rows = export_rows.Rows("imitation")
                    for row in (Waiting(*json.loads(line)) for line in some):
                        add = rows.of_state(row.prompt, row.lineage)
                        add((row.target,), row.id, row.kind, "", weight[row.group])
                    files.write("".join(rows.lines).encode(), rows.batch())
            whole = True
        finally:
            files.close(whole)
